#include "run/checkpoint.h"

#include <lz4frame.h>

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "machine/facts.h"
#include "support/failure.h"
#include "support/files.h"

namespace {

constexpr char MAGIC[] = "interlock-checkpoint 2 ";
constexpr size_t LENGTH_BYTES = 8; // before each frame, the least significant one first

std::string header(uint64_t cycle, unsigned nodes, const std::string &image_sha256)
{
    return format("%sfingerprint=%s harts=%u cycle=%llu image=%s nodes=%u\n", MAGIC, HARNESS_FINGERPRINT, HART_COUNT,
                  (unsigned long long)cycle, image_sha256.c_str(), nodes);
}

template <class Content> std::string serialized(const Content &content)
{
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    archive(content);
    return stream.str();
}

template <class Content> Content deserialized(const std::string &state)
{
    Content content;
    std::istringstream stream(state);
    cereal::BinaryInputArchive archive(stream);
    archive(content);
    return content;
}

std::string compressed(const std::string &state)
{
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.contentSize = state.size();
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    std::string frame(LZ4F_compressFrameBound(state.size(), &preferences), '\0');
    size_t length = LZ4F_compressFrame(frame.data(), frame.size(), state.data(), state.size(), &preferences);
    if (LZ4F_isError(length))
        throw Failure(format("cannot compress the checkpoint: %s", LZ4F_getErrorName(length)));
    frame.resize(length);
    return frame;
}

// The content of the frame; empty if it is damaged or truncated.
std::string decompressed(const uint8_t *frame, size_t length)
{
    LZ4F_dctx *context;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return "";
    LZ4F_frameInfo_t info{};
    size_t used = length, wanted = LZ4F_getFrameInfo(context, &info, frame, &used);
    constexpr uint64_t MOST = 8ull << 30; // a damaged size must not take all memory
    std::string state;
    if (!LZ4F_isError(wanted) && info.contentSize <= MOST) {
        state.resize(info.contentSize);
        size_t made = 0;
        while (wanted && !LZ4F_isError(wanted) && used < length) {
            size_t room = state.size() - made, rest = length - used;
            wanted = LZ4F_decompress(context, state.data() + made, &room, frame + used, &rest, nullptr);
            made += room;
            used += rest;
        }
        if (wanted || made != state.size())
            state.clear();
    }
    LZ4F_freeDecompressionContext(context);
    return state;
}

std::string file_name(const std::string &path)
{
    return std::filesystem::path(path).filename().string();
}

std::string with_seed(const Arguments &a, uint64_t seed)
{
    Arguments composed = a;
    composed.has_seed = true;
    composed.seed = seed;
    composed.add_seed();
    return composed.bootargs;
}

void write_frame(OutFile &file, const std::string &frame)
{
    std::string length;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        length += char(uint64_t(frame.size()) >> 8 * i);
    file.write(length);
    file.write(frame);
}

std::vector<uint8_t> read_frames(const std::string &path)
{
    std::vector<uint8_t> frames = read_file(path, "pcap file");
    if (frames.empty())
        throw Failure(format("the pcap file %s is empty", path.c_str()));
    return frames;
}

} // namespace

Inputs read_inputs(const Arguments &a)
{
    Inputs inputs;
    inputs.image_name = file_name(a.image); // without its folder: checkpoints of two hosts are the same
    inputs.image = read_file(a.image, "image");
    if (!a.uart1_in.empty()) {
        inputs.feed_name = file_name(a.uart1_in);
        inputs.feed = read_file(a.uart1_in, "serial file");
        if (inputs.feed.empty())
            throw Failure(format("the serial file %s is empty", a.uart1_in.c_str()));
    }
    for (const std::string &disk : a.disks)
        inputs.disk_images.push_back(read_file(disk.substr(0, disk.find(',')), "disk image"));
    if (!a.ether_in.empty()) {
        inputs.frames_name = file_name(a.ether_in);
        inputs.frames = read_frames(a.ether_in);
    }
    static_cast<Shape &>(inputs) = a;
    return inputs;
}

