#include "run/run.h"

#include <unistd.h>

#include <algorithm>
#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cstring>
#include <sstream>

#include "machine/facts.h"
#include "support/failure.h"
#include "support/json.h"

volatile int interrupted_by = 0;
std::atomic<bool> progress_open{false};

namespace {

// Between polls of the host; with several nodes also between the cycles at which a run may end.
constexpr uint64_t POLL_CYCLES = 16384;

uint64_t next_multiple(uint64_t cycle, uint64_t period)
{
    return (cycle / period + 1) * period;
}

std::vector<Lookahead::Link> links_of(const std::vector<Wire> &wires)
{
    std::vector<Lookahead::Link> links;
    for (const Wire &wire : wires)
        links.push_back({wire.from.node, wire.to.node});
    return links;
}

// By source: wires are numbered so, and messages of one cycle arrive in the order of their numbers.
std::vector<Wire> sorted(std::vector<Wire> wires)
{
    std::stable_sort(wires.begin(), wires.end(), [](const Wire &a, const Wire &b) {
        return std::tie(a.from.node, a.from.device, a.to.node, a.to.device) <
               std::tie(b.from.node, b.from.device, b.to.node, b.to.device);
    });
    return wires;
}

template <class Value> std::string packed(const Value &value)
{
    std::ostringstream bytes;
    cereal::BinaryOutputArchive archive(bytes);
    archive(value);
    return bytes.str();
}

template <class Value> Value unpacked(const std::string &text)
{
    std::istringstream bytes(text);
    Value value;
    cereal::BinaryInputArchive archive(bytes);
    archive(value);
    return value;
}

std::string name_of(const WireEnd &end)
{
    return std::to_string(end.node) + "." + end.device;
}

} // namespace

Run::Run(Plan given, const CheckpointFile *checkpoint, Ranks &all)
    : plan(std::move(given)), arguments(plan.common), ranks(all),
      lookahead(unsigned(plan.nodes.size()), links_of(plan.wires = sorted(plan.wires))),
      watchdog(unsigned(arguments.stall_seconds), unsigned(arguments.max_stall)), crew(plan.jobs), order(plan.shuffle)
{
    if (!arguments.checkpoint.empty())
        check_directory_of(arguments.checkpoint, "checkpoint");
    if (!arguments.out.empty())
        make_directory(arguments.out);
    const unsigned count = unsigned(plan.nodes.size());
    const bool clones = checkpoint && checkpoint->nodes() == 1;
    Checkpoint state;
    for (unsigned i = 0; i < count; i++) {
        Arguments &a = plan.nodes[i];
        if (!ranks.carries(i)) {
            nodes.push_back(nullptr);
            continue;
        }
        if (checkpoint) {
            if (own.empty() || !clones)
                state = checkpoint->node(clones ? 0 : i);
            Inputs inputs = merge_inputs(state, a);
            nodes.push_back(std::make_unique<Node>(a, std::move(inputs), &state, i, count, clones));
        } else {
            nodes.push_back(std::make_unique<Node>(a, read_inputs(a), nullptr, i, count, false));
        }
        own.push_back(nodes.back().get());
        for (const Device *device : own.back()->device_list())
            if (ranks.several() && device->poll_cycles())
                throw Failure("--ranks: a node with a terminal or a network of the host: leave the option out");
        watchdog.alive(i);
    }
    join();
}

