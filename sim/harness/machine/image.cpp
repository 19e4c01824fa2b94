#include "machine/image.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "support/failure.h"
#include "support/hash.h"
#include "support/number.h"

namespace {

class Elf {
  public:
    Elf(const std::string &path, const std::vector<uint8_t> &content) : path(path), bytes(content)
    {
        header = at<Elf32_Ehdr>(0, "its header");
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
            throw Failure(format("the image %s is not an ELF file", path.c_str()));
        if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
            header.e_machine != EM_RISCV || header.e_type != ET_EXEC)
            throw Failure(format("the image %s is not a linked 32-bit little-endian RISC-V program", path.c_str()));
        for (unsigned i = 0; i < header.e_phnum; i++)
            segments.push_back(at<Elf32_Phdr>(header.e_phoff + uint64_t(i) * header.e_phentsize, "its segment table"));
        for (unsigned i = 0; i < header.e_shnum; i++)
            sections.push_back(at<Elf32_Shdr>(header.e_shoff + uint64_t(i) * header.e_shentsize, "its section table"));
    }

    // Copies a T out of the file; a file that ends before it is truncated.
    template <typename T> T at(uint64_t offset, const char *what) const
    {
        T value;
        std::memcpy(&value, range(offset, sizeof value, what), sizeof value);
        return value;
    }

    const uint8_t *range(uint64_t offset, uint64_t length, const char *what) const
    {
        if (offset + length > bytes.size())
            throw Failure(format("the image %s is truncated: %s should end at byte %llu, but the file has %zu",
                                 path.c_str(), what, (unsigned long long)(offset + length), bytes.size()));
        return bytes.data() + offset;
    }

    std::string text(const Elf32_Shdr &strings, uint32_t offset) const
    {
        const uint8_t *from = range(strings.sh_offset, strings.sh_size, "a string table");
        if (offset >= strings.sh_size)
            return "";
        const char *start = reinterpret_cast<const char *>(from + offset);
        return std::string(start, strnlen(start, strings.sh_size - offset));
    }

    std::vector<Elf32_Shdr> named(const std::string &name) const
    {
        std::vector<Elf32_Shdr> found;
        if (header.e_shstrndx < sections.size())
            for (const Elf32_Shdr &section : sections)
                if (text(sections[header.e_shstrndx], section.sh_name) == name)
                    found.push_back(section);
        return found;
    }

    const std::string &path;
    const std::vector<uint8_t> &bytes;
    Elf32_Ehdr header;
    std::vector<Elf32_Phdr> segments;
    std::vector<Elf32_Shdr> sections;
};

void load_segments(const Elf &elf, Image &image, uint8_t *ram, size_t ram_bytes)
{
    for (const Elf32_Phdr &segment : elf.segments) {
        if (segment.p_type != PT_LOAD || segment.p_memsz == 0)
            continue;
        uint64_t offset = uint64_t(segment.p_paddr) - RAM_BASE;
        if (segment.p_paddr < RAM_BASE || offset + segment.p_memsz > ram_bytes || segment.p_filesz > segment.p_memsz)
            throw Failure(format("the image %s does not fit main RAM: a segment wants 0x%08x..0x%08llx, RAM is "
                                 "0x%08x..0x%08llx",
                                 elf.path.c_str(), segment.p_paddr,
                                 (unsigned long long)segment.p_paddr + segment.p_memsz, RAM_BASE,
                                 (unsigned long long)RAM_BASE + ram_bytes));
        std::memcpy(ram + offset, elf.range(segment.p_offset, segment.p_filesz, "a segment"), segment.p_filesz);
        if (segment.p_flags & PF_X) {
            uint32_t end = segment.p_vaddr + segment.p_filesz;
            image.code_begin = image.code_end ? std::min(image.code_begin, segment.p_vaddr) : segment.p_vaddr;
            image.code_end = std::max(image.code_end, end);
        }
    }
}

// Functions, and the labels of assembly code, which have no type.
std::vector<Function> functions_of(const Elf &elf)
{
    std::vector<Function> functions;
    for (const Elf32_Shdr &table : elf.sections) {
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= elf.sections.size())
            continue;
        for (uint64_t at = 0; at + sizeof(Elf32_Sym) <= table.sh_size; at += sizeof(Elf32_Sym)) {
            auto symbol = elf.at<Elf32_Sym>(table.sh_offset + at, "its symbol table");
            unsigned type = ELF32_ST_TYPE(symbol.st_info);
            if ((type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF ||
                symbol.st_shndx >= elf.sections.size() || !(elf.sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR))
                continue;
            std::string name = elf.text(elf.sections[table.sh_link], symbol.st_name);
            if (name.empty() || name[0] == '$' || name[0] == '.' || name == "_etext")
                continue;
            functions.push_back({symbol.st_value, name});
        }
    }
    auto order = [](const Function &a, const Function &b) {
        return std::pair(a.address, a.name) < std::pair(b.address, b.name);
    };
    std::sort(functions.begin(), functions.end(), order);
    auto same = [](const Function &a, const Function &b) { return a.address == b.address; };
    functions.erase(std::unique(functions.begin(), functions.end(), same), functions.end());
    return functions;
}

