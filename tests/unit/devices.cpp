// The devices at a chip's pins (sim/harness/devices) without the model, with a chip that does at random anything that a
// chip may do.
//
//   devices DEVICE SEED STEPS FOLDER [OPTION...]
//
// - A device that is saved in any cycle and restored into a new one goes on as the first one does, to the last pin and
//   file.
// - Its promise of the first cycle in which it does something by itself holds.
// - Its promise of the first cycle in which it sends holds, and is no sooner than it must be; characters and frames
//   begin and
//   end in exactly the cycles that follow from their lengths and gaps on the wire.
// The exit status is 0 if all of that holds; else a line says what does not.
#include <sys/stat.h>

#include <cereal/archives/binary.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>

#include "devices/disk.h"
#include "devices/ether.h"
#include "devices/host_port.h"
#include "devices/serial_port.h"
#include "devices/trace_port.h"
#include "machine/image.h"
#include "support/failure.h"

const unsigned long CLOCK_HZ = 60'000'000;
const unsigned HART_COUNT = 1;
const char *const HARNESS_FINGERPRINT = "";

#define CHECK(condition, ...)                                                    \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            std::fprintf(stderr, __VA_ARGS__);                                   \
            std::fputc('\n', stderr);                                            \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

using Random = std::mt19937_64;
using Cycle = unsigned long long;

// The pins, as plain values: a copy of a chip is a chip in the same state.
struct Pad {
    std::vector<uint8_t> ram = std::vector<uint8_t>(4096);
    Pins::Traced traced{};
    Pins::Told told{};
    bool rx_valid = false, link = false;
    Pins::EtherWord rx{}, tx{};
    CData answer_valid = 0, data_in_valid = 0, answer_ready = 0, data_in_ready = 0;
    IData answer = 0, sectors = 0, lba = 0;
    QData data_in = 0, data_out = 0;
    CData command_valid = 0, op = 0, tag = 0, burst = 0, data_out_valid = 0, reset = 0;
    SData count = 0;
    bool line = true; // what the chip receives

    // The device's outputs: they change with each cycle in which it does something.
    uint64_t driven() const
    {
        Mix mix;
        for (uint64_t value :
             {uint64_t(rx_valid), uint64_t(link), uint64_t(rx_valid ? rx.data : 0), uint64_t(rx_valid ? rx.last : 0),
              uint64_t(rx_valid ? rx.last_be : 0), uint64_t(answer_valid), uint64_t(answer_valid ? answer : 0),
              uint64_t(data_in_valid), data_in_valid ? data_in : 0, uint64_t(line)})
            mix.add(value);
        return mix.value;
    }
};

class Machine final : public Pins {
  public:
    Machine()
        : disk_pins{&pad.answer_valid,
                    &pad.answer,
                    &pad.data_in_valid,
                    &pad.data_in,
                    &pad.sectors,
                    &pad.answer_ready,
                    &pad.data_in_ready,
                    &pad.command_valid,
                    &pad.op,
                    &pad.tag,
                    &pad.lba,
                    &pad.count,
                    &pad.burst,
                    &pad.data_out_valid,
                    &pad.data_out,
                    &pad.reset}
    {
    }
    Pad pad;

    Traced traced() const override { return pad.traced; }
    Told told() const override { return pad.told; }
    uint8_t *ram() override { return pad.ram.data(); }
    size_t ram_bytes() const override { return pad.ram.size(); }
    void set_ether(bool valid, EtherWord word) override
    {
        pad.rx_valid = valid;
        pad.rx = word;
    }
    void set_ether_link(bool up) override { pad.link = up; }
    EtherWord ether_word() const override { return pad.tx; }
    unsigned ether_speed() const override { return speed; }
    unsigned disks() const override { return 1; }
    const DiskPins &disk(unsigned) const override { return disk_pins; }
    void disk_size(unsigned, uint32_t sectors) override { pad.sectors = sectors; }
    void disk_hand(unsigned, bool answer, bool data, uint64_t word) override
    {
        pad.answer_valid = answer;
        pad.data_in_valid = data;
        if (answer) // kind, tag, status, length, each in bytes of its own
            pad.answer = uint32_t((word & 3) | (word >> 8 & 31) << 2 | (word >> 16 & 255) << 7 | (word >> 32) << 15);
        if (data)
            pad.data_in = word;
    }

    unsigned speed = 1; // 100 Mbit/s

  private:
    DiskPins disk_pins;
};