void Run::join()
{
    auto device_of = [this](const WireEnd &end) -> Device * {
        if (!nodes[end.node])
            return nullptr;
        Device *device = nodes[end.node]->device(end.device);
        if (!device)
            throw Failure(format("--wire: '%s': a node has the ports uart0 and uart1%s", name_of(end).c_str(),
                                 end.device == "ether" ? ", and ether with --machine ethers=1" : ""));
        return device;
    };
    for (const Wire &wire : plan.wires) {
        Device *from = device_of(wire.from), *to = device_of(wire.to);
        const bool frames = wire.from.device == "ether";
        if (frames != (wire.to.device == "ether"))
            throw Failure(format("--wire: '%s' and '%s': a wire carries characters or frames, not both",
                                 name_of(wire.from).c_str(), name_of(wire.to).c_str()));
        for (const Joined &other : wires) {
            const bool ends = name_of(other.wire.to) == name_of(wire.to);
            if (!frames && (ends || name_of(other.wire.from) == name_of(wire.from)))
                throw Failure(format("--wire: two wires %s %s: a port has one", ends ? "end at" : "begin at",
                                     name_of(ends ? wire.to : wire.from).c_str()));
        }
        if (wire.to.device == "uart1" && !plan.nodes[wire.to.node].uart1_in.empty())
            throw Failure(format("--wire, --uart1-in: both send to %s: give one of them", name_of(wire.to).c_str()));
        if (from)
            nodes[wire.from.node]->begin_wire(*from, unsigned(wires.size()), wire.latency);
        if (to)
            to->wired();
        if (wires.empty() || name_of(wires.back().wire.from) != name_of(wire.from)) // they are sorted
            sources.push_back({wire.from.node, from, {}});
        wires.push_back({wire, from, to, sources.size() - 1});
    }
}

void Run::look()
{
    seen.resize(nodes.size());
    for (const Node *node : own)
        seen[node->number] = {node->time(), node->stirs_at(), node->ended,  node->exit_code,
                              node->end,    node->over(),     node->failed, node->hangs()};
    for (Source &source : sources)
        if (source.device)
            source.sends = source.device->sends();
    if (!ranks.several())
        return;
    std::string mine;
    auto add = [&mine](const auto &value) { mine.append(reinterpret_cast<const char *>(&value), sizeof value); };
    for (const Node *node : own)
        add(seen[node->number]);
    for (const Source &source : sources)
        if (source.device)
            add(source.sends);
    const std::vector<std::string> said = ranks.all(mine);
    std::vector<const char *> at;
    for (const std::string &text : said)
        at.push_back(text.data());
    auto take = [&](unsigned node, auto &value) {
        const char *&from = at[node % ranks.count];
        std::memcpy(&value, from, sizeof value);
        from += sizeof value;
    };
    for (unsigned node = 0; node < nodes.size(); node++)
        take(node, seen[node]);
    for (Source &source : sources)
        take(source.node, source.sends);
}

int Run::run()
{
    started = shown = Clock::now();
    progress_on_terminal = isatty(STDERR_FILENO);
    // Not mixed with the target's output.
    progress_shown = !arguments.quiet &&
                     !(progress_on_terminal && isatty(STDOUT_FILENO) && arguments.console == Arguments::Console::TTY);
    try {
        look();
        shown_cycle = time();
        for (Node *node : own)
            node->begin();
        loop();
    } catch (const Failure &failure) {
        broken = true;
        stop(End::FAILURE, failure.what());
    }
    finish();
    return status();
}

bool Run::going() const
{
    return std::any_of(seen.begin(), seen.end(), [](const Seen &node) { return !node.over; });
}

uint64_t Run::time() const
{
    uint64_t cycle = NEVER, last = 0;
    for (const Seen &node : seen) {
        last = std::max(last, node.time);
        if (!node.over)
            cycle = std::min(cycle, node.time);
    }
    return cycle == NEVER ? last : cycle;
}

uint64_t Run::cycles() const
{
    uint64_t longest = 0;
    for (const Seen &node : seen)
        longest = std::max(longest, node.ended);
    return longest;
}

void Run::loop()
{
    uint64_t cycle = time();
    if (cycle == arguments.max_cycles)
        return stop(End::MAX_CYCLES, "the limit of " + grouped(arguments.max_cycles) + " cycles was reached");
    while (going()) {
        // Not of a run that has ended and only waits for its last characters.
        bool goes_on = std::any_of(seen.begin(), seen.end(), [](const Seen &node) { return node.end == End::NONE; });
        bool checkpoint_due = !arguments.checkpoint.empty() && !checkpoint_written && goes_on;
        if (checkpoint_due && (own.front()->at_checkpoint() || cycle == arguments.checkpoint_at.cycle)) {
            save_checkpoint();
            continue;
        }
        uint64_t limit = next_multiple(cycle, POLL_CYCLES);
        for (const Node *node : own)
            for (const Device *device : node->device_list())
                if (uint64_t period = device->poll_cycles())
                    limit = std::min(limit, next_multiple(cycle, period));
        if (goes_on) { // else lines are drained, whatever the limit
            limit = std::min(limit, arguments.max_cycles);
            if (checkpoint_due && cycle < arguments.checkpoint_at.cycle)
                limit = std::min(limit, arguments.checkpoint_at.cycle);
        }
        advance(limit);
        cycle = going() ? time() : limit;
        if (cycle == arguments.max_cycles)
            stop(End::MAX_CYCLES, "the limit of " + grouped(arguments.max_cycles) + " cycles was reached");
        if (cycle % POLL_CYCLES == 0 || cycle == arguments.max_cycles) {
            look_at_ends();
            watchdog.alive(cycle);
            poll_host();
        }
        poll_devices();
    }
}

