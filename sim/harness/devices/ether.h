// The Ethernet wire's far end: frames from a pcap file, from other nodes, a TAP device or libslirp, and the frames that
// the target sends. A frame takes its time on the wire, as in hw/ether/phy.py: here too it is passed in one piece, at
// the cycle of its last bit.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "devices/device.h"
#include "devices/user_net.h"
#include "machine/facts.h"
#include "machine/pins.h"
#include "options/arguments.h"
#include "watch/statistics.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/pcap.h"

class EtherPort final : public Device {
  public:
    // `played`: the content of the pcap file, or nothing. Throws Failure on bad input.
    EtherPort(Pins &machine, const Arguments &arguments, const std::vector<uint8_t> &played, bool &life);
    ~EtherPort() override;

    // Starts the file's frames, if they wait for it. The caller of this and the next makes the node look again.
    void go(uint64_t cycle);
    // A generated load: from the cycle on, every `period` cycles, a UDP datagram of `bytes` bytes to port 9 of the
    // target, each as a frame with another source port, as many as were given before.
    void flood_frames(uint32_t count) { flood_left = count; }
    void flood(uint64_t cycle, uint32_t period, uint32_t bytes);
    bool waits_for_program() const { return start == ETHER_START_PROGRAM; }
    bool has_begun() const { return begun; }

    void before_edge(uint64_t cycle) override;
    void after_edge(uint64_t cycle, unsigned pins) override;
    void wire(std::function<void(uint64_t, std::string)> to) override { wires.push_back(std::move(to)); }
    void wired() override { incoming_wires++; }
    void arrive(const std::string &content, uint64_t cycle) override;
    Sends sends() const override;
    uint64_t poll_cycles() const override;
    void poll(uint64_t cycle) override;
    bool listens() const override { return is_host(); }
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void write_again() override;
    void forget() override;
    void flush() override;
    void finish() override;
    void digest(Mix &of) const override { of.add(mix.value); }
    const char *record_group() const override { return "ether"; }
    void record(Json &json) const override;

  private:
    struct Coming {
        uint64_t at = 0; // the cycle of its last bit
        std::string bytes; // with preamble and FCS
        template <class Archive> void serialize(Archive &archive) { archive(at, bytes); }
    };

    template <class Archive> void state(Archive &archive);
    uint64_t wire_cycles(size_t bytes) const; // of so many, with preamble and FCS
    uint64_t enter(const std::string &frame, uint64_t cycle); // the cycle of its last bit here, or NEVER: no room
    bool is_host() const { return tap >= 0 || user; } // the wire ends in the host, whose time is real
    void from_host(const std::string &content, uint64_t cycle);
    void link_is(bool up);
    void cut(); // the cable is unplugged
    void come_to_rest(); // the frame that crosses the pins has ended, or is cut
    void drive();
    void left(uint64_t cycle);
    void look_again();
    uint64_t nanoseconds(uint64_t cycle) const;
    uint64_t next_played() const;

    Pins &machine;
    bool &life;
    const uint64_t rate, start;
    uint64_t unplug_at, plug_at; // NEVER: past, or not wanted
    bool link = true;

    // Not saved: this run's own, and what is made from the file that a checkpoint has, too.
    std::string out_path, tap_name;
    int tap = -1;
    std::unique_ptr<UserNet> user;
    PcapFile played;

    uint64_t played_next = 0, zero = 0; // of its frames; the cycle that its stamps count from
    bool begun = false;
    std::deque<Coming> queue;
    size_t sent_bytes = 0; // of the first in the queue
    uint64_t free_at = 0; // when the wire to the target has carried what is queued
    uint64_t flood_next = NEVER, flooded = 0; // the cycle of the next frame's last bit; frames so far
    uint32_t flood_period = 0, flood_bytes = 0, flood_left = 0;
    bool driving = false; // the pins hold a word

    std::string leaving; // a frame of the target whose last word is missing
    uint64_t leaves = 0; // the cycle of its first word
    std::set<std::string> own; // addresses that the target sends from

    // Not saved: the run connects them again.
    std::vector<std::function<void(uint64_t, std::string)>> wires;
    unsigned incoming_wires = 0;

    // Not saved, except the content of the files, which is then what they held before.
    OutFile file, log; // what the target sent; what came from outside, for replay
    std::string before, log_before; // what they held at the checkpoint that was restored

    // The cycle of the last bit of the frame that the target last received; 0: it has sent one since.
    uint64_t came = 0;
    Spread turnaround; // from there to the first word that it sends

    Mix mix;
    struct {
        uint64_t to_target = 0, to_target_bytes = 0, from_target = 0, from_target_bytes = 0;
        uint64_t no_room = 0, elsewhere = 0, other_speed = 0, no_link = 0, cut = 0, bad_fcs = 0;
        template <class Archive> void serialize(Archive &archive)
        {
            archive(to_target, to_target_bytes, from_target, from_target_bytes, no_room, elsewhere, other_speed,
                    no_link, cut, bad_fcs);
        }
    } counts;
};
