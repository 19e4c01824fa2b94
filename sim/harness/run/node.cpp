#include "run/node.h"

#include <algorithm>
#include <map>

#include "inspect/hang_report.h"
#include "machine/facts.h"
#include "machine/machine.h"
#include "observers/flame.h"
#include "observers/latency_log.h"
#include "observers/probe_log.h"
#include "observers/timeline.h"
#include "support/failure.h"
#include "support/files.h"

namespace {

constexpr unsigned TRACE_THREAD_SWITCH = 1; // events that the harness interprets
constexpr unsigned TRACE_SERIAL_GO = 1023;
constexpr unsigned TRACE_ETHER_GO = 1022;
constexpr unsigned TRACE_ETHER_FRAMES = 1020; // argument: how many
constexpr unsigned TRACE_ETHER_FLOOD = 1021; // argument: cycles between frames, and bytes above them

std::vector<const uint32_t *> register_files(const HartPins &pins)
{
    std::vector<const uint32_t *> files;
    for (const HartPins::value_type &hart : pins)
        files.push_back(hart.registers);
    return files;
}

std::string hexadecimal(const std::string &bytes)
{
    std::string text;
    for (char byte : bytes)
        text += format("%02x", uint8_t(byte));
    return text;
}

} // namespace

Node::Node(const Arguments &a, Inputs given, const Checkpoint *checkpoint, unsigned number, unsigned count, bool clone)
    : arguments(a), number(number), count(count), machine(std::make_unique<Machine>(!a.skip        ? Skip::Mode::OFF
                                                                                    : a.check_skip ? Skip::Mode::CHECK
                                                                                                   : Skip::Mode::ON)),
      model(machine->model), skip(machine->skip), inputs(std::move(given)),
      image(load_image(inputs.image_name, inputs.image, a.bootargs, model.ram(), model.ram_bytes())),
      watch(register_files(machine->pins), image, model.ram(), model.ram_bytes()),
      inspector(image, TargetMemory(model.ram(), model.ram_bytes())), hang(watch, a.hang_cycles),
      wave_window(a.wave_begin, a.wave_end, a.wave_cycles), flame_window(a.flame_begin, a.flame_end),
      console_line(
          a, [this](bool level) { model.set_line(0, level); }, {CLOCK_HZ, a.uart0_baud}, watch.active,
          [this] { stop(End::HEARD, ""); }),
      data_line(
          a.uart1_pty, a.uart1_out, [this](bool level) { model.set_line(1, level); }, {CLOCK_HZ, a.uart1_baud},
          watch.active, inputs.feed, a.uart1_start),
      trace_port(
          model, [this](const TracePort::Record &record, uint64_t now) { trace(record, now); }, watch.active),
      host_port(
          model,
          [this](uint32_t code) {
              exit_code = code;
              stop(End::TARGET, code ? "the target ended with code " + std::to_string(code) : "");
          },
          watch.active),
      devices{&console_line, &data_line, &data_line.player, &trace_port, &host_port}
{
    if (a.uart0_flow)
        console_line.obey([this] { return model.console_ready(); });
    if (a.uart1_flow)
        data_line.obey([this] { return model.data_line_ready(); });
    for (size_t i = 0; i < inputs.disk_images.size(); i++) {
        disks.push_back(
            std::make_unique<Disk>(model, unsigned(i), inputs.disks[i], inputs.disk_images[i], watch.active));
        devices.push_back(disks.back().get());
    }
#if HAS_ETHER
    ether_port = std::make_unique<EtherPort>(model, a, inputs.frames, watch.active);
    devices.push_back(ether_port.get());
#else
    for (const char *option : {"--ether-in", "--ether-out", "--ether"})
        if (a.given.count(option))
            throw Failure(format("%s: this machine has no Ethernet: build it with --machine ethers=1", option));
#endif
    if (a.empty_ram)
        model.clear_ram();
    if (!inputs.feed.empty())
        feed_sha256 = sha256(inputs.feed.data(), inputs.feed.size());
    if (a.evaluate_twice)
        model.evaluate_twice();
    for (const Poke &poke : a.pokes)
        model.pokable(poke);
    check_moments();
    if (checkpoint)
        restore(*checkpoint);
    bool told = count > 1 && model.identify(number, count);
    if (count > 1 && clone && !told)
        throw Failure("--nodes, --restore: this machine has no register that tells it which node it is: boot each");
    schedule();
    open_outputs();
    if (checkpoint)
        for (Device *device : devices)
            device->write_again();
    attach_observers();
    look_at_devices();
    if (!console_line.pty_name().empty())
        std::fprintf(stderr, "console on %s\n", console_line.pty_name().c_str());
    if (a.uart1_pty)
        std::fprintf(stderr, "data line on %s\n", data_line.pty_name().c_str());
}