// All nodes advance to `limit`, or to their end. Each advances until an undelivered message could reach it.
void Run::advance(uint64_t limit)
{
    if (wires.empty()) {
        crew.share(own.size(), [&](size_t i) {
            own[i]->advance(limit);
            watchdog.alive(limit);
        });
        return look();
    }
    promised.resize(wires.size());
    auto arrives = [&](unsigned wire, uint64_t first) {
        const Joined &joined = wires[wire];
        if (seen[joined.wire.from.node].over)
            return NEVER; // what arrives there wakes nothing
        uint64_t sent = sources[joined.source].sends.at(first), latency = joined.wire.latency;
        return promised[wire] = sent < NEVER - latency ? sent + latency : NEVER;
    };
    for (;;) {
        look();
        std::fill(promised.begin(), promised.end(), NEVER);
        std::vector<uint64_t> stirs;
        for (const Seen &node : seen)
            stirs.push_back(node.stirs);
        const std::vector<uint64_t> limits = lookahead.limits(stirs, arrives);
        std::vector<size_t> served = to_serve(limits, stirs, limit);
        if (served.empty()) {
            if (!std::all_of(stirs.begin(), stirs.end(), [limit](uint64_t cycle) { return cycle >= limit; }))
                throw Failure("the simulator is at fault: each node waits for another one");
            break;
        }
        served.erase(std::remove_if(served.begin(), served.end(), [this](size_t node) { return !nodes[node]; }),
                     served.end());
        crew.share(served.size(), [&](size_t i) {
            nodes[served[i]]->advance(std::min(limits[served[i]], limit));
            watchdog.alive(limit);
        });
        exchange_messages();
    }
    for (Node *node : own)
        if (!node->over())
            node->advance(limit); // it waits: this only updates its time
    look();
}

// What the nodes have sent goes to those that receive it. Arrivals are sorted there, so the order here does not matter.
void Run::exchange_messages()
{
    std::vector<Message> mine;
    for (Node *node : own) {
        for (const Message &message : node->sent) {
            if (message.at < promised[message.wire])
                node->stop(End::FAILURE,
                           format("the simulator is at fault: what was promised over wire %u from cycle %s "
                                  "on comes at cycle %s",
                                  message.wire, grouped(promised[message.wire]).c_str(), grouped(message.at).c_str()));
            deliver(message);
        }
        if (ranks.several())
            std::move(node->sent.begin(), node->sent.end(), std::back_inserter(mine));
        node->sent.clear();
    }
    if (!ranks.several())
        return;
    const std::vector<std::string> said = ranks.all(packed(mine));
    for (unsigned rank = 0; rank < ranks.count; rank++)
        if (rank != ranks.self)
            for (const Message &message : unpacked<std::vector<Message>>(said[rank]))
                deliver(message);
}

void Run::deliver(const Message &message)
{
    Joined &wire = wires[message.wire];
    wire.wire.messages++;
    if (wire.to)
        nodes[wire.wire.to.node]->deliver(message, *wire.to);
}

// The nodes with something to do before they reach their bound. A shuffled run leaves some of them for later.
std::vector<size_t> Run::to_serve(const std::vector<uint64_t> &limits, const std::vector<uint64_t> &stirs,
                                  uint64_t limit)
{
    std::vector<size_t> served;
    for (size_t i = 0; i < nodes.size(); i++)
        if (!seen[i].over && stirs[i] < std::min(limits[i], limit))
            served.push_back(i);
    auto random = [this](size_t below) { // xorshift64
        order ^= order << 13;
        order ^= order >> 7;
        order ^= order << 17;
        return order % below;
    };
    if (plan.shuffle && !served.empty()) {
        for (size_t i = served.size(); i > 1; i--)
            std::swap(served[i - 1], served[random(i)]);
        served.resize(1 + random(served.size()));
    }
    return served;
}

