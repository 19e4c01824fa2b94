#include "devices/host_port.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "machine/image.h"
#include "support/failure.h"
#include "support/files.h"
#include "support/json.h"

HostPort::HostPort(Pins &machine, std::function<void(uint32_t)> ended, bool &life)
    : Device("host"), machine(machine), life(life), ended(std::move(ended))
{
    wants.pins = HOST_BLOB | HOST_EXIT;
}

void HostPort::after_edge(uint64_t cycle, unsigned pins)
{
    if (pins & HOST_BLOB)
        copy_blob(cycle);
    if (pins & HOST_EXIT)
        ended(machine.told().exit_code);
}

void HostPort::copy_blob(uint64_t cycle)
{
    const Pins::Told told = machine.told();
    Blob blob{told.blob_kind, told.blob_address, told.blob_length, cycle, ""};
    uint64_t offset = uint64_t(blob.address) - RAM_BASE;
    if (blob.address < RAM_BASE || offset + blob.length > machine.ram_bytes())
        throw Failure(format("the target gave a blob outside main RAM: kind %u, %u bytes at 0x%08x", blob.kind,
                             blob.length, blob.address));
    if (keeping)
        blob.content.assign(reinterpret_cast<const char *>(machine.ram() + offset), blob.length);
    blobs.push_back(blob);
    life = true;
    write_blob(blob.kind, machine.ram() + offset, blob.length);
}

void HostPort::write_blob(uint32_t kind, const void *content, size_t length)
{
    if (folder.empty())
        return;
    OutFile file;
    file.open(folder + "/blob-" + std::to_string(kind) + ".bin", written[kind]);
    written[kind] = true;
    file.write(content, length);
    file.close();
}

void HostPort::open(const std::string &where, bool keep)
{
    folder = where;
    keeping = keep;
}

// The outputs of the run, from its first cycle on.
void HostPort::write_again()
{
    for (Blob &blob : blobs) {
        write_blob(blob.kind, blob.content.data(), blob.content.size());
        if (!keeping)
            blob.content = {};
    }
}

void HostPort::forget()
{
    keeping = false;
    for (Blob &blob : blobs)
        blob.content = {};
}

void HostPort::save(cereal::BinaryOutputArchive &archive) const
{
    archive(blobs);
}

void HostPort::load(cereal::BinaryInputArchive &archive)
{
    archive(blobs);
}

void HostPort::record(Json &json) const
{
    json.array("blobs");
    for (const Blob &blob : blobs) {
        json.object().number("kind", blob.kind).string("address", format("0x%08x", blob.address));
        json.number("length", blob.length).number("cycle", blob.cycle).end_object();
    }
    json.end_array();
}
