#include "devices/disk.h"

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <cstring>

#include "support/failure.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/json.h"

namespace {

unsigned of_unit(unsigned pin, unsigned unit)
{
    return pin << 2 * unit;
}

uint64_t microseconds(uint64_t us)
{
    return us * CLOCK_HZ / 1'000'000;
}

} // namespace

Disk::Disk(Pins &machine, unsigned unit, const std::string &text, const std::vector<uint8_t> &image, bool &life)
    : Device("disk" + std::to_string(unit)), machine(machine), unit(unit), life(life), present(!text.empty()),
      options(present ? DiskOptions::parse(text) : DiskOptions{}), profile(options.profile), content(image)
{
    if (!present)
        return;
    if (content.empty() || content.size() % SECTOR || sectors() > UINT32_MAX)
        throw Failure(format("the disk image %s has %zu bytes: give some sectors of 512 bytes", options.image.c_str(),
                             content.size()));
    if (unit >= machine.disks())
        throw Failure(
            format("--disk: this machine has %u disk controllers: build it with disks=%u", machine.disks(), unit + 1));
    for (const DiskOptions::Bad &bad : options.bad)
        if (bad.sector >= sectors())
            throw Failure(format("--disk bad=%llu: the disk has %llu sectors", (unsigned long long)bad.sector,
                                 (unsigned long long)sectors()));
    changed.assign(sectors(), false);
    if (profile.rpm) {
        sector_cycles = std::max<uint64_t>(1, CLOCK_HZ * 60 / profile.rpm / profile.sectors_per_track);
        rotation = sector_cycles * profile.sectors_per_track;
    }
    machine.disk_size(unit, uint32_t(sectors()));
    look_again();
}

void Disk::look_again()
{
    const bool waits = held && !taken;
    wants.pins = present ? of_unit(DISK0_SAYS, unit) | (waits ? of_unit(DISK0_TAKES, unit) : 0) : 0;
    const uint64_t copy = copied < options.left.size() ? options.left[copied] : NEVER;
    wants.before = std::min({due, hand_due, dead ? NEVER : std::min(options.cut, copy)});
}

void Disk::after_edge(uint64_t cycle, unsigned pins)
{
    if (pins & of_unit(DISK0_SAYS, unit))
        told(cycle);
    if ((pins & of_unit(DISK0_TAKES, unit)) && held && !taken)
        hand_due = cycle + 1;
    look_again();
}

// The controller's outputs are valid for one cycle.
void Disk::told(uint64_t cycle)
{
    const DiskPins &pin = machine.disk(unit);
    if (*pin.data_out_valid && step == Step::GET) {
        data.push_back(*pin.data_out);
        if (data.size() == length * WORDS)
            due = std::max(cycle + 1, taken_at);
    }
    if (*pin.command_valid && !dead) {
        Request request{*pin.command_op,    *pin.command_tag,
                        *pin.command_lba,   *pin.command_count,
                        *pin.command_burst, cycle,
                        counts.commands++,  0};
        life = true;
        if (std::count(options.silent.begin(), options.silent.end(), request.number))
            counts.unanswered++;
        else
            waiting.push_back(request);
        if (step == Step::IDLE && !waiting.empty())
            due = cycle + 1;
    }
    if (*pin.reset)
        reset();
}

// Writes under way from the drive's buffer reach the medium, but not those that the buffer had not received whole.
void Disk::reset()
{
    counts.resets++;
    if (!on_its_way.empty() && on_its_way.back().begin == NEVER) {
        undo(on_its_way.back(), 0, content);
        on_its_way.pop_back();
    }
    waiting.clear();
    outbox.clear();
    data.clear();
    step = Step::IDLE;
    due = NEVER;
    held = taken = false;
    machine.disk_hand(unit, false, false, 0);
    hand_due = NEVER;
}

void Disk::before_edge(uint64_t cycle)
{
    while (!dead && copied < options.left.size() && cycle >= options.left[copied])
        copy_what_is_left(cycle, options.left[copied++]);
    if (!dead && cycle >= options.cut)
        power_cut(cycle);
    if (cycle >= hand_due)
        hand(cycle);
    while (cycle >= due)
        step_on(cycle);
    if (cycle >= hand_due)
        hand(cycle);
    look_again();
}