// Of several nodes, some may be ahead of others when one fails: all end at the same cycle, the next one at which this
// is checked.
void Run::look_at_ends()
{
    if (alone())
        return;
    auto ends = std::find_if(seen.begin(), seen.end(), [](const Seen &node) { return node.failed || node.exit_code; });
    if (ends != seen.end()) {
        const size_t number = size_t(ends - seen.begin());
        std::string reason = nodes[number] ? nodes[number]->reason : "";
        if (ranks.several())
            reason = ranks.all(reason)[number % ranks.count];
        return stop(End::STOPPED, "node " + std::to_string(number) + " ended before: " + reason);
    }
    bool all_hang = true;
    for (const Seen &node : seen)
        all_hang &= node.end != End::NONE || node.hangs;
    if (all_hang)
        stop(End::HANG, "no sign of life for " + grouped(arguments.hang_cycles) + " cycles");
}

void Run::stop(End how, const std::string &reason)
{
    for (Node *node : own)
        if (node->end == End::NONE || (how == End::FAILURE && node == own.front()))
            node->stop(how, reason);
    if (!broken)
        look();
}

void Run::save_checkpoint()
{
    Doing doing("writing a checkpoint");
    std::vector<Wire> joined;
    for (const Joined &wire : wires)
        joined.push_back(wire.wire);
    CheckpointWriter writer(arguments.checkpoint, time(), unsigned(nodes.size()), nodes[0]->image_sha256(), joined);
    for (Node *node : own) {
        writer.add(node->save());
        watchdog.alive(time());
    }
    writer.finish();
    checkpoint_written = true;
    if (!arguments.quiet)
        std::fprintf(stderr, "checkpoint at cycle %llu: %s\n", (unsigned long long)time(),
                     arguments.checkpoint.c_str());
    if (arguments.checkpoint_stop)
        stop(End::CHECKPOINT, "");
}

void Run::poll_devices()
{
    for (Node *node : own)
        for (Device *device : node->device_list())
            if (uint64_t period = device->poll_cycles(); period && node->time() % period == 0)
                device->poll(node->time());
}

// Everything but the target's own time: signals, the wall clock.
void Run::poll_host()
{
    Clock::time_point now = Clock::now();
    bool late =
        arguments.max_seconds > 0 && std::chrono::duration<double>(now - started).count() >= arguments.max_seconds;
    if (ranks.several())
        for (const std::string &said : ranks.all({char(interrupted_by), char(late)})) {
            if (!interrupted_by)
                interrupted_by = said[0];
            late |= said[1];
        }
    if (interrupted_by)
        stop(End::INTERRUPTED, "interrupted");
    if (late)
        stop(End::MAX_SECONDS, format("the limit of %g s was reached", arguments.max_seconds));
    if (arguments.progress > 0 && std::chrono::duration<double>(now - shown).count() >= arguments.progress)
        show_progress(now);
}

void Run::show_progress(Clock::time_point now)
{
    for (Node *node : own)
        node->flush();
    uint64_t cycle = time();
    double speed = double(cycle - shown_cycle) / std::chrono::duration<double>(now - shown).count();
    shown = now;
    shown_cycle = cycle;
    if (!progress_shown || ranks.self)
        return;
    std::string line = format("%.3f ms simulated, cycles %s, %.2f Mcycles/s", 1e3 * double(cycle) / CLOCK_HZ,
                              grouped(cycle).c_str(), speed / 1e6);
    if (!alone())
        line += format(" of each node, %zu of %zu go on",
                       size_t(std::count_if(seen.begin(), seen.end(), [](const Seen &n) { return !n.over; })),
                       nodes.size());
    if (arguments.max_cycles != UINT64_MAX)
        line +=
            format(", %.0f%% of the limit, at most %.0f s left", 100.0 * double(cycle) / double(arguments.max_cycles),
                   double(arguments.max_cycles - cycle) / speed);
    std::fprintf(stderr, progress_on_terminal ? "\r\033[K%s" : "%s\n", line.c_str());
    progress_open = progress_on_terminal;
}

