// Ethernet frames in files of libpcap's classic format (draft-ietf-opsawg-pcap): time stamps in nanoseconds, from which
// the cycle can be recovered.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct StampedFrame {
    uint64_t nanoseconds = 0;
    std::string bytes;
};

struct PcapFile {
    bool with_fcs = false; // the frames have an FCS, right or wrong: they are played unchanged
    std::vector<StampedFrame> frames;
};

std::string pcap_header();
std::string pcap_record(uint64_t nanoseconds, const std::string &frame);
// Throws Failure with one line that names `option` if this is no such file of Ethernet frames, is cut off, or
// has frames that were cut when they were captured.
PcapFile read_pcap(const char *option, const std::vector<uint8_t> &content);

std::string fcs_of(const std::string &frame); // four bytes, as they are sent