// `ready` of the controller's streams depends on registers alone: a stream that is ready now accepts at this edge.
void Disk::hand(uint64_t cycle)
{
    hand_due = NEVER;
    if (held && taken) {
        outbox.pop_front();
        held = taken = false;
    }
    if (!held) {
        if (outbox.empty() || outbox.front().at > cycle) {
            machine.disk_hand(unit, false, false, 0);
            if (!outbox.empty())
                hand_due = outbox.front().at;
            else if (step == Step::GIVE || step == Step::ENDED)
                due = cycle;
            return;
        }
        const Handed &first = outbox.front();
        machine.disk_hand(unit, first.answer, !first.answer, first.word);
        held = true;
    }
    const DiskPins &pin = machine.disk(unit);
    taken = outbox.front().answer ? *pin.answer_ready : *pin.data_in_ready;
    if (taken)
        hand_due = cycle + 1;
}

void Disk::say(uint64_t cycle, Kind kind, uint64_t sectors_or_words, Status how)
{
    outbox.push_back({cycle, kind | uint64_t(now.tag) << 8 | uint64_t(how) << 16 | sectors_or_words << 32, true});
    hand_due = std::min(hand_due, cycle);
}

void Disk::step_on(uint64_t cycle)
{
    due = NEVER;
    switch (step) {
    case Step::IDLE:
        if (choose(cycle)) {
            step = Step::BEGIN;
            due = std::max(cycle, now.came + microseconds(profile.overhead_us));
        }
        break;
    case Step::BEGIN: begin(cycle); break;
    case Step::GIVE: step = Step::PIECE; [[fallthrough]];
    case Step::PIECE: piece(cycle); break;
    case Step::GET:
        take_in();
        step = Step::PIECE;
        due = cycle;
        break;
    case Step::END:
        step = Step::ENDED;
        life = true;
        counts.errors += status != OK;
        say(cycle, DONE, moved, status);
        break;
    case Step::ENDED:
        step = Step::IDLE;
        due = cycle;
        break;
    }
}

void Disk::end_at(uint64_t cycle, Status how)
{
    step = Step::END;
    status = how;
    due = cycle;
}

// The request that is reached first, of as many as the drive considers, but none past a flush; and none is passed over
// for ever.
bool Disk::choose(uint64_t cycle)
{
    if (waiting.empty())
        return false;
    size_t best = 0, looked_at = std::min<size_t>(profile.queue, waiting.size());
    uint64_t soonest = NEVER;
    for (size_t i = 0; i < looked_at && waiting.front().passed < MOST_PASSED; i++) {
        if (waiting[i].op == FLUSH)
            break;
        uint64_t at = waiting[i].lba < sectors() ? access(std::max(cycle, free_at), waiting[i].lba) : cycle;
        if (at < soonest) {
            soonest = at;
            best = i;
        }
    }
    for (size_t i = 0; i < best; i++)
        waiting[i].passed++;
    now = waiting[best];
    waiting.erase(waiting.begin() + long(best));
    return true;
}

uint64_t Disk::seek(uint64_t lba) const
{
    if (!rotation)
        return 0;
    uint64_t to = cylinder(lba), distance = to > arm ? to - arm : arm - to;
    if (!distance)
        return 0;
    double part = std::sqrt(double(distance) / double(profile.cylinders));
    return microseconds(profile.seek_near_us +
                        uint64_t(double(profile.seek_far_us - profile.seek_near_us) * std::min(part, 1.0)));
}

// The cycle in which the sector reaches the head, if the arm begins to move in the cycle `from`.
uint64_t Disk::access(uint64_t from, uint64_t lba) const
{
    if (!rotation)
        return from;
    uint64_t at = from + seek(lba), place = lba % profile.sectors_per_track * sector_cycles;
    return at + (place + rotation - at % rotation) % rotation;
}

