// Wires between nodes: each takes whole characters, frames or blocks from a device of one node to a device of another,
// which receives them a latency later.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>

// One end of a wire.
struct WireEnd {
    unsigned node = 0;
    std::string device; // by its name: uart1

    template <class Archive> void serialize(Archive &archive) { archive(node, device); }
};

struct Wire {
    WireEnd from, to;
    uint64_t latency = 1; // cycles from the sender's device to the receiver's: at least 1
    uint64_t messages = 0; // that were sent

    template <class Archive> void serialize(Archive &archive) { archive(from, to, latency, messages); }
};

// A message in transit.
struct Message {
    uint64_t at = 0; // the cycle in which it arrives, before the clock edge
    unsigned wire = 0; // that it comes over: numbered by source, so this is the order of two in one cycle
    std::string content;

    bool operator<(const Message &other) const { return std::tie(at, wire) < std::tie(other.at, other.wire); }
    template <class Archive> void serialize(Archive &archive) { archive(at, wire, content); }
};
