#include "devices/ether.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cerrno>
#include <cstring>

#include "support/failure.h"
#include "support/json.h"

namespace {

constexpr size_t PREAMBLE_BYTES = 8, FCS_BYTES = 4, GAP_BYTES = 12, ADDRESS_BYTES = 6;
constexpr size_t MIN_BYTES = 60, MOST_QUEUED = 64; // frames that a switch queues for a port
constexpr uint64_t HOST_POLL_CYCLES = 1024;
const std::string PREAMBLE = std::string(7, '\x55') + '\xd5';
const uint64_t RATES[] = {10'000'000, 100'000'000, 1'000'000'000}; // by the number that the PHY shows

int open_tap(const std::string &name)
{
    if (name.size() >= IFNAMSIZ)
        throw Failure(
            format("--ether tap:%s: the name of a device has %d characters at most", name.c_str(), IFNAMSIZ - 1));
    int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        int error = errno;
        if (fd >= 0)
            ::close(fd);
        throw Failure(format("--ether tap:%s: %s (in `unshare -Urn`, `ip tuntap add mode tap %s` makes one)",
                             name.c_str(), std::strerror(error), name.c_str()));
    }
    return fd;
}

} // namespace

EtherPort::EtherPort(Pins &machine, const Arguments &a, const std::vector<uint8_t> &content, bool &life)
    : Device("ether"), machine(machine), life(life), rate(a.ether_mbits * 1'000'000), start(a.ether_start),
      unplug_at(a.ether_unplug), plug_at(a.ether_plug), out_path(a.ether_out), tap_name(a.ether_tap)
{
    if (!content.empty())
        played = read_pcap("--ether-in", content);
    if (!tap_name.empty())
        tap = open_tap(tap_name);
    if (a.ether_user)
        user = std::make_unique<UserNet>();
    if (start != ETHER_START_PROGRAM) {
        begun = true;
        zero = start == ETHER_START_LOG ? 0 : start;
    }
    link_is(true);
    look_again();
}

EtherPort::~EtherPort()
{
    if (tap >= 0)
        ::close(tap);
}

uint64_t EtherPort::wire_cycles(size_t bytes) const
{
    return (bytes * 8 * CLOCK_HZ + rate - 1) / rate;
}