void Disk::begin(uint64_t cycle)
{
    settle(cycle);
    moved = 0;
    const uint64_t idle = std::max(cycle, free_at);
    const bool moves = now.op == READ || now.op == WRITE || now.op == DISCARD;
    if (now.op > SEEK)
        return end_at(cycle, OPERATION);
    if (now.op == FLUSH)
        return end_at(idle, OK);
    if (moves ? uint64_t(now.lba) + now.count > sectors() : now.lba >= sectors())
        return end_at(cycle, RANGE);
    if (now.op == SEEK) {
        uint64_t there = idle + seek(now.lba);
        arm = cylinder(now.lba);
        last_end = NEVER;
        return end_at(there + microseconds(profile.result_us), OK);
    }
    if (now.op == DISCARD) {
        for (uint64_t i = now.lba; i < uint64_t(now.lba) + now.count; i++) {
            std::memset(content.data() + i * SECTOR, 0, SECTOR);
            changed[i] = true;
        }
        moved = now.count;
        return end_at(idle, OK);
    }
    if (now.op == WRITE) {
        on_its_way.push_back({now.lba, NEVER, sector_cycles, {}});
    } else if (now.count) {
        const bool ahead = profile.read_ahead && last_end == now.lba && last_end_at >= free_at;
        const uint64_t buffered = MOST_AHEAD * sector_cycles;
        stream_at = ahead ? std::max(last_end_at, cycle > buffered ? cycle - buffered : 0) : access(idle, now.lba);
    }
    step = Step::PIECE;
    due = cycle;
}

bool Disk::unreadable(uint64_t sector)
{
    for (DiskOptions::Bad &bad : options.bad)
        if (bad.sector == sector && bad.times) {
            bad.times -= bad.times != UINT64_MAX;
            return true;
        }
    return false;
}

void Disk::piece(uint64_t cycle)
{
    if (moved == now.count)
        return now.op == WRITE ? all_taken(cycle) : end_at(cycle + microseconds(profile.result_us), OK);
    length = std::min<uint64_t>(now.burst ? now.burst : profile.burst, now.count - moved);
    if (now.op == WRITE) {
        say(cycle, TAKE, length * WORDS, OK);
        taken_at = cycle + bus_cycles(length * WORDS);
        data.clear();
        step = Step::GET;
        return;
    }
    const uint64_t there = stream_at + (moved + length) * sector_cycles;
    if (there > cycle) {
        due = there;
        return;
    }
    uint64_t good = 0;
    while (good < length && !unreadable(now.lba + moved + good))
        good++;
    if (good < length && (now.burst || !good)) { // a cluster comes as a whole or not at all
        last_end = NEVER;
        return end_at(cycle, MEDIUM);
    }
    life = true;
    say(cycle, SEND, good * WORDS, OK);
    for (uint64_t i = 0; i < good * WORDS; i++) {
        Handed word{cycle + bus_cycles(i + 1), 0, false};
        std::memcpy(&word.word, content.data() + (now.lba + moved) * SECTOR + i * 8, 8);
        outbox.push_back(word);
    }
    moved += good;
    counts.read += good;
    arm = cylinder(now.lba + moved - 1);
    last_end = now.lba + moved;
    last_end_at = stream_at + moved * sector_cycles;
    free_at = std::max(free_at, last_end_at);
    if (good < length)
        return end_at(cycle, MEDIUM);
    step = Step::GIVE;
}

void Disk::take_in()
{
    Written &written = on_its_way.back();
    const uint64_t first = now.lba + moved;
    uint8_t *to = content.data() + first * SECTOR;
    written.before.insert(written.before.end(), to, to + length * SECTOR);
    std::memcpy(to, data.data(), length * SECTOR);
    for (uint64_t i = first; i < first + length; i++) {
        changed[i] = true;
        for (DiskOptions::Bad &bad : options.bad)
            if (bad.sector == i && bad.times == UINT64_MAX)
                bad.times = 0; // the drive remaps it
    }
    moved += length;
    counts.written += length;
    life = true;
}

// The drive has received a whole write. It completes when it is on the medium, or when the cache has room for it.
void Disk::all_taken(uint64_t cycle)
{
    settle(cycle);
    Written &written = on_its_way.back();
    if (written.before.empty()) {
        on_its_way.pop_back();
        return end_at(cycle, OK);
    }
    written.begin = access(std::max(cycle, free_at), now.lba);
    free_at = written.end();
    arm = cylinder(now.lba + now.count - 1);
    last_end = NEVER;
    uint64_t end = free_at, bytes = 0;
    if (profile.cache_kb) {
        end = cycle;
        for (size_t i = on_its_way.size(); i-- > 0;) {
            bytes += on_its_way[i].before.size();
            if (bytes > profile.cache_kb * 1024) {
                end = on_its_way[i].end();
                break;
            }
        }
    }
    end_at(std::max(cycle, end) + microseconds(profile.result_us), OK);
}