void read_probes(const Elf &elf, Image &image)
{
    constexpr unsigned ENTRY = 8, KIND = 0xff, REGISTER_SHIFT = 8; // kernel/arch/probe.h
    for (const Elf32_Shdr &section : elf.named(".interlock.probes")) {
        if (section.sh_size % ENTRY)
            throw Failure(format("the image %s has a malformed section .interlock.probes: %u bytes are no whole number "
                                 "of entries",
                                 elf.path.c_str(), section.sh_size));
        for (uint32_t i = 0; i < section.sh_size; i += ENTRY) {
            auto [pc, word] = elf.at<std::pair<uint32_t, uint32_t>>(section.sh_offset + i, "section .interlock.probes");
            uint32_t named = word >> REGISTER_SHIFT; // 0: none, else the register's number and 1
            ProbePoint probe{pc, word & KIND, named ? named - 1 : ProbePoint::NO_VALUE};
            if (named > ProbePoint::NO_VALUE)
                throw Failure(format("the image %s has a probe point at 0x%08x with its value in register %u",
                                     elf.path.c_str(), pc, named - 1));
            if (probe.pc < image.code_begin || probe.pc >= image.code_end || probe.pc % 4)
                throw Failure(
                    format("the image %s has a probe point outside its code: 0x%08x", elf.path.c_str(), probe.pc));
            image.probes.push_back(probe);
        }
    }
}

void read_threads(const Elf &elf, Image &image)
{
    for (const Elf32_Shdr &section : elf.named(".interlock.threads")) {
        if (section.sh_size != sizeof image.threads)
            throw Failure(format("the image %s has a malformed section .interlock.threads: %u bytes, not %zu",
                                 elf.path.c_str(), section.sh_size, sizeof image.threads));
        image.threads = elf.at<ThreadTable>(section.sh_offset, "section .interlock.threads");
    }
}

void write_bootargs(const std::string &path, const std::string &bootargs, uint8_t *ram, size_t ram_bytes)
{
    uint32_t header[5];
    std::memcpy(header, ram, sizeof header);
    if (header[1] != IMAGE_MAGIC)
        throw Failure(format("the image %s has no Interlock header: 0x%08x at 0x%08x, not 0x%08x", path.c_str(),
                             header[1], RAM_BASE + 4, IMAGE_MAGIC));
    uint64_t offset = uint64_t(header[3]) - RAM_BASE, size = header[4];
    if (header[3] < RAM_BASE || offset + size > ram_bytes)
        throw Failure(format("the image %s has its boot arguments outside main RAM: %u bytes at 0x%08x", path.c_str(),
                             header[4], header[3]));
    if (bootargs.size() + 1 > size)
        throw Failure(format("the boot arguments do not fit: %zu bytes, the image %s has room for %llu",
                             bootargs.size(), path.c_str(), (unsigned long long)(size ? size - 1 : 0)));
    std::memset(ram + offset, 0, size);
    std::memcpy(ram + offset, bootargs.data(), bootargs.size());
}

} // namespace

int Image::function_at(uint32_t pc) const
{
    if (pc < code_begin || pc >= code_end)
        return -1;
    auto after = std::upper_bound(functions.begin(), functions.end(), pc,
                                  [](uint32_t value, const Function &f) { return value < f.address; });
    return int(after - functions.begin()) - 1;
}

std::string Image::describe(uint32_t pc) const
{
    int index = function_at(pc);
    if (index < 0)
        return "?";
    const Function &function = functions[index];
    return pc == function.address ? function.name : function.name + format("+0x%x", pc - function.address);
}

std::string Image::describe_return(uint32_t address) const
{
    int index = function_at(address - 4);
    return index < 0 ? "?" : functions[index].name + format("+0x%x", address - functions[index].address);
}

uint32_t Image::address_of(const std::string &option, const std::string &place) const
{
    constexpr uint64_t LAST = UINT32_MAX;
    if (std::isdigit(uint8_t(place[0])))
        return uint32_t(whole_number(option, place, LAST));
    size_t plus = place.find('+');
    std::string name = place.substr(0, plus);
    auto found = std::find_if(functions.begin(), functions.end(), [&](const Function &f) { return f.name == name; });
    if (found == functions.end())
        throw Failure(format("%s: the image has no function '%s'", option.c_str(), name.c_str()));
    uint64_t offset = plus == std::string::npos ? 0 : whole_number(option, place.substr(plus + 1), LAST);
    return uint32_t(found->address + offset);
}

Image load_image(const std::string &path, const std::vector<uint8_t> &content, const std::string &bootargs,
                 uint8_t *ram, size_t ram_bytes)
{
    Elf elf(path, content);
    Image image;
    image.sha256 = sha256(elf.bytes.data(), elf.bytes.size());
    image.file_bytes = elf.bytes.size();
    load_segments(elf, image, ram, ram_bytes);
    write_bootargs(path, bootargs, ram, ram_bytes);
    image.functions = functions_of(elf);
    read_probes(elf, image);
    read_threads(elf, image);
    return image;
}

Program load_program(const std::string &path, const std::vector<uint8_t> &content)
{
    Elf elf(path, content);
    Program program;
    for (const Elf32_Phdr &segment : elf.segments) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        program.entry = elf.header.e_entry;
        program.begin = segment.p_vaddr;
        program.code.resize(segment.p_filesz / 4);
        std::memcpy(program.code.data(), elf.range(segment.p_offset, segment.p_filesz, "a segment"),
                    4 * program.code.size());
        break;
    }
    program.functions = functions_of(elf);
    if (program.functions.empty())
        throw Failure(format("the program %s has no symbols: give the file that was not stripped", path.c_str()));
    return program;
}