Node::~Node() = default;

uint64_t Node::skipped() const
{
    return skip.skipped;
}

size_t Node::ram_bytes() const
{
    return model.ram_bytes();
}

void Node::poke(const Poke &poke)
{
    model.poke(poke);
}

std::string Node::model_state()
{
    return model.save();
}

void Node::restore_model(const std::string &state)
{
    model.restore(state);
}

void Node::check_moments()
{
    const Arguments &a = arguments;
    if (a.checkpoint_at.kind == Moment::Kind::PC)
        watch.at(image.address_of("--checkpoint-at", a.checkpoint_at.place), [this] { at_moment(cycle); });
    if (!a.wave.empty())
        model.waves_to(a.wave);
    for (const auto &[option, moment] : {std::pair("--wave-begin", &wave_window.begin_at),
                                         {"--wave-end", &wave_window.end_at},
                                         {"--flame-begin", &flame_window.begin_at},
                                         {"--flame-end", &flame_window.end_at}})
        if (moment->kind == Moment::Kind::PC)
            watch.at(image.address_of(option, moment->place),
                     [this, moment = moment] { window_moment(*moment, cycle); });
}

void Node::open_outputs()
{
    if (!arguments.out.empty())
        make_directory(arguments.out);
    for (Device *device : devices)
        device->open(arguments.out, !arguments.checkpoint.empty());
}

// An observer that writes a file, if one is asked for.
template <class Kind, class... Rest> Kind *Node::observe(const std::string &path, Rest &&...rest)
{
    if (path.empty())
        return nullptr;
    auto observer = std::make_unique<Kind>(watch, std::forward<Rest>(rest)...);
    Kind *kept = observer.get();
    observers.push_back(std::move(observer));
    return kept;
}

void Node::attach_observers()
{
    const Arguments &a = arguments;
    auto attach = [this](Observer *observer) {
        if (observer)
            watch.attach(*observer);
    };
    attach(observe<ProbeLog>(a.probe_log, a.probe_log));
    attach(observe<LatencyLog>(a.latencies, a.latencies));
    // Samples are made after the timeline: they finish first, and write their last counters into it.
    Timeline *timeline = observe<Timeline>(a.timeline, inspector, a.timeline, CLOCK_HZ);
    attach(samples = observe<Samples>(a.samples, a.samples, a.sample_cycles, timeline));
    attach(timeline);
    std::map<std::string, Program> programs;
    for (const auto &[name, path] : a.symbols)
        programs.emplace(name, load_program(path, read_file(path, "the program")));
    if (Flame *flame = observe<Flame>(a.flame, inspector, programs, flame_window, a.flame))
        watch.follow(*flame);
    if (!a.arrivals.empty()) {
        arrivals_log.open(a.arrivals);
        arrivals_log.write("cycle,wire,bytes\n");
    }
}

// The command line's actions at certain cycles, now that the first one is known.
void Node::schedule()
{
    began = cycle;
    auto check = [this](const char *option, uint64_t at) {
        if (at < cycle)
            throw Failure(format("%s: cycle %llu is past, the checkpoint is of cycle %llu", option,
                                 (unsigned long long)at, (unsigned long long)cycle));
    };
    if (arguments.checkpoint_at.kind == Moment::Kind::CYCLE)
        check("--checkpoint-at", arguments.checkpoint_at.cycle);
    check("--max-cycles", arguments.max_cycles);
    for (Poke poke : arguments.pokes) {
        poke.cycle = poke.cycle == Poke::AT_START ? cycle : poke.cycle;
        check("--poke", poke.cycle);
        pokes.push_back(poke);
    }
    std::stable_sort(pokes.begin(), pokes.end(), [](const Poke &a, const Poke &b) { return a.cycle < b.cycle; });
}

void Node::begin()
{
    watch.begin(cycle);
    if (!arguments.wave.empty())
        wave_window.start(cycle);
    flame_window.start(cycle);
}