// Drops the writes that are on the medium.
void Disk::settle(uint64_t cycle)
{
    while (!on_its_way.empty() && on_its_way.front().end() <= cycle)
        on_its_way.pop_front();
}

// Restores in `medium` the old content of a write's sectors, from one of them on; returns how many.
uint64_t Disk::undo(const Written &written, uint64_t from, std::vector<uint8_t> &medium)
{
    if (from >= written.sectors())
        return 0;
    std::memcpy(medium.data() + (written.lba + from) * SECTOR, written.before.data() + from * SECTOR,
                written.before.size() - from * SECTOR);
    return written.sectors() - from;
}

// Removes from `medium` the sectors of unfinished writes that the head has not passed; returns how many.
uint64_t Disk::lose(uint64_t cycle, std::vector<uint8_t> &medium)
{
    uint64_t lost = 0;
    for (size_t i = on_its_way.size(); i-- > 0;) {
        const Written &written = on_its_way[i];
        uint64_t kept = 0;
        if (written.begin <= cycle)
            kept = written.sector_cycles ? (cycle - written.begin) / written.sector_cycles : written.sectors();
        lost += undo(written, kept, medium);
    }
    return lost;
}

// Writes what a power cut in this cycle would leave to a separate file.
void Disk::copy_what_is_left(uint64_t cycle, uint64_t name_of)
{
    std::vector<uint8_t> medium = content;
    lose(cycle, medium);
    OutFile file;
    file.open(folder + "/" + name + "-" + std::to_string(name_of) + ".img");
    file.write(medium.data(), medium.size());
    file.close();
}

// The drive does not answer any more.
void Disk::power_cut(uint64_t cycle)
{
    counts.lost += lose(cycle, content);
    on_its_way.clear();
    reset();
    counts.resets--;
    dead = true;
}

template <class Archive> void Disk::state(Archive &archive)
{
    archive(waiting, now, step, due, status, moved, length, stream_at, taken_at, data, outbox, held, taken, hand_due,
            arm, free_at, last_end, last_end_at, on_its_way, dead, copied, counts, changed);
    for (DiskOptions::Bad &bad : options.bad)
        archive(bad.times);
}

void Disk::save(cereal::BinaryOutputArchive &archive) const
{
    const_cast<Disk *>(this)->state(archive);
    for (size_t i = 0; i < changed.size(); i++)
        if (changed[i])
            archive(cereal::binary_data(content.data() + i * SECTOR, SECTOR));
}

void Disk::load(cereal::BinaryInputArchive &archive)
{
    state(archive);
    for (size_t i = 0; i < changed.size(); i++)
        if (changed[i])
            archive(cereal::binary_data(content.data() + i * SECTOR, SECTOR));
    look_again();
}

void Disk::open(const std::string &where, bool)
{
    folder = where;
    if (options.keep == DiskOptions::Keep::COPY && folder.empty())
        throw Failure("--disk write=copy needs --out DIR");
    if (!options.left.empty() && folder.empty())
        throw Failure("--disk left=CYCLE needs --out DIR");
}

void Disk::finish()
{
    if (options.keep == DiskOptions::Keep::NO)
        return;
    OutFile file;
    file.open(options.keep == DiskOptions::Keep::COPY ? folder + "/" + name + ".img" : options.image);
    file.write(content.data(), content.size());
    file.close();
}

void Disk::digest(Mix &mix) const
{
    for (size_t i = 0; i < changed.size(); i++)
        if (changed[i]) {
            mix.add(i);
            mix.add(content.data() + i * SECTOR, SECTOR);
        }
}

void Disk::record(Json &json) const
{
    if (!present)
        return;
    json.object(name.c_str()).string("profile", options.profile_name).number("sectors", sectors());
    json.number("commands", counts.commands).number("sectors_read", counts.read);
    json.number("sectors_written", counts.written).number("errors", counts.errors);
    json.number("unanswered", counts.unanswered).number("resets", counts.resets).number("sectors_lost", counts.lost);
    json.end_object();
}