// Writes all outputs. Each may fail by itself, and the others are still written.
void Run::finish()
{
    for (Node *node : own) {
        node->advance(NEVER); // drains its lines
        node->finish();
    }
    if (progress_open.exchange(false))
        std::fputc('\n', stderr);
    const bool interrupted = own.front()->end == End::INTERRUPTED;
    if (!arguments.checkpoint.empty() && !checkpoint_written && !own.front()->failed && !interrupted)
        stop(End::FAILURE, "the run ended before " + arguments.checkpoint_at.text + ": there is no checkpoint");
    for (Node *node : own) {
        bool wrong = node->end == End::MAX_CYCLES || node->end == End::MAX_SECONDS || node->end == End::HANG ||
                     (node->end == End::TARGET && node->exit_code);
        if (wrong && !node->failed)
            std::fprintf(stderr, "%s%s: %s\n", node->says().c_str(), node->end == End::HANG ? "hang" : "ended",
                         node->reason.c_str());
        if (wrong)
            node->show_harts();
        if (!arguments.quiet)
            node->show_console();
    }
    gather();
    if (ranks.self)
        return;
    if (!arguments.out.empty()) {
        try {
            write_record();
        } catch (const Failure &failure) {
            broken = true;
            if (!own.front()->failed)
                stop(End::FAILURE, failure.what());
            gather_own();
        }
    }
    if (arguments.quiet)
        return;
    uint64_t simulated = 0;
    for (const Final &node : finals)
        simulated += node.simulated;
    std::fprintf(stderr, "ended after cycles %s, %.3f ms simulated in %.1f s, %.2f Mcycles/s%s, digest %016llx\n",
                 grouped(cycles()).c_str(), 1e3 * double(cycles()) / CLOCK_HZ, host_seconds(),
                 double(simulated) / host_seconds() / 1e6, alone() ? "" : " of all nodes",
                 (unsigned long long)digest());
}

void Run::gather_own()
{
    finals.resize(nodes.size());
    for (Node *node : own) {
        Final &final = finals[node->number];
        final = {node->digest(), node->ended - node->began, node->skipped(), node->status(), ""};
        seen[node->number] = {node->time(), NEVER, node->ended, node->exit_code, node->end, true, node->failed, false};
    }
}

void Run::gather()
{
    gather_own();
    if (!ranks.several() || broken)
        return;
    try {
        std::vector<Final> mine;
        for (Node *node : own) {
            Json json;
            json.object().array("nodes").object();
            const size_t begin = json.text.size();
            node->write_record(json, false);
            finals[node->number].record = json.text.substr(begin);
            mine.push_back(finals[node->number]);
        }
        const std::vector<std::string> said = ranks.all(packed(mine));
        for (unsigned rank = 0; rank < ranks.count; rank++) {
            unsigned node = rank;
            for (Final &final : unpacked<std::vector<Final>>(said[rank])) {
                finals[node] = std::move(final);
                node += ranks.count;
            }
        }
        look();
        ranks.together = true;
    } catch (const Failure &failure) {
        broken = true;
        stop(End::FAILURE, failure.what());
        gather_own();
    }
}

// Of several nodes the worst: a failure, then an interruption, a hang, a limit, an exit code.
int Run::status() const
{
    auto rank = [this](size_t number) {
        const Seen &node = seen[number];
        if (node.failed || !finals[number].status)
            return node.failed ? 0 : 5;
        switch (node.end) {
        case End::INTERRUPTED: return 1;
        case End::HANG: return 2;
        case End::MAX_CYCLES:
        case End::MAX_SECONDS: return 3;
        case End::TARGET: return 4;
        default: return 0;
        }
    };
    size_t worst = 0;
    for (size_t number = 1; number < seen.size(); number++)
        if (rank(number) < rank(worst))
            worst = number;
    return finals[worst].status;
}

uint64_t Run::digest() const
{
    if (alone())
        return finals[0].digest;
    Mix mix;
    for (const Final &node : finals)
        mix.add(node.digest);
    return mix.value;
}