void Node::advance(uint64_t limit)
{
    try {
        if (end == End::NONE)
            go_on(limit);
        if (draining)
            drain(limit);
        if (cycle > limit)
            throw Failure(format("the simulator is at fault: %s cycles simulated, the limit was %s",
                                 grouped(cycle).c_str(), grouped(limit).c_str()));
    } catch (const Failure &failure) {
        stop(End::FAILURE, failure.what());
    }
}

void Node::go_on(uint64_t limit)
{
    bool waves = !arguments.wave.empty();
    look_at_devices(); // input may have been typed, a message may have been delivered
    while (end == End::NONE && time() < limit && !moment_reached) {
        apply_pokes();
        if (waves && wave_window.next_change(cycle) <= time())
            catch_up(); // it slept until then
        until = std::min(limit, hang.due());
        if (waves) {
            until = std::min(until, wave_window.next_change(cycle));
            if (wave_window.holds(cycle) != model.dumps_waves())
                model.waves(!model.dumps_waves(), cycle);
        }
        if (poked < pokes.size())
            until = std::min(until, pokes[poked].cycle);
        if (samples)
            until = std::min(until, samples->due());
        if (skip.asleep()) {
            uint64_t next = std::min(next_from_outside(), skip.sleeps_until());
            if (next < until)
                wake(next);
            else
                slept_to = until;
        }
        // A user types in real time: the target's time must not run ahead of it.
        bool skipping = arguments.check_skip ||
                        std::none_of(devices.begin(), devices.end(), [](const Device *d) { return d->listens(); });
        while (cycle < until && end == End::NONE && !skip.asleep()) {
            step();
            if (still >= Skip::PATIENCE && skipping)
                skip.look(cycle, until, next_from_outside(), [this] { return step(); });
        }
        if (end != End::NONE)
            break;
        if (time() >= hang.due() && hang.check(time()) && count == 1)
            stop(End::HANG, "no sign of life for " + grouped(arguments.hang_cycles) + " cycles");
        if (samples && time() >= samples->due())
            samples->sample(time());
    }
}

void Node::wake(uint64_t at)
{
    skip.wake(cycle, at, [this] { return draining ? drain_step() : step(); }, [this] { return outside(); });
}

void Node::catch_up()
{
    uint64_t to = time();
    if (skip.asleep())
        wake(to);
    while (cycle < to)
        draining ? drain_step() : step();
}

// Simulates a cycle. False: a hart, the trace port or the host port did something in it.
bool Node::step()
{
    uint64_t now = cycle;
    if (now >= wants.before)
        before_edge(now);
    model.cycle();
    const Vinterlock &top = model.pins();
    const bool strobes = model.strobes();
    unsigned stirred = strobes;
    const HartPins &pins = machine->pins;
    for (unsigned i = 0; i < HARTS; i++) {
        const HartPins::value_type &hart = pins[i];
        stirred |= hart.valid | hart.trap;
        watch.state(i, uint8_t(hart.wfi << 2 | hart.privilege), now);
        if (hart.valid)
            watch.retired(i, hart.pc, now);
        if (hart.trap)
            watch.trapped(i, hart.cause, hart.trap_pc, now);
    }
    if (top.pic_irq != wires) {
        watch.interrupt_wires(wires, top.pic_irq, now);
        wires = top.pic_irq;
    }
    if (top.pic_sources != source_wires) {
        watch.sources(source_wires, top.pic_sources, now);
        source_wires = top.pic_sources;
    }
    if (strobes || !model.lines_high() || now >= wants.after || model.disks_stir())
        after_edge(now);
    cycle++;
    if (stirred) {
        if (still >= Skip::PATIENCE)
            skip.stir();
        still = 0;
    } else {
        still++;
    }
    return !stirred;
}

void Node::before_edge(uint64_t now)
{
    size_t arrived = 0;
    for (; arrived < arrivals.size() && arrivals[arrived].message.at <= now; arrived++) {
        const Arrival &arrival = arrivals[arrived];
        if (arrival.message.at < now)
            late(arrival.message, now);
        arrival.to->arrive(arrival.message.content, now);
        if (arrivals_log.wanted())
            arrivals_log.write(format("%llu,%u,%s\n", (unsigned long long)now, arrival.message.wire,
                                      hexadecimal(arrival.message.content).c_str()));
    }
    arrivals.erase(arrivals.begin(), arrivals.begin() + long(arrived));
    for (Device *device : devices)
        if (now >= device->wants.before)
            device->before_edge(now);
    look_at_devices();
}