uint64_t EtherPort::nanoseconds(uint64_t cycle) const
{
    return uint64_t(static_cast<unsigned __int128>(cycle) * 1'000'000'000 / CLOCK_HZ);
}

// The cycle of the next frame's time stamp: in a log, the one in which it was stamped.
uint64_t EtherPort::next_played() const
{
    if (!begun || played_next == played.frames.size())
        return NEVER;
    uint64_t since = played.frames[played_next].nanoseconds;
    if (start != ETHER_START_LOG)
        since -= std::min(since, played.frames[0].nanoseconds);
    return zero + uint64_t((static_cast<unsigned __int128>(since) * CLOCK_HZ + 999'999'999) / 1'000'000'000);
}

void EtherPort::look_again()
{
    const uint64_t first = queue.empty() ? std::min(next_played(), flood_next) : queue.front().at;
    wants.before = driving ? 0 : std::min({first, unplug_at, plug_at});
    wants.pins = ETHER_TX;
}

void EtherPort::go(uint64_t cycle)
{
    if (!begun) {
        begun = true;
        zero = cycle;
    }
    look_again();
}

void EtherPort::link_is(bool up)
{
    link = up;
    machine.set_ether_link(up);
}

uint64_t EtherPort::enter(const std::string &frame, uint64_t cycle)
{
    if (queue.size() == MOST_QUEUED) {
        counts.no_room++;
        return NEVER;
    }
    const uint64_t at = std::max(cycle, free_at + wire_cycles(PREAMBLE_BYTES + frame.size() + GAP_BYTES));
    queue.push_back({at, PREAMBLE + frame});
    free_at = at;
    return at;
}

static std::string completed(std::string frame) // as a network card sends it
{
    if (frame.size() < MIN_BYTES)
        frame.resize(MIN_BYTES);
    return frame + fcs_of(frame);
}

// From 10.0.0.1 to 10.0.0.2; the source port is the number.
static std::string flood_frame(uint64_t number, uint32_t bytes)
{
    std::string frame = {2, 'I', 'L', 'K', 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0};
    auto add = [&frame](uint32_t value) { (frame += char(value >> 8)) += char(value); };
    const uint32_t header[] = {28 + bytes, 0, 0, 0x4011, 0, 0x0a00, 1, 0x0a00, 2};
    uint32_t sum = 0x4500;
    for (uint32_t word : header)
        sum += word;
    sum = (sum & 0xffff) + (sum >> 16);
    for (unsigned i = 0; i < 9; i++)
        add(i == 4 ? ~(sum + (sum >> 16)) & 0xffff : header[i]);
    for (uint32_t word : {uint32_t(number & 0xffff), 9u, 8 + bytes, 0u})
        add(word);
    return frame.append(bytes, '\x5a');
}

void EtherPort::flood(uint64_t cycle, uint32_t period, uint32_t bytes)
{
    flood_period = period;
    flood_bytes = bytes;
    flood_next = period && flood_left ? cycle + period : NEVER;
    look_again();
}

void EtherPort::before_edge(uint64_t cycle)
{
    if (cycle >= unplug_at) {
        cut();
        link_is(false);
        unplug_at = NEVER;
    }
    if (cycle >= plug_at) {
        link_is(true);
        plug_at = NEVER;
    }
    if (queue.empty() && cycle >= next_played()) {
        const uint64_t stamped = next_played();
        const std::string &frame = played.frames[played_next++].bytes;
        enter(played.with_fcs ? frame : completed(frame), stamped);
    }
    if (queue.empty() && cycle >= flood_next) {
        enter(completed(flood_frame(flooded++, flood_bytes)), flood_next);
        flood_next = --flood_left ? flood_next + flood_period : NEVER;
    }
    drive();
    while (!driving && !queue.empty() && queue.front().at <= cycle) {
        const bool speaks = RATES[std::min(machine.ether_speed(), 2u)] == rate;
        life = true;
        if (link && speaks) {
            driving = true;
            drive();
        } else {
            ++(link ? counts.other_speed : counts.no_link);
            queue.pop_front();
        }
    }
    look_again();
}

// The frame that crosses the pins is cut short; what follows is another frame.
void EtherPort::cut()
{
    if (driving && sent_bytes < queue.front().bytes.size()) {
        counts.cut++;
        come_to_rest();
    }
    counts.cut += !leaving.empty();
    leaving.clear();
}

void EtherPort::come_to_rest()
{
    queue.pop_front();
    sent_bytes = 0;
    driving = false;
    machine.set_ether(false, {});
}

// The next word of the first frame; after the last one, the pins return to rest.
void EtherPort::drive()
{
    if (!driving)
        return;
    if (sent_bytes >= queue.front().bytes.size()) {
        counts.to_target++;
        counts.to_target_bytes += queue.front().bytes.size() - PREAMBLE_BYTES;
        came = queue.front().at;
        come_to_rest();
        return;
    }
    const std::string &bytes = queue.front().bytes;
    const size_t number = std::min<size_t>(4, bytes.size() - sent_bytes);
    Pins::EtherWord word{0, sent_bytes + number == bytes.size(), 0};
    for (size_t i = 0; i < number; i++)
        word.data |= uint32_t(uint8_t(bytes[sent_bytes + i])) << 8 * i;
    word.last_be = word.last ? 1u << (number - 1) : 0;
    machine.set_ether(true, word);
    sent_bytes += number;
}

void EtherPort::after_edge(uint64_t cycle, unsigned pins)
{
    if (!(pins & ETHER_TX))
        return;
    const Pins::EtherWord word = machine.ether_word();
    if (leaving.empty())
        leaves = cycle;
    unsigned number = 4;
    for (unsigned i = 0; word.last && i < 4; i++)
        if (word.last_be >> i & 1)
            number = i + 1;
    for (unsigned i = 0; i < number; i++)
        leaving += char(word.data >> 8 * i);
    if (word.last)
        left(cycle);
    life = true;
}

void EtherPort::left(uint64_t cycle)
{
    const uint64_t end = std::max(leaves + wire_cycles(leaving.size()), cycle + 1);
    const std::string frame = leaving.substr(std::min(PREAMBLE_BYTES, leaving.size()));
    leaving.clear();
    if (RATES[std::min(machine.ether_speed(), 2u)] != rate)
        return void(counts.other_speed++);
    if (frame.size() < MIN_BYTES + FCS_BYTES ||
        fcs_of(frame.substr(0, frame.size() - FCS_BYTES)) != frame.substr(frame.size() - FCS_BYTES))
        return void(counts.bad_fcs++);
    counts.from_target++;
    counts.from_target_bytes += frame.size();
    if (came && leaves > came)
        turnaround.add(leaves - came);
    came = 0;
    mix.add(end);
    mix.add(frame.data(), frame.size());
    own.insert(frame.substr(ADDRESS_BYTES, ADDRESS_BYTES));
    const std::string content = frame.substr(0, frame.size() - FCS_BYTES);
    file.write(pcap_record(nanoseconds(end), content));
    for (const auto &to : wires)
        to(end, frame);
    if (tap >= 0 && ::write(tap, content.data(), content.size()) < 0 && errno != EAGAIN)
        throw Failure(format("--ether tap:%s: %s", tap_name.c_str(), std::strerror(errno)));
    if (user)
        user->send(content);
}

// Where several wires end, the port is a switch's: it learns the addresses behind it.
void EtherPort::arrive(const std::string &content, uint64_t cycle)
{
    const bool group = content[0] & 1;
    if (incoming_wires > 1 && !group && !own.empty() && !own.count(content.substr(0, ADDRESS_BYTES)))
        counts.elsewhere++;
    else
        enter(content, cycle);
    look_again();
}

Device::Sends EtherPort::sends() const
{
    const uint64_t least = wire_cycles(PREAMBLE_BYTES + MIN_BYTES + FCS_BYTES);
    if (leaving.empty())
        return {0, least, true};
    return {leaves + std::max(least, wire_cycles(leaving.size())), 1, true};
}

uint64_t EtherPort::poll_cycles() const
{
    return is_host() ? HOST_POLL_CYCLES : 0;
}

void EtherPort::from_host(const std::string &content, uint64_t cycle)
{
    const uint64_t at = enter(completed(content), cycle);
    if (at != NEVER)
        log.write(pcap_record(nanoseconds(at), content));
}

void EtherPort::poll(uint64_t cycle)
{
    char frame[2048];
    if (tap >= 0)
        for (ssize_t length; (length = ::read(tap, frame, sizeof frame)) > 0;)
            from_host(std::string(frame, size_t(length)), cycle);
    if (user)
        for (std::string content; user->receive(content);)
            from_host(content, cycle);
    look_again();
}

template <class Archive> void EtherPort::state(Archive &archive)
{
    archive(unplug_at, plug_at, link, played_next, zero, begun, queue, sent_bytes, free_at, flood_next, flooded,
            flood_period, flood_bytes, flood_left, driving, leaving, leaves, own, came, turnaround, mix, counts);
}

void EtherPort::save(cereal::BinaryOutputArchive &archive) const
{
    const_cast<EtherPort *>(this)->state(archive);
    archive(file.kept(), log.kept());
}

void EtherPort::load(cereal::BinaryInputArchive &archive)
{
    state(archive);
    archive(before, log_before);
    look_again();
}

void EtherPort::open(const std::string &folder, bool keep)
{
    const std::string name = out_path.empty() && !folder.empty() ? folder + "/ether.pcap" : out_path;
    if (!name.empty())
        file.open(name);
    if (is_host() && !folder.empty())
        log.open(folder + "/ether-in.pcap");
    if (keep) {
        file.keep();
        log.keep();
    }
    if (before.empty()) {
        file.write(pcap_header());
        log.write(pcap_header());
    }
}

void EtherPort::write_again()
{
    file.write(before.empty() ? "" : before);
    log.write(log_before.empty() ? "" : log_before);
}

void EtherPort::forget()
{
    file.forget();
    log.forget();
}

void EtherPort::flush()
{
    file.flush();
    log.flush();
}

void EtherPort::finish()
{
    file.close();
    log.close();
}

void EtherPort::record(Json &json) const
{
    json.number("frames_to_target", counts.to_target).number("bytes_to_target", counts.to_target_bytes);
    json.number("frames_from_target", counts.from_target).number("bytes_from_target", counts.from_target_bytes);
    json.number("dropped_no_room", counts.no_room).number("dropped_elsewhere", counts.elsewhere);
    json.number("dropped_no_link", counts.no_link).number("dropped_other_speed", counts.other_speed);
    json.number("cut", counts.cut).number("bad_fcs", counts.bad_fcs).number("played", played_next);
    json.number("flooded", flooded);
    turnaround.write(json, "turnaround");
}