// A chip, its activity and a device at its pins. A copy of `Chip` and a device restored beside it are the same world
// again.
class World {
  public:
    struct Sent {
        uint64_t at;
        std::string content;
        bool operator==(const Sent &other) const { return at == other.at && content == other.content; }
    };

    explicit World(uint64_t seed) : random(seed) {}
    virtual ~World() = default;

    virtual Device &device() = 0;
    virtual void device_again() = 0; // a new one, as from the command line
    virtual std::vector<Device *> devices() { return {&device()}; }
    virtual void before(uint64_t) {} // input from wires
    virtual void edge(uint64_t) = 0; // the chip
    virtual unsigned away() const = 0;
    virtual bool quiet() const { return false; } // the chip does nothing by itself
    virtual void stuck() {} // nor does the device: the chip has to act
    virtual void check(uint64_t) {} // behind each cycle

    std::string state()
    {
        std::ostringstream stream;
        cereal::BinaryOutputArchive archive(stream);
        for (Device *each : devices())
            each->save(archive);
        return stream.str();
    }
    void open(const std::string &folder)
    {
        std::filesystem::create_directories(folder);
        for (Device *each : devices())
            each->open(folder, true);
    }
    void restore(const std::string &state, const std::string &folder)
    {
        std::istringstream stream(state);
        cereal::BinaryInputArchive archive(stream);
        for (Device *each : devices())
            each->load(archive);
        open(folder);
        for (Device *each : devices())
            each->write_again();
    }
    void finish()
    {
        for (Device *each : devices())
            each->finish();
    }

    // Like Node's loop. The next cycle in which anything happens.
    uint64_t step(uint64_t cycle)
    {
        before(cycle);
        for (Device *each : devices())
            if (cycle >= each->wants.before)
                call(*each, cycle, [&] { each->before_edge(cycle); });
        edge(cycle);
        for (Device *each : devices()) {
            if (!(away() & each->wants.pins) && cycle < each->wants.after)
                continue;
            if ((away() & each->wants.pins) || away() != away_before) // the pins have changed
                each->after_edge(cycle, away());
            else
                call(*each, cycle, [&] { each->after_edge(cycle, away()); });
        }
        away_before = away();
        check(cycle);
        if (!quiet())
            return cycle + 1;
        uint64_t next = NEVER;
        for (Device *each : devices())
            next = std::min(next, each->next());
        if (next == NEVER) {
            stuck();
            return cycle + 1;
        }
        return std::max(next, cycle + 1);
    }

    Machine machine;
    Random random;
    std::vector<Sent> sent;

  protected:
    unsigned below(unsigned n) { return unsigned(random() % n); }
    bool seldom(unsigned n) { return below(n) == 0; }

  private:
    unsigned away_before = 0;

    // A device that has not announced an action does none, whenever it is called.
    template <class Action> void call(Device &each, uint64_t cycle, Action action)
    {
        if (each.next() <= cycle)
            return action();
        const std::string was = state();
        const uint64_t driven = machine.pad.driven();
        action();
        CHECK(state() == was && machine.pad.driven() == driven, "%s does something in cycle %llu, not before %llu",
              each.name.c_str(), Cycle(cycle), Cycle(each.next()));
    }
};

// Random commands, of as many requests at once; takes answers at random times.
class DiskWorld final : public World {
  public:
    DiskWorld(uint64_t seed, const std::string &options) : World(seed), options(options)
    {
        for (size_t i = 0; i < SECTORS * 512; i++)
            image.push_back(uint8_t(i * 7 + i / 512));
        device_again();
    }
    Device &device() override { return *disk; }
    void device_again() override { disk = std::make_unique<Disk>(machine, 0, options, image, life); }

