#include "support/pcap.h"

#include <algorithm>
#include <array>

#include "support/failure.h"

namespace {

constexpr uint32_t MAGIC_MICROSECONDS = 0xa1b2c3d4, MAGIC_NANOSECONDS = 0xa1b23c4d;
constexpr uint32_t ETHERNET = 1, HAS_FCS = 1u << 26, MOST_BYTES = 65535;
constexpr size_t HEADER_BYTES = 24, RECORD_BYTES = 16;

std::string little(uint32_t value)
{
    std::string bytes;
    for (unsigned i = 0; i < 4; i++)
        bytes += char(value >> 8 * i);
    return bytes;
}

} // namespace

std::string pcap_header()
{
    return little(MAGIC_NANOSECONDS) + little(2 | 4 << 16) + little(0) + little(0) + little(MOST_BYTES) +
           little(ETHERNET);
}

std::string pcap_record(uint64_t nanoseconds, const std::string &frame)
{
    const uint32_t length = uint32_t(frame.size());
    return little(uint32_t(nanoseconds / 1'000'000'000)) + little(uint32_t(nanoseconds % 1'000'000'000)) +
           little(length) + little(length) + frame;
}

PcapFile read_pcap(const char *option, const std::vector<uint8_t> &content)
{
    bool swapped = false;
    auto word = [&](size_t at) {
        uint32_t value = 0;
        for (unsigned i = 0; i < 4; i++)
            value |= uint32_t(content[at + i]) << 8 * (swapped ? 3 - i : i);
        return value;
    };
    auto known = [](uint32_t magic) { return magic == MAGIC_MICROSECONDS || magic == MAGIC_NANOSECONDS; };
    if (content.size() >= HEADER_BYTES && !known(word(0)))
        swapped = true;
    if (content.size() < HEADER_BYTES || !known(word(0)))
        throw Failure(format("%s: this is no pcap file (of pcapng, `editcap -F pcap` makes one)", option));
    const uint64_t unit = word(0) == MAGIC_NANOSECONDS ? 1 : 1000;
    const uint32_t network = word(20);
    if ((network & 0xffff) != ETHERNET)
        throw Failure(format("%s: the frames are of link type %u, not Ethernet (1)", option, network & 0xffff));
    PcapFile file;
    file.with_fcs = network & HAS_FCS;
    size_t cut = 0, first_cut = 0;
    for (size_t at = HEADER_BYTES; at < content.size();) {
        const uint32_t length = at + RECORD_BYTES <= content.size() ? word(at + 8) : UINT32_MAX;
        if (length > MOST_BYTES || length > content.size() - at - RECORD_BYTES)
            throw Failure(format("%s: the file is cut off or damaged behind %zu frames", option, file.frames.size()));
        const uint64_t stamp = uint64_t(word(at)) * 1'000'000'000 + word(at + 4) * unit;
        if (length < word(at + 12) && !cut++)
            first_cut = file.frames.size() + 1;
        at += RECORD_BYTES;
        file.frames.push_back({stamp, {content.begin() + long(at), content.begin() + long(at + length)}});
        at += length;
    }
    if (cut)
        throw Failure(format("%s: %zu of %zu frames are cut by the capture's snap length of %u bytes, frame %zu first: "
                             "capture whole frames (tcpdump -s 0)",
                             option, cut, file.frames.size(), word(16), first_cut));
    return file;
}

std::string fcs_of(const std::string &frame)
{
    static const auto table = [] {
        std::array<uint32_t, 256> made{};
        for (uint32_t i = 0; i < 256; i++) {
            made[i] = i;
            for (unsigned bit = 0; bit < 8; bit++)
                made[i] = made[i] & 1 ? 0xedb88320 ^ made[i] >> 1 : made[i] >> 1;
        }
        return made;
    }();
    uint32_t value = UINT32_MAX;
    for (char byte : frame)
        value = table[(value ^ uint8_t(byte)) & 0xff] ^ value >> 8;
    return little(~value);
}