Inputs merge_inputs(const Checkpoint &checkpoint, Arguments &a)
{
    Inputs inputs = checkpoint.inputs;
    auto fixed = [&a](const char *option, bool same, const std::string &value) {
        if (a.given.count(option) && !same)
            throw Failure(format("%s: the checkpoint %s has run with %s: leave the option out, or boot anew", option,
                                 a.restore.c_str(), value.c_str()));
    };
    fixed("--image", a.image.empty() || read_file(a.image, "image") == inputs.image, inputs.image_name);
    fixed("--seed", inputs.has_seed && a.seed == inputs.seed,
          inputs.has_seed ? std::to_string(inputs.seed) : "no seed");
    fixed("--bootargs", a.bootargs == inputs.bootargs || with_seed(a, inputs.seed) == inputs.bootargs,
          "'" + inputs.bootargs + "'");
    fixed("--uart0-baud", a.uart0_baud == inputs.uart0_baud, std::to_string(inputs.uart0_baud));
    fixed("--uart1-baud", a.uart1_baud == inputs.uart1_baud, std::to_string(inputs.uart1_baud));
    fixed("--uart0-flow", a.uart0_flow == inputs.uart0_flow, inputs.uart0_flow ? "rts" : "none");
    fixed("--uart1-flow", a.uart1_flow == inputs.uart1_flow, inputs.uart1_flow ? "rts" : "none");
    fixed("--disk", a.disks == inputs.disks, inputs.disks.empty() ? "no disk" : "'" + inputs.disks.front() + "'");
    fixed("--ether-mbits", a.ether_mbits == inputs.ether_mbits, std::to_string(inputs.ether_mbits));
    fixed("--ether-in",
          inputs.frames_name.empty() || a.ether_in.empty() || read_file(a.ether_in, "pcap file") == inputs.frames,
          inputs.frames_name);
    fixed("--ether-start", a.ether_start == inputs.ether_start, "another start of --ether-in");
    fixed("--ether-unplug", a.ether_unplug == inputs.ether_unplug && a.ether_plug == inputs.ether_plug,
          "another moment of it");
    if (inputs.frames_name.empty() && !a.ether_in.empty()) {
        inputs.frames_name = file_name(a.ether_in);
        inputs.frames = read_frames(a.ether_in);
    }
    if (a.given.count("--uart1-in")) {
        inputs.feed_name = file_name(a.uart1_in);
        std::vector<uint8_t> feed = read_file(a.uart1_in, "serial file");
        inputs.other_feed = feed != inputs.feed;
        inputs.feed = std::move(feed);
    }
    if (a.given.count("--uart1-start")) {
        inputs.other_feed |= a.uart1_start != inputs.uart1_start;
        inputs.uart1_start = a.uart1_start;
    }
    a.image = inputs.image_name;
    a.uart1_in = inputs.feed_name;
    static_cast<Shape &>(a) = inputs;
    return inputs;
}

// Written aside first: a file of that name is a whole checkpoint.
CheckpointWriter::CheckpointWriter(const std::string &path, uint64_t cycle, unsigned nodes,
                                   const std::string &image_sha256, const std::vector<Wire> &wires)
    : path(path)
{
    file.open(path + ".tmp");
    file.write(header(cycle, nodes, image_sha256));
    write_frame(file, compressed(serialized(wires)));
}

void CheckpointWriter::add(const Checkpoint &checkpoint)
{
    write_frame(file, compressed(serialized(checkpoint)));
}

void CheckpointWriter::finish()
{
    file.close();
    std::error_code error;
    std::filesystem::rename(path + ".tmp", path, error);
    if (error)
        throw Failure(format("cannot write the checkpoint %s: %s", path.c_str(), error.message().c_str()));
}

CheckpointFile::CheckpointFile(const std::string &path) : path(path), bytes(read_file(path, "checkpoint"))
{
    std::string line(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\n'));
    if (line.rfind(MAGIC, 0) != 0)
        throw Failure(format("%s is not a checkpoint of this version of the simulator", path.c_str()));
    std::istringstream words(line);
    std::string word, wanted = std::string("fingerprint=") + HARNESS_FINGERPRINT;
    size_t count = 0;
    while (words >> word) {
        if (word.rfind("fingerprint=", 0) == 0 && word != wanted)
            throw Failure(format("the checkpoint %s is of another simulator (%s, this one is %s): make it again with "
                                 "this one",
                                 path.c_str(), word.c_str() + std::strlen("fingerprint="), HARNESS_FINGERPRINT));
        if (word.rfind("nodes=", 0) == 0)
            count = std::strtoul(word.c_str() + std::strlen("nodes="), nullptr, 10);
    }
    for (size_t at = line.size() + 1; at + LENGTH_BYTES <= bytes.size();) {
        uint64_t length = 0;
        for (size_t i = 0; i < LENGTH_BYTES; i++)
            length |= uint64_t(bytes[at + i]) << 8 * i;
        at += LENGTH_BYTES;
        if (length > bytes.size() - at)
            break;
        frames.push_back({at, length});
        at += length;
    }
    if (!count || frames.size() != count + 1)
        throw Failure(format("the checkpoint %s is damaged or cut off: make it again", path.c_str()));
    joined = deserialized<std::vector<Wire>>(content(0));
}

std::string CheckpointFile::content(unsigned frame) const
{
    std::string state = decompressed(bytes.data() + frames[frame].first, frames[frame].second);
    if (state.empty())
        throw Failure(format("the checkpoint %s is damaged or cut off: make it again", path.c_str()));
    return state;
}

Checkpoint CheckpointFile::node(unsigned number) const
{
    return deserialized<Checkpoint>(content(1 + number));
}