    void edge(uint64_t) override
    {
        Pad &p = machine.pad;
        if (p.answer_valid && p.answer_ready)
            answered(p.answer);
        p.command_valid = p.data_out_valid = p.reset = 0;
        if (words && !seldom(3)) {
            p.data_out_valid = 1;
            p.data_out = random();
            words--;
        } else if (waiting < most && seldom(4)) {
            p.command_valid = 1;
            p.op = CData(below(12) < 10 ? below(2) : below(6));
            p.tag = CData(below(17));
            p.lba = seldom(20) ? below(2 * SECTORS) : below(SECTORS);
            p.count = SData(p.op == 1 ? 1 + below(3) : below(6));
            p.burst = CData(seldom(3) ? 1 + below(4) : 0);
            waiting++;
        } else if (seldom(3000)) {
            reset();
        }
        // It cannot know in this cycle what comes with the next one.
        p.answer_ready = seldom(2);
        p.data_in_ready = !seldom(4);
    }
    bool quiet() const override
    {
        const Pad &p = machine.pad;
        return !words && waiting == most && !p.answer_valid && !p.data_in_valid && !p.command_valid && !p.reset;
    }
    void stuck() override { reset(); } // a command was not answered
    unsigned away() const override
    {
        const DiskPins &pins = const_cast<Machine &>(machine).disk(0);
        return (pins.says() ? DISK0_SAYS : 0) | (pins.takes() ? DISK0_TAKES : 0);
    }

  private:
    static constexpr unsigned SECTORS = 96;

    void reset()
    {
        machine.pad.reset = 1;
        words = waiting = 0;
        most = 1 + below(6);
    }
    void answered(uint32_t answer)
    {
        constexpr uint32_t TAKE = 1, DONE = 2;
        if ((answer & 3) == TAKE)
            words += answer >> 15;
        if ((answer & 3) == DONE && --waiting == 0)
            most = 1 + below(6);
    }

    std::string options;
    std::vector<uint8_t> image;
    bool life = false;
    std::unique_ptr<Disk> disk;

  public:
    uint32_t words = 0, waiting = 0, most = 3; // to be sent; commands under way, at most
};

// The time on a wire, as in hw/ether/phy.py.
static uint64_t on_the_wire(size_t bytes, uint64_t rate)
{
    return (bytes * 8 * CLOCK_HZ + rate - 1) / rate;
}

