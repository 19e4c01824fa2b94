#include "run/simulation.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "inspect/hang_report.h"
#include "observers/flame.h"
#include "observers/latency_log.h"
#include "observers/probe_log.h"
#include "observers/timeline.h"
#include "support/failure.h"

volatile int interrupted_by = 0;

namespace {

constexpr uint64_t POLL_CYCLES = 16384;   // between looks at the world outside
constexpr uint64_t PTY_POLL_CYCLES = 1024; // and at who is attached to a line: a program waits for each answer
constexpr unsigned TRACE_THREAD_SWITCH = 1; // events that mean something to the harness
constexpr unsigned TRACE_SERIAL_GO = 1023;

std::string grouped(uint64_t value) // 1,234,567
{
    std::string text = std::to_string(value);
    for (size_t at = text.size(); at > 3;)
        text.insert(at -= 3, ",");
    return text;
}

std::vector<const uint32_t *> register_files(const HartPins &pins)
{
    std::vector<const uint32_t *> files;
    for (const HartPins::value_type &hart : pins)
        files.push_back(hart.registers);
    return files;
}

} // namespace

Simulation::Simulation(const Arguments &a, Inputs given, const Checkpoint *checkpoint)
    : arguments(a), pins(hart_pins(model.pins())), inputs(std::move(given)),
      image((std::memset(model.ram(), 0, model.ram_bytes()),
             load_image(inputs.image_name, inputs.image, a.bootargs, model.ram(), model.ram_bytes()))),
      watch(register_files(pins), image, model.ram(), model.ram_bytes()),
      inspector(image, TargetMemory(model.ram(), model.ram_bytes())), hang(watch, a.hang_cycles),
      wave_window(a.wave_begin, a.wave_end, a.wave_cycles), watchdog(unsigned(a.stall_seconds), unsigned(a.max_stall)),
      skip(model, !a.skip ? Skip::Mode::OFF : a.check_skip ? Skip::Mode::CHECK : Skip::Mode::ON), terminal(a.console),
      data_terminal(a.uart1_pty ? Arguments::Console::PTY : Arguments::Console::NONE),
      uart0_in({CLOCK_HZ, a.uart0_baud}), uart1_in({CLOCK_HZ, a.uart1_baud}), uart0_out({CLOCK_HZ, a.uart0_baud}),
      uart1_out({CLOCK_HZ, a.uart1_baud})
{
    if (a.empty_ram)
        std::memset(model.ram(), 0, model.ram_bytes());
    if (!inputs.feed.empty())
        feed_sha256 = sha256(inputs.feed.data(), inputs.feed.size());
    if (a.evaluate_twice)
        model.evaluate_twice();
    for (const Poke &poke : a.pokes)
        model.pokable(poke);
    if (a.checkpoint_at.kind == Moment::Kind::PC)
        watch.at(image.address_of("--checkpoint-at", a.checkpoint_at.place), [this] { at_moment(cycle); });
    if (!a.wave.empty()) {
        model.waves_to(a.wave);
        for (const Moment *moment : {&wave_window.begin_at, &wave_window.end_at})
            if (moment->kind == Moment::Kind::PC)
                watch.at(image.address_of(moment == &wave_window.begin_at ? "--wave-begin" : "--wave-end",
                                          moment->place), [this, moment] { wave_moment(*moment, cycle); });
    }
    if (checkpoint)
        restore(*checkpoint);
    terminal.set_baud(uart0_out.baud());
    schedule();
    open_outputs();
    if (checkpoint)
        write_again();
    attach_observers();
    if (!terminal.pty_name.empty())
        std::fprintf(stderr, "console on %s\n", terminal.pty_name.c_str());
    if (a.uart1_pty)
        std::fprintf(stderr, "data line on %s\n", data_terminal.pty_name.c_str());
}

void Simulation::open_outputs()
{
    const std::string &out = arguments.out;
    if (!out.empty()) {
        make_directory(out);
        if (arguments.console != Arguments::Console::NONE)
            console_file.open(out + "/console.txt");
        trace_file.open(out + "/trace.csv");
        trace_file.write("cycle,hart,event,argument\n");
    }
    std::string uart1 = arguments.uart1_out.empty() && !out.empty() ? out + "/uart1.out" : arguments.uart1_out;
    if (!uart1.empty())
        uart1_file.open(uart1);
    if (!arguments.checkpoint.empty()) {
        trace_file.keep();
        uart1_file.keep();
    }
}

