// A drive at a disk controller (hw/disk, "The drive's side"): an image file of the host behind a mechanism with its
// delays.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/disk_options.h"
#include "machine/facts.h"
#include "machine/pins.h"

class Disk final : public Device {
  public:
    // The drive of controller `unit` with the content `image`; without options there is none.
    Disk(Pins &machine, unsigned unit, const std::string &options, const std::vector<uint8_t> &image, bool &life);

    void before_edge(uint64_t cycle) override;
    void after_edge(uint64_t cycle, unsigned pins) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void finish() override;
    void digest(Mix &mix) const override;
    const char *record_group() const override { return "disks"; }
    void record(Json &json) const override;

  private:
    enum Op : uint32_t { READ, WRITE, FLUSH, DISCARD, SEEK };
    enum Kind : uint32_t { SEND, TAKE, DONE };
    enum Status : uint32_t { OK, MEDIUM, RANGE, OPERATION };
    enum class Step : uint32_t { IDLE, BEGIN, PIECE, GIVE, GET, END, ENDED };

    struct Request {
        uint32_t op = 0, tag = 0, lba = 0, count = 0, burst = 0;
        uint64_t came = 0, number = 0, passed = 0; // how often it was passed over

        template <class Archive> void serialize(Archive &archive)
        {
            archive(op, tag, lba, count, burst, came, number, passed);
        }
    };
    // A write, of which not all may be on the medium yet: `before` is what its sectors held.
    struct Written {
        uint64_t lba = 0, begin = NEVER, sector_cycles = 0;
        std::vector<uint8_t> before;

        uint64_t sectors() const { return before.size() / SECTOR; }
        uint64_t end() const { return begin == NEVER ? NEVER : begin + sectors() * sector_cycles; }
        template <class Archive> void serialize(Archive &archive) { archive(lba, begin, sector_cycles, before); }
    };
    struct Counts {
        uint64_t commands = 0, read = 0, written = 0, errors = 0, unanswered = 0, resets = 0, lost = 0;

        template <class Archive> void serialize(Archive &archive)
        {
            archive(commands, read, written, errors, unanswered, resets, lost);
        }
    };
    static constexpr uint64_t SECTOR = 512, WORDS = SECTOR / 8;
    static constexpr uint64_t MOST_PASSED = 16, MOST_AHEAD = 128; // sectors

    // What is sent to the controller, in order; each not before its cycle, as the bus is of limited speed.
    struct Handed {
        uint64_t at = 0, word = 0;
        bool answer = false;

        template <class Archive> void serialize(Archive &archive) { archive(at, word, answer); }
    };

    template <class Archive> void state(Archive &archive);
    void look_again();
    void told(uint64_t cycle);
    void reset();
    void power_cut(uint64_t cycle);
    void hand(uint64_t cycle);
    void step_on(uint64_t cycle);
    bool choose(uint64_t cycle);
    void begin(uint64_t cycle);
    void piece(uint64_t cycle);
    void take_in();
    void all_taken(uint64_t cycle);
    void say(uint64_t cycle, Kind kind, uint64_t length, Status status);
    void end_at(uint64_t cycle, Status status);
    uint64_t undo(const Written &written, uint64_t from_sector, std::vector<uint8_t> &medium);
    uint64_t lose(uint64_t cycle, std::vector<uint8_t> &medium);
    void copy_what_is_left(uint64_t cycle, uint64_t name_of);
    void settle(uint64_t cycle);
    uint64_t access(uint64_t from, uint64_t lba) const;
    uint64_t seek(uint64_t lba) const;
    uint64_t cylinder(uint64_t lba) const { return lba / (profile.sectors_per_track * profile.heads); }
    uint64_t bus_cycles(uint64_t words) const { return words * CLOCK_HZ * 8 / (profile.bus_kb_s * 1000); }
    uint64_t sectors() const { return content.size() / SECTOR; }
    bool unreadable(uint64_t sector);

    Pins &machine;
    const unsigned unit;
    bool &life;
    const bool present;
    DiskOptions options;
    const DiskProfile &profile;

    // Not saved: this run's, and the profile's values.
    std::string folder;
    uint64_t sector_cycles = 0, rotation = 0; // 0: no mechanism

    std::vector<uint8_t> content;
    std::vector<bool> changed; // sectors

    std::deque<Request> waiting;
    Request now;
    Step step = Step::IDLE;
    uint64_t due = NEVER; // of the step; NEVER: waits for the controller
    Status status = OK;
    uint64_t moved = 0, length = 0; // sectors of the request; of the piece under way
    uint64_t stream_at = 0; // reading: the cycle in which the request's first sector begins to be read
    uint64_t taken_at = 0; // writing: when the piece has gone over the bus
    std::vector<uint64_t> data; // of it, so far

    std::deque<Handed> outbox;
    bool held = false, taken = false; // its first is at the pins; the controller accepts it at the next edge
    uint64_t hand_due = NEVER;

    uint64_t arm = 0; // cylinder
    uint64_t free_at = 0; // the mechanism is idle from this cycle on
    uint64_t last_end = NEVER, last_end_at = 0; // the sector behind the last one read, and when that one passed
    std::deque<Written> on_its_way;
    bool dead = false;
    uint64_t copied = 0; // of options.left
    Counts counts;
};