// Sends frames at random, a word a cycle or with pauses; gets them over wires, from a file, and as a load that the
// harness makes.
class EtherWorld final : public World {
  public:
    EtherWorld(uint64_t seed, unsigned mbits, bool odd) : World(seed), rate(mbits * 1'000'000ull), odd(odd)
    {
        arguments.ether_mbits = mbits;
        machine.speed = mbits == 10 ? 0 : mbits == 100 ? 1 : 2;
        if (odd) {
            arguments.ether_unplug = 3000 + below(60000);
            arguments.ether_plug = arguments.ether_unplug + below(20000) + 1;
            for (char c : pcap_header())
                played.push_back(uint8_t(c));
            for (uint64_t n = 0, at = 0; n < 12; n++, at += below(200'000))
                for (char c : pcap_record(at, std::string(60 + below(200), char(n))))
                    played.push_back(uint8_t(c));
        }
        device_again();
    }
    Device &device() override { return *port; }
    void device_again() override
    {
        port = std::make_unique<EtherPort>(machine, arguments, played, life);
        port->wire([this](uint64_t at, std::string content) {
            CHECK(at >= promised, "a frame at %llu, promised from %llu on", Cycle(at), Cycle(promised));
            sent.push_back({at, std::move(content)});
            promised = 0;
        });
        port->wired();
    }

    void before(uint64_t cycle) override
    {
        const uint64_t promise = port->sends_at(cycle);
        CHECK(promise > cycle && promise >= promised, "in cycle %llu promised %llu, before %llu", Cycle(cycle),
              Cycle(promise), Cycle(promised));
        if (outgoing.empty() && at == 0)
            CHECK(promise == cycle + on_the_wire(72, rate), "at rest promised %llu cycles", Cycle(promise - cycle));
        promised = promise;
        if (odd && seldom(4000))
            port->flood_frames(1 + below(4)), port->flood(cycle, 1 + below(5000), below(100));
        if (odd && seldom(3000))
            port->go(cycle);
        if (!seldom(pace))
            return;
        if (seldom(20))
            pace = 20 + below(3) * 3000; // so that frames queue for a while, and then do not
        std::string frame(60 + (seldom(3) ? below(600) : below(8)), '\0');
        for (char &byte : frame)
            byte = char(random());
        frame += fcs_of(frame);
        if (queued < 64) {
            const uint64_t due = std::max(cycle, free_at + on_the_wire(8 + frame.size() + 12, rate));
            // A word a cycle: a short frame behind a long one waits at the fastest rate until that has crossed the
            // pins.
            expected.push_back(std::max(due, crossed_at));
            crossed_at = expected.back() + (8 + frame.size() + 3) / 4;
            free_at = due;
            queued++;
        }
        port->arrive(frame, cycle);
    }
    void edge(uint64_t cycle) override
    {
        Pad &p = machine.pad;
        if (p.rx_valid && !inside_rx && !odd) { // the first word of a frame: at the cycle of its last bit
            CHECK(!expected.empty() && expected.front() == cycle, "a frame comes in cycle %llu, not %llu", Cycle(cycle),
                  Cycle(expected.empty() ? 0 : expected.front()));
            expected.pop_front();
            queued--;
        }
        inside_rx = p.rx_valid && !p.rx.last;
        tx_valid = false;
        if (outgoing.empty() && cycle >= next_tx && seldom(200)) {
            outgoing.assign(60 + (seldom(3) ? below(1400) : below(8)), '\0');
            for (char &byte : outgoing)
                byte = char(random());
            outgoing += fcs_of(outgoing);
            frame = outgoing;
            outgoing = std::string(7, '\x55') + '\xd5' + outgoing;
            begun = 0;
            slow = seldom(4);
        }
        if (outgoing.empty() || (slow && begun && !seldom(200)))
            return;
        if (!begun)
            begun = cycle;
        const size_t number = std::min<size_t>(4, outgoing.size() - at);
        p.tx = {0, at + number == outgoing.size(), 0};
        for (size_t i = 0; i < number; i++)
            p.tx.data |= uint32_t(uint8_t(outgoing[at + i])) << 8 * i;
        p.tx.last_be = p.tx.last ? 1u << (number - 1) : 0;
        tx_valid = true;
        at += number;
        if (p.tx.last) {
            ends = std::max(begun + on_the_wire(outgoing.size(), rate), cycle + 1);
            next_tx = ends + on_the_wire(12, rate);
            outgoing.clear();
            at = 0;
        }
    }
    void check(uint64_t) override
    {
        if (ends && !odd)
            CHECK(!sent.empty() && sent.back().at == ends && sent.back().content == frame,
                  "a frame ends in cycle %llu, not %llu", Cycle(sent.empty() ? 0 : sent.back().at), Cycle(ends));
        ends = 0;
    }
    unsigned away() const override { return tx_valid ? ETHER_TX : 0; }

  private:
    uint64_t rate;
    bool odd;
    Arguments arguments;
    std::vector<uint8_t> played;
    bool life = false;
    std::unique_ptr<EtherPort> port;

    std::string outgoing, frame;
    size_t at = 0;
    uint64_t begun = 0, ends = 0, next_tx = 0, promised = 0, free_at = 0, crossed_at = 0;
    unsigned pace = 3000, queued = 0;
    bool slow = false, tx_valid = false, inside_rx = false;
    std::deque<uint64_t> expected;
};

// A console, or a data line with its player, at other bit rates than the chip's now and then; breaks and glitches on
// the line.
class SerialWorld final : public World {
  public:
    SerialWorld(uint64_t seed, bool console, uint64_t baud, bool odd)
        : World(seed), console(console), odd(odd), baud(baud), chip({CLOCK_HZ, baud})
    {
        for (unsigned i = 0; i < 40; i++)
            feed.push_back(uint8_t(random()));
        start = seldom(2) ? NEVER : below(20'000);
        device_again();
    }
    Device &device() override { return *port; }
    std::vector<Device *> devices() override
    {
        return player ? std::vector<Device *>{port.get(), player} : std::vector<Device *>{port.get()};
    }
    void device_again() override
    {
        auto drive = [this](bool level) { machine.pad.line = level; };
        const BitRate rate{CLOCK_HZ, baud};
        const std::vector<uint8_t> nothing;
        if (console) {
            Arguments to_a_file;
            to_a_file.console = Arguments::Console::FILE;
            port = std::make_unique<Console>(to_a_file, drive, rate, life, [] {});
        } else {
            auto line = std::make_unique<DataLine>(false, "", drive, rate, life, odd ? feed : none, start);
            player = &line->player;
            if (odd)
                line->obey([this] { return ready; });
            port = std::move(line);
        }
        port->wire([this](uint64_t at, std::string content) {
            CHECK(at >= promised, "a character at %llu, promised from %llu on", Cycle(at), Cycle(promised));
            sent.push_back({at, std::move(content)});
            promised = 0;
        });
    }

    void before(uint64_t cycle) override
    {
        const uint64_t promise = port->sends_at(cycle), length = BitRate{CLOCK_HZ, baud}.half_bits(19);
        CHECK(promise >= cycle && promise >= promised, "in cycle %llu promised %llu, before %llu", Cycle(cycle),
              Cycle(promise), Cycle(promised));
        if (chip.idle() && !odd && cycle > over)
            CHECK(promise == cycle + length, "at rest promised %llu cycles", Cycle(promise - cycle));
        promised = promise;
        if (odd && player && player->waits_for_program() && seldom(20'000))
            dynamic_cast<DataLine &>(*port).player.go(cycle);
        if (seldom(pace)) {
            if (seldom(5))
                pace = 50 + below(3) * 20 * unsigned(CLOCK_HZ / baud);
            const std::string content(1, char(random()));
            due.push_back({std::max(cycle, free_at), uint8_t(content[0])});
            if (cycle >= free_at) // a burst of its own: bit times count from its first edge
                burst = cycle, characters = 0;
            free_at = burst + BitRate{CLOCK_HZ, baud}.bits(10 * ++characters);
            port->arrive(content, cycle);
        }
    }
    void edge(uint64_t cycle) override
    {
        if (!odd && was && !machine.pad.line && cycle >= not_before) { // a start bit
            CHECK(!due.empty() && due.front().first == cycle, "a character begins in cycle %llu, not %llu",
                  Cycle(cycle), Cycle(due.empty() ? 0 : due.front().first));
            not_before = cycle + BitRate{CLOCK_HZ, baud}.half_bits(19);
            due.pop_front();
        }
        was = machine.pad.line;
        ready = !odd || (seldom(100) ? !ready : ready);
        if (chip.idle() && seldom(500)) {
            const std::string content(1 + below(3), char(random()));
            chip.send(content.data(), content.size(), cycle);
            for (size_t i = 0; i < content.size(); i++)
                expected.push_back(cycle + BitRate{CLOCK_HZ, baud}.bits(10 * i) +
                                   BitRate{CLOCK_HZ, baud}.half_bits(19));
        }
        while (cycle >= chip.next)
            chip.advance(cycle);
        if (chip.idle())
            over = std::max(over, chip.finished == NEVER ? 0 : chip.finished);
        if (odd && seldom(3000)) // a break, or a glitch
            low_until = cycle + (seldom(2) ? 1 + below(4) : below(30 * unsigned(CLOCK_HZ / baud)));
        level = chip.level && cycle >= low_until;
    }
    void check(uint64_t cycle) override
    {
        if (odd)
            return;
        for (; taken < sent.size(); taken++) {
            const auto exact = expected.front();
            expected.pop_front();
            // Bits are counted from a character's own first edge here, from the burst's there: half a cycle each.
            CHECK(sent[taken].at + 1 >= exact && sent[taken].at <= exact + 1 && sent[taken].at == cycle,
                  "a character is there in cycle %llu, not %llu", Cycle(sent[taken].at), Cycle(exact));
        }
    }
    unsigned away() const override { return level ? 0 : console ? UART0_TX : UART1_TX; }

  private:
    bool console, odd;
    uint64_t baud, start = NEVER;
    LineDriver chip;
    std::vector<uint8_t> feed, none;
    bool life = false;
    std::unique_ptr<SerialPort> port;
    Player *player = nullptr;

    bool level = true, ready = true, was = true;
    uint64_t low_until = 0, promised = 0, free_at = 0, burst = 0, characters = 0, not_before = 0, over = 0;
    unsigned pace = 5000;
    size_t taken = 0;
    std::deque<std::pair<uint64_t, uint8_t>> due;
    std::deque<uint64_t> expected;
};

// The trace port and the host port.
class PortWorld final : public World {
  public:
    PortWorld(uint64_t seed, bool trace) : World(seed), trace(trace) { device_again(); }
    Device &device() override { return *port; }
    void device_again() override
    {
        if (trace)
            port = std::make_unique<TracePort>(
                machine, [this](const TracePort::Record &record, uint64_t) { told.add(record.argument); }, life);
        else
            port = std::make_unique<HostPort>(machine, [this](uint32_t code) { told.add(code); }, life);
    }
    void edge(uint64_t cycle) override
    {
        Pad &p = machine.pad;
        pins = 0;
        if (!seldom(50))
            return;
        p.traced = {cycle, below(2), below(1024), uint32_t(random())};
        for (size_t i = 0; i < 16; i++)
            p.ram[below(unsigned(p.ram.size()))] = uint8_t(random());
        const uint32_t offset = below(2048);
        p.told = {uint32_t(random()), below(3), RAM_BASE + offset, below(500)};
        pins = trace ? TRACE_VALID : seldom(10) ? HOST_EXIT : HOST_BLOB;
    }
    unsigned away() const override { return pins; }

  private:
    bool trace, life = false;
    std::unique_ptr<Device> port;
    unsigned pins = 0;
    Mix told;
};

static std::map<std::string, std::string> files_in(const std::string &folder)
{
    std::map<std::string, std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
}

using Make = std::function<std::unique_ptr<World>()>;

static std::unique_ptr<World> made(const std::string &what, uint64_t seed, const std::vector<std::string> &options)
{
    if (what == "disk")
        return std::make_unique<DiskWorld>(seed, options.at(0));
    if (what == "ether")
        return std::make_unique<EtherWorld>(seed, std::stoul(options.at(0)), options.at(1) == "odd");
    if (what == "console" || what == "line")
        return std::make_unique<SerialWorld>(seed, what == "console", std::stoul(options.at(0)),
                                             options.at(1) == "odd");
    return std::make_unique<PortWorld>(seed, what == "trace");
}

// What is read from users' files: the frames of a pcap file, the image and the profile of a drive.
static int read(const std::string &what, const std::string &text)
{
    try {
        if (what == "drive") {
            const DiskOptions options = DiskOptions::parse(text);
            std::printf("%s\n%s\n", options.image.c_str(), options.profile_name.c_str());
            return 0;
        }
        std::ifstream file(text, std::ios::binary);
        const PcapFile played = read_pcap("--ether-in", {std::istreambuf_iterator<char>(file), {}});
        for (const StampedFrame &frame : played.frames)
            std::printf("%llu %zu\n", Cycle(frame.nanoseconds), frame.bytes.size());
        return 0;
    } catch (const Failure &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 2;
    }
}

// Two worlds of one seed act alike; in the second one, the device is made anew now and then, from what the old
// one saved.
int main(int argc, char **argv)
{
    if (argc == 4 && std::string(argv[1]) == "read")
        return read(argv[2], argv[3]);
    if (argc < 5)
        return 2;
    const std::string what = argv[1], folder = argv[4];
    const uint64_t seed = std::stoull(argv[2]), steps = std::stoull(argv[3]);
    const std::vector<std::string> options(argv + 5, argv + argc);
    auto whole = made(what, seed, options), cut = made(what, seed, options);
    Random random(seed + 1);
    unsigned restored = 0;
    try {
        whole->open(folder + "/whole");
        cut->open(folder + "/cut");
        uint64_t cycle = 0, again = random() % 400;
        for (uint64_t step = 0; step < steps; step++) {
            if (step == again) {
                const std::string state = cut->state();
                CHECK(state == whole->state(), "the states of cycle %llu differ", Cycle(cycle));
                const Pad pad = cut->machine.pad;
                cut->device_again();
                cut->machine.pad = pad;
                cut->restore(state, folder + "/cut");
                CHECK(cut->state() == state, "restored in cycle %llu, it is not what was saved", Cycle(cycle));
                for (size_t i = 0; i < cut->devices().size(); i++) {
                    const Device &left = *whole->devices()[i], &right = *cut->devices()[i];
                    CHECK(left.next() == right.next() && left.wants.pins == right.wants.pins &&
                              left.idle() == right.idle() && left.sends_at(cycle) == right.sends_at(cycle),
                          "restored in cycle %llu, %s wants something else", Cycle(cycle), left.name.c_str());
                }
                again = step + 1 + (random() % 4 ? random() % 700 : random() % 5);
                restored++;
            }
            const uint64_t next = whole->step(cycle), also = cut->step(cycle);
            CHECK(whole->machine.pad.driven() == cut->machine.pad.driven() && next == also,
                  "in cycle %llu the pins differ, %u times restored", Cycle(cycle), restored);
            cycle = next;
        }
        CHECK(whole->state() == cut->state() && whole->sent == cut->sent, "at the end the states differ");
        whole->finish();
        cut->finish();
        const auto left = files_in(folder + "/whole"), right = files_in(folder + "/cut");
        for (const auto &[name, content] : left)
            CHECK(right.count(name) && right.at(name) == content, "%s differs", name.c_str());
        std::printf("%s: %llu steps, %llu cycles, restored %u times, %zu sent\n", what.c_str(), Cycle(steps),
                    Cycle(cycle), restored, whole->sent.size());
    } catch (const Failure &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
