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
    uint64_t latency = 1; // cycles from when the sender's device has it to when the receiver's has: 1 at least
    uint64_t messages = 0; // that were sent

    template <class Archive> void serialize(Archive &archive) { archive(from, to, latency, messages); }
};

// What is on its way.
struct Message {
    uint64_t at = 0; // the cycle in which it arrives, before the clock edge
    unsigned wire = 0; // over which it comes: wires are numbered by their source, so this is the order of two at a time
    std::string content;

    bool operator<(const Message &other) const { return std::tie(at, wire) < std::tie(other.at, other.wire); }
    template <class Archive> void serialize(Archive &archive) { archive(at, wire, content); }
};