// An observer that writes a file, if that is wanted.
template <class Kind, class... Rest> Kind *Simulation::observe(const std::string &path, Rest &&...rest)
{
    if (path.empty())
        return nullptr;
    auto observer = std::make_unique<Kind>(watch, std::forward<Rest>(rest)...);
    Kind *kept = observer.get();
    observers.push_back(std::move(observer));
    return kept;
}

void Simulation::attach_observers()
{
    const Arguments &a = arguments;
    auto attach = [this](Observer *observer) {
        if (observer)
            watch.attach(*observer);
    };
    attach(observe<ProbeLog>(a.probe_log, a.probe_log));
    attach(observe<LatencyLog>(a.latencies, a.latencies));
    // Samples are made behind the timeline: they finish first, and write their last counters into it.
    Timeline *timeline = observe<Timeline>(a.timeline, inspector, a.timeline, CLOCK_HZ);
    attach(samples = observe<Samples>(a.samples, a.samples, a.sample_cycles, timeline));
    attach(timeline);
    if (Flame *flame = observe<Flame>(a.flame, inspector, a.flame))
        watch.follow(*flame);
}

// What the command line wants at certain cycles, now that the first one is known.
void Simulation::schedule()
{
    began = shown_cycle = cycle;
    auto check = [this](const char *option, uint64_t at) {
        if (at < cycle)
            throw Failure(format("%s: cycle %llu is past, the checkpoint is of cycle %llu", option,
                                 (unsigned long long)at, (unsigned long long)cycle));
    };
    if (!arguments.checkpoint.empty())
        check_directory_of(arguments.checkpoint, "checkpoint");
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

int Simulation::run()
{
    started = shown = Clock::now();
    progress_on_terminal = isatty(STDERR_FILENO);
    try {
        watch.begin(cycle);
        loop();
    } catch (const Failure &failure) {
        stop(End::FAILURE, failure.what());
    }
    finish();
    return status();
}

void Simulation::loop()
{
    auto next = [this](uint64_t period) { return (cycle / period + 1) * period; };
    bool attached = arguments.uart1_pty || arguments.console == Arguments::Console::PTY;
    uint64_t poll = next(POLL_CYCLES), pty_poll = attached ? next(PTY_POLL_CYCLES) : NEVER;
    bool waves = !arguments.wave.empty();
    if (waves)
        wave_window.start(cycle);
    while (end == End::NONE) {
        if (!checkpoint_written && (moment_reached || cycle == arguments.checkpoint_at.cycle))
            save_checkpoint();
        apply_pokes();
        until = std::min({poll, pty_poll, arguments.max_cycles, hang.due()});
        if (waves) {
            until = std::min(until, wave_window.next_change(cycle));
            if (wave_window.holds(cycle) != model.dumps_waves())
                model.waves(!model.dumps_waves(), cycle);
        }
        if (poked < pokes.size())
            until = std::min(until, pokes[poked].cycle);
        if (cycle < arguments.checkpoint_at.cycle)
            until = std::min(until, arguments.checkpoint_at.cycle);
        if (samples)
            until = std::min(until, samples->due());
        // Who types does so in his own time: the target's must not run away from him.
        bool skipping = arguments.check_skip || !(terminal.listens() || data_terminal.listens());
        while (cycle < until && end == End::NONE) {
            step();
            if (still >= Skip::PATIENCE && skipping)
                skip.look(cycle, next_from_outside(), [this] { return step(); });
        }
        if (end != End::NONE)
            break;
        if (cycle == hang.due() && hang.check(cycle))
            stop(End::HANG, "no sign of life for " + grouped(arguments.hang_cycles) + " cycles");
        else if (cycle == arguments.max_cycles)
            stop(End::MAX_CYCLES, "the limit of " + grouped(arguments.max_cycles) + " cycles was reached");
        if (samples && cycle == samples->due())
            samples->sample(cycle);
        if (cycle == poll) {
            poll += POLL_CYCLES;
            watchdog.alive(cycle);
            poll_host();
        }
        if (cycle == pty_poll) {
            pty_poll += PTY_POLL_CYCLES;
            poll_console();
            poll_data_line();
        }
    }
    if (end == End::TARGET)
        drain();
}

// The first cycle at which the world outside the chip may do something, if the chip does nothing.
uint64_t Simulation::next_from_outside() const
{
    uint64_t next = std::min({until, uart0_in.next, uart1_in.next, uart0_out.wants(), uart1_out.wants()});
    return arguments.uart1_start >= cycle ? std::min(next, arguments.uart1_start) : next;
}

// A cycle. False: a hart did something in it, or the trace or host port did.
bool Simulation::step()
{
    uint64_t now = cycle;
    if (now >= uart0_in.next || now >= uart1_in.next)
        serial_step(now);
    if (now == arguments.uart1_start)
        start_feed(now);
    model.cycle();
    const Vinterlock &top = model.pins();
    const unsigned told = top.trace_valid | top.host_blob | top.host_exit; // something of the trace or host port
    unsigned stirred = told;
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
    if (uart0_out.due(top.uart0_tx, now) && uart0_out.advance(top.uart0_tx, now))
        console_byte(uart0_out.byte);
    if (uart1_out.due(top.uart1_tx, now) && uart1_out.advance(top.uart1_tx, now))
        data_byte(uart1_out.byte);
    if (told)
        host_step(now);
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

// What the lines do to the target's pins before the clock edge of cycle `edge`.
void Simulation::serial_step(uint64_t edge)
{
    while (edge >= uart0_in.next)
        uart0_in.advance(edge);
    while (edge >= uart1_in.next)
        uart1_in.advance(edge);
    model.set_lines(uart0_in.level, uart1_in.level);
    watch.active = true;
}

void Simulation::start_feed(uint64_t edge)
{
    feed_due = true;
    if (fed_at != NEVER || inputs.feed.empty())
        return;
    fed_at = edge;
    uart1_in.send(inputs.feed.data(), inputs.feed.size(), edge);
}

void Simulation::host_step(uint64_t now)
{
    const Vinterlock &top = model.pins();
    if (top.trace_valid)
        trace_record(now);
    if (top.host_blob)
        copy_blob(now);
    if (top.host_exit) {
        exit_code = top.host_exit_code;
        stop(End::TARGET, exit_code ? "the target ended with code " + std::to_string(exit_code) : "");
    }
}

void Simulation::trace_record(uint64_t now)
{
    const Vinterlock &top = model.pins();
    trace_records++;
    trace_mix.add(top.trace_cycle);
    trace_mix.add(uint64_t(top.trace_hart) << 42 | uint64_t(top.trace_event) << 32 | top.trace_argument);
    if (trace_file.wanted())
        trace_file.write(format("%llu,%u,%u,%u\n", (unsigned long long)top.trace_cycle, top.trace_hart,
                                top.trace_event, top.trace_argument));
    watch.active = true;
    if (top.trace_event == TRACE_THREAD_SWITCH && top.trace_hart < HARTS)
        watch.announce_switch(top.trace_hart, top.trace_argument, now);
    else if (top.trace_event == TRACE_SERIAL_GO && arguments.uart1_start == NEVER)
        start_feed(now + 1);
    if (arguments.checkpoint_at.is_event(top.trace_event, top.trace_argument))
        at_moment(now);
    for (const Moment *moment : {&wave_window.begin_at, &wave_window.end_at})
        if (moment->is_event(top.trace_event, top.trace_argument))
            wave_moment(*moment, now);
}

void Simulation::copy_blob(uint64_t now)
{
    const Vinterlock &top = model.pins();
    Blob blob{top.host_blob_kind, top.host_blob_address, top.host_blob_length, now, ""};
    uint64_t offset = uint64_t(blob.address) - RAM_BASE;
    if (blob.address < RAM_BASE || offset + blob.length > model.ram_bytes())
        throw Failure(format("the target gave a blob outside main RAM: kind %u, %u bytes at 0x%08x", blob.kind,
                             blob.length, blob.address));
    if (!arguments.checkpoint.empty() && !checkpoint_written)
        blob.content.assign(reinterpret_cast<const char *>(model.ram() + offset), blob.length);
    blobs.push_back(blob);
    watch.active = true;
    write_blob(blob.kind, model.ram() + offset, blob.length);
}

void Simulation::write_blob(uint32_t kind, const void *content, size_t length)
{
    if (arguments.out.empty())
        return;
    OutFile file;
    file.open(arguments.out + "/blob-" + std::to_string(kind) + ".bin", blob_kinds[kind]);
    blob_kinds[kind] = true;
    file.write(content, length);
    file.close();
}

void Simulation::console_byte(uint8_t byte)
{
    console_text += char(byte);
    console_file.write(&byte, 1);
    terminal.write(byte);
    watch.active = true;
}

void Simulation::data_byte(uint8_t byte)
{
    uart1_mix.add(byte);
    uart1_file.write(&byte, 1);
    data_terminal.write(byte);
    watch.active = true;
}

void Simulation::poll_data_line()
{
    data_terminal.flush();
    std::string typed = data_terminal.read();
    uart1_in.send(typed.data(), typed.size(), cycle);
}

// The far end's bit rate is the line's; one that is new waits until the last character at the old one is over.
void Simulation::poll_console()
{
    terminal.flush();
    uint64_t baud = terminal.baud();
    if (baud && baud <= CLOCK_HZ / 4 && baud != uart0_out.baud()) {
        if (!uart0_in.idle() || !uart0_out.idle())
            return;
        uart0_in.set_baud(baud);
        uart0_out.set_baud(baud);
    }
    std::string typed = terminal.read();
    uart0_in.send(typed.data(), typed.size(), cycle);
}

// Everything that is not the target's own time: the terminal, signals, the wall clock.
void Simulation::poll_host()
{
    poll_console();
    if (interrupted_by)
        stop(End::INTERRUPTED, "interrupted");
    Clock::time_point now = Clock::now();
    if (arguments.max_seconds > 0 && std::chrono::duration<double>(now - started).count() >= arguments.max_seconds)
        stop(End::MAX_SECONDS, format("the limit of %g s was reached", arguments.max_seconds));
    if (arguments.progress > 0 && std::chrono::duration<double>(now - shown).count() >= arguments.progress)
        show_progress(now);
}

void Simulation::show_progress(Clock::time_point now)
{
    console_file.flush();
    trace_file.flush();
    uart1_file.flush();
    double speed = double(cycle - shown_cycle) / std::chrono::duration<double>(now - shown).count();
    shown = now;
    shown_cycle = cycle;
    if (arguments.quiet)
        return;
    std::string line = format("%.3f ms simulated, cycles %s, %.2f Mcycles/s", 1e3 * double(cycle) / CLOCK_HZ,
                              grouped(cycle).c_str(), speed / 1e6);
    if (arguments.max_cycles != UINT64_MAX)
        line += format(", %.0f%% of the limit, at most %.0f s left", 100.0 * double(cycle) / double(arguments.max_cycles),
                       double(arguments.max_cycles - cycle) / speed);
    std::fprintf(stderr, progress_on_terminal ? "\r\033[K%s" : "%s\n", line.c_str());
    progress_open = progress_on_terminal;
}

void Simulation::wave_moment(const Moment &moment, uint64_t now)
{
    if (arguments.wave.empty() || !wave_window.reached(moment, now))
        return;
    until = now + 1;
    if (!arguments.quiet)
        std::fprintf(stderr, "waves %s at cycle %llu: %s\n", &moment == &wave_window.begin_at ? "begin" : "end",
                     (unsigned long long)(now + 1), moment.text.c_str());
}

// The target has ended, but its last characters are still in the serial ports: let both lines run dry.
void Simulation::drain()
{
    const Vinterlock &top = model.pins();
    BitRate slower{CLOCK_HZ, std::min(uart0_out.baud(), arguments.uart1_baud)};
    uint64_t quiet = slower.bits(12), last = cycle;
    auto step = [&] {
        model.cycle();
        watchdog.alive(cycle);
        if (uart0_out.due(top.uart0_tx, cycle) && uart0_out.advance(top.uart0_tx, cycle))
            console_byte(uart0_out.byte);
        if (uart1_out.due(top.uart1_tx, cycle) && uart1_out.advance(top.uart1_tx, cycle))
            data_byte(uart1_out.byte);
        if (!uart0_out.idle() || !uart1_out.idle())
            last = cycle;
        cycle++;
        return true;
    };
    skip.stir();
    for (uint64_t limit = cycle + slower.bits(10 * 300); cycle < limit && cycle - last < quiet;) {
        step();
        skip.look(cycle, std::min({limit, last + quiet, uart0_out.wants(), uart1_out.wants()}), step);
        if (!uart0_out.idle() || !uart1_out.idle())
            last = cycle - 1;
    }
}

void Simulation::stop(End how, const std::string &why)
{
    if (end == End::NONE) {
        end = how;
        ended = how == End::TARGET ? cycle + 1 : cycle; // the cycle that showed the exit code counts
        reason = why;
    }
    if (how == End::FAILURE) {
        failed = true;
        reason = why;
        std::fprintf(stderr, "%serror: %s\n", progress_open ? "\n" : "", why.c_str());
        progress_open = false;
    }
}

// Keeps all there is. Each output may fail by itself, and the others are still written.
void Simulation::finish()
{
    auto attempt = [this](auto &&action) {
        try {
            action();
        } catch (const Failure &failure) {
            if (!failed)
                stop(End::FAILURE, failure.what());
        }
    };
    attempt([this] { watch.finish(ended); });
    for (auto observer = observers.rbegin(); observer != observers.rend(); observer++) // the last made first
        attempt([this, &observer] { (*observer)->finish(ended); });
    attempt([this] { terminal.flush(); });
    attempt([this] { data_terminal.flush(); });
    attempt([this] { console_file.close(); });
    attempt([this] { trace_file.close(); });
    attempt([this] { uart1_file.close(); });
    if (progress_open)
        std::fputc('\n', stderr);
    if (!arguments.checkpoint.empty() && !checkpoint_written && !failed && end != End::INTERRUPTED)
        stop(End::FAILURE, "the run ended before " + arguments.checkpoint_at.text + ": there is no checkpoint");
    bool wrong = end == End::MAX_CYCLES || end == End::MAX_SECONDS || end == End::HANG ||
                 (end == End::TARGET && exit_code);
    if (wrong && !failed)
        std::fprintf(stderr, "%s: %s\n", end == End::HANG ? "hang" : "ended", reason.c_str());
    if (wrong)
        show_harts();
    if (!arguments.out.empty())
        attempt([this] { write_record(); });
    if (!arguments.quiet)
        std::fprintf(stderr, "ended after cycles %s, %.3f ms simulated in %.1f s, %.2f Mcycles/s, digest %016llx\n",
                     grouped(ended).c_str(), 1e3 * double(ended) / CLOCK_HZ, host_seconds(),
                     double(ended - began) / host_seconds() / 1e6, (unsigned long long)digest());
}

void Simulation::show_harts() const
{
    for (const std::string &line : report_harts(watch, inspector, register_files(pins)))
        std::fprintf(stderr, "%s\n", line.c_str());
}

int Simulation::status() const
{
    if (failed)
        return 2;
    switch (end) {
    case End::TARGET:
        return exit_code ? 1 : 0;
    case End::CHECKPOINT:
        return 0;
    case End::MAX_CYCLES:
    case End::MAX_SECONDS:
        return 3;
    case End::HANG:
        return 4;
    case End::INTERRUPTED:
        return 128 + interrupted_by;
    default:
        return 2;
    }
}

uint64_t Simulation::digest()
{
    Mix mix;
    mix.add(ended);
    mix.add(exit_code);
    for (const Hart &hart : watch.harts) {
        mix.add(hart.retired);
        mix.add(hart.stream);
    }
    mix.add(console_text.data(), console_text.size());
    mix.add(uart1_mix.value);
    mix.add(trace_mix.value);
    mix.add(model.ram(), model.ram_bytes());
    return mix.value;
}