void Node::after_edge(uint64_t now)
{
    const unsigned away = model.pins_away_from_rest();
    if (!(away & wants.pins) && now < wants.after)
        return; // only a bit that is sampled later
    for (Device *device : devices)
        if ((away & device->wants.pins) || now >= device->wants.after)
            device->after_edge(now, away);
    look_at_devices();
}

void Node::look_at_devices()
{
    wants = {next_arrival(), NEVER, 0};
    for (const Device *device : devices) {
        wants.before = std::min(wants.before, device->wants.before);
        wants.after = std::min(wants.after, device->wants.after);
        wants.pins |= device->wants.pins;
    }
}

uint64_t Node::next_of_devices() const
{
    uint64_t next = NEVER;
    for (const Device *device : devices)
        next = std::min(next, device->next());
    return next;
}

void Node::trace(const TracePort::Record &record, uint64_t now)
{
    if (record.event == TRACE_THREAD_SWITCH && record.hart < HARTS)
        watch.announce_switch(record.hart, record.argument, now);
    else if (record.event == TRACE_SERIAL_GO && data_line.player.waits_for_program())
        data_line.player.go(now + 1);
    else if (ether_port && record.event == TRACE_ETHER_GO)
        ether_port->go(now + 1);
    else if (ether_port && record.event == TRACE_ETHER_FRAMES)
        ether_port->flood_frames(record.argument);
    else if (ether_port && record.event == TRACE_ETHER_FLOOD)
        ether_port->flood(now + 1, record.argument & 0xfffff, record.argument >> 20);
    if (arguments.checkpoint_at.is_event(record.event, record.argument))
        at_moment(now);
    for (const Window *window : {&wave_window, &flame_window})
        for (const Moment *moment : {&window->begin_at, &window->end_at})
            if (moment->is_event(record.event, record.argument))
                window_moment(*moment, now);
}

// One of `wave_window` or `flame_window` is reached.
void Node::window_moment(const Moment &moment, uint64_t now)
{
    bool waves = &moment == &wave_window.begin_at || &moment == &wave_window.end_at;
    Window &window = waves ? wave_window : flame_window;
    if (!window.reached(moment, now))
        return;
    if (waves)
        until = now + 1;
    if (!arguments.quiet)
        std::fprintf(stderr, "%s%s at cycle %llu: %s\n", says().c_str(),
                     &moment == &wave_window.begin_at    ? "waves begin"
                     : &moment == &wave_window.end_at    ? "waves end"
                     : &moment == &flame_window.begin_at ? "flame graph begins"
                                                         : "flame graph ends",
                     (unsigned long long)(now + 1), moment.text.c_str());
}

Device *Node::device(const std::string &name)
{
    if (ether_port && name == ether_port->name)
        return ether_port.get();
    return name == console_line.name ? static_cast<Device *>(&console_line)
           : name == data_line.name  ? &data_line
                                     : nullptr;
}

void Node::begin_wire(Device &from, unsigned wire, uint64_t latency)
{
    from.wire([this, wire, latency](uint64_t now, std::string content) {
        sent.push_back({now + latency, wire, std::move(content)});
    });
}

void Node::late(const Message &message, uint64_t now) const
{
    throw Failure(format("the simulator is at fault: what is due over wire %u at cycle %s comes at cycle %s",
                         message.wire, grouped(message.at).c_str(), grouped(now).c_str()));
}

void Node::deliver(const Message &message, Device &to)
{
    if (end != End::NONE)
        return; // this node has ended
    if (message.at < time())
        late(message, time());
    auto later = [](const Message &m, const Arrival &a) { return m < a.message; };
    arrivals.insert(std::upper_bound(arrivals.begin(), arrivals.end(), message, later), {message, &to});
}

uint64_t Node::stirs_at() const
{
    if (over())
        return NEVER;
    if (!skip.asleep())
        return time();
    uint64_t next = std::min(skip.sleeps_until(), draining ? next_while_draining() : next_from_outside());
    if (poked < pokes.size() && !draining)
        next = std::min(next, pokes[poked].cycle);
    return std::max(next, time());
}

// The target has ended, but its last characters are still in the serial ports: both lines are drained. Input is ignored
// from now on.
void Node::drain(uint64_t limit)
{
    auto step = [this] { return drain_step(); };
    if (!drain_limit) {
        constexpr uint64_t QUIET_BITS = 12, MOST_BITS = 10 * 300;
        drain_limit = cycle;
        for (const Device *device : devices) {
            drain_quiet = std::max(drain_quiet, device->bits(QUIET_BITS));
            drain_limit = std::max(drain_limit, cycle + device->bits(MOST_BITS));
        }
        drain_last = cycle;
        skip.stir();
    }
    while (draining && time() < limit) {
        if (skip.asleep()) {
            uint64_t next = std::min(skip.sleeps_until(), next_while_draining());
            if (next >= limit && drain_end() > limit) {
                slept_to = limit;
                return;
            }
            wake(std::min(next, limit));
        }
        while (cycle < std::min(limit, drain_end()) && !skip.asleep()) {
            step();
            skip.look(cycle, std::min(limit, drain_end()), next_while_draining(), step);
        }
        draining = time() < drain_end();
    }
}

// A cycle of that.
bool Node::drain_step()
{
    bool idle = true;
    model.cycle();
    for (Device *device : devices) {
        if (!device->drains())
            continue;
        if ((model.pins_away_from_rest() & device->wants.pins) || cycle >= device->wants.after)
            device->after_edge(cycle, model.pins_away_from_rest());
        idle &= device->idle();
    }
    if (!idle)
        drain_last = cycle;
    cycle++;
    return true;
}

uint64_t Node::next_while_draining() const
{
    uint64_t next = drain_end();
    for (const Device *device : devices)
        if (device->drains())
            next = std::min(next, device->next());
    return next;
}

void Node::stop(End how, const std::string &why)
{
    if (end == End::NONE) {
        end = how;
        ended = how == End::TARGET ? cycle + 1 : time(); // includes the cycle that showed the exit code
        draining = how == End::TARGET;
        reason = why;
        arrivals.clear(); // as what is delivered from now on
    }
    if (how == End::FAILURE) {
        failed = true;
        draining = false;
        reason = why;
        std::fprintf(stderr, "%serror: %s%s\n", progress_open.exchange(false) ? "\n" : "", says().c_str(), why.c_str());
    }
}

void Node::flush()
{
    for (Device *device : devices)
        device->flush();
}

void Node::finish()
{
    auto attempt = [this](auto &&action) {
        try {
            action();
        } catch (const Failure &failure) {
            if (!failed)
                stop(End::FAILURE, failure.what());
        }
    };
    attempt([this] { catch_up(); });
    attempt([this] { watch.finish(ended); });
    for (auto observer = observers.rbegin(); observer != observers.rend(); observer++) // the last made first
        attempt([this, &observer] { (*observer)->finish(ended); });
    for (Device *device : devices)
        attempt([device] { device->finish(); });
    attempt([this] { arrivals_log.close(); });
}

void Node::show_harts() const
{
    for (const std::string &line : report_harts(watch, inspector, register_files(machine->pins)))
        std::fprintf(stderr, "%s%s\n", says().c_str(), line.c_str());
}

void Node::show_console() const
{
    if (const std::string *text = console_line.missing())
        std::fprintf(stderr, "%sthe console has not printed '%s'\n", says().c_str(), text->c_str());
    if (uint64_t errors = console_line.framing_errors())
        std::fprintf(stderr, "%sconsole: %llu characters had no stop bit: the target does not send 8N1 at %llu bit/s\n",
                     says().c_str(), (unsigned long long)errors, (unsigned long long)console_line.baud());
}

int Node::status() const
{
    if (failed)
        return 2;
    switch (end) {
    case End::TARGET:
        if (!exit_code)
            return console_line.missing() ? 1 : 0;
        return arguments.target_status ? int(exit_code & 0xff) : 1;
    case End::CHECKPOINT:
    case End::HEARD:
    case End::STOPPED: return 0;
    case End::MAX_CYCLES:
    case End::MAX_SECONDS: return 3;
    case End::HANG: return 4;
    case End::INTERRUPTED: return 128 + interrupted_by;
    default: return 2;
    }
}

uint64_t Node::digest()
{
    if (digested)
        return *digested;
    Mix mix;
    mix.add(ended);
    mix.add(exit_code);
    for (const Hart &hart : watch.harts) {
        mix.add(hart.retired);
        mix.add(hart.stream);
    }
    for (const Device *device : devices)
        device->digest(mix);
    mix.add(model.ram(), model.ram_bytes());
    digested = mix.value;
    return mix.value;
}
