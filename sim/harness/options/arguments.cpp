#include "options/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "support/failure.h"
#include "support/number.h"

namespace {

const char HELP[] =
    R"(usage: interlock-sim --image FILE [option...]
  --image FILE          the program, a linked ELF32 file
  --bootargs TEXT       its boot arguments, key=value with spaces between
  --empty-ram           the program is there for its symbols only: main RAM begins as zeroes, a boot loader fills it
  --seed N              adds seed=N to the boot arguments, unless they have a seed
  --out DIR             write run.json, console.txt, trace.csv, uart1.out and blob-KIND.bin there
  --console KIND        tty, pty, file or none (default: file with --out, else tty)
  --uart0-baud N        bit rate of the console line (115200)
  --uart0-flow KIND     rts: what is typed waits while the target's RTS is off, and ^D is typed behind the end of
                        standard input; none (none)
  --expect TEXT         wait until the console has printed TEXT; may be repeated, then for one behind the other. When
                        the last has been printed and nothing is left to type, the run ends, with exit status 0
  --type TEXT           type TEXT when the --expect of the same number has been printed; without any, at once. \n, \r,
                        \t, \\, \xHH
  --uart1-baud N        bit rate of the data line (115200)
  --uart1 KIND          the data line: file (the options below) or pty: a pseudo-terminal, for a debugger
  --uart1-in FILE       bytes for the data line, back to back, from trace event 1023 on ...
  --uart1-start CYCLE   ... or from this cycle on
  --uart1-flow KIND     rts: no byte begins while the target's RTS is off; none (none)
  --uart1-out FILE      what the target sends on the data line (DIR/uart1.out)
  --disk IMAGE[,NAME=VALUE...]  a file of 512-byte sectors at the next disk controller: profile=ide|scsi|cdrom|floppy|
                        sabre|fast, write=no|copy|inplace, faults (hw/disk/README.md); may be repeated
  --ether-in FILE       Ethernet frames for the target, a pcap file, with their timing: from trace event 1022 on ...
  --ether-start CYCLE   ... or from this cycle on; log: each at the very cycle of its stamp, as a run's ether-in.pcap
                        has it
  --ether-out FILE      what the target sends, as a pcap file (DIR/ether.pcap)
  --ether tap:NAME      the wire ends in a TAP device of this machine; what comes is in DIR/ether-in.pcap
  --ether user          ... in a network of this process's own, without root (libslirp), whose router is 10.0.0.1;
                        likewise
  --ether-mbits N       the wire's speed, 10, 100 or 1000 Mbit/s (100)
  --ether-unplug A:B    the cable is pulled in cycle A and back in cycle B
  --max-cycles N        stop after N cycles (exit status 3)
  --max-seconds S       stop after S seconds of this machine's time (exit status 3)
  --hang-cycles N       report a hang after about N cycles without a sign of life (100000000, with --uart1 pty
                        never; 0: never; exit status 4)
  --wave FILE           write FST waves (needs the waves build); rising edge of cycle c at time 10*c
  --wave-begin WHEN     first cycle in it: a number or cycle:N, or behind pc:SYMBOL[+OFFSET], pc:0xADDRESS or
                        event:ID[:ARGUMENT] (the first cycle of the run)
  --wave-end WHEN       first cycle not in it, the same way (the end of the run)
  --wave-cycles N       instead of --wave-end: so many cycles
  --stall-seconds S     report that the simulator itself stands still after S seconds (10; 0: never) ...
  --max-stall S         ... and end it after S (exit status 5; 0: never)
  --progress SECONDS    time between progress lines (5; 0: none)
  --quiet               no progress, no notes on stderr
  --target-status       when the target ends, end with the lowest 8 bits of its exit code, else with 1 unless it is 0
  --evaluate-twice      compute each cycle as Verilator's eval() does, at both edges; slower, the result is the same
  --no-skip             simulate also the cycles in which nothing can happen; the result is the same
  --check-skip          simulate each stretch of them after all, and compare every register (exit status 2)
  --checkpoint FILE     write the whole state of the run to FILE ...
  --checkpoint-at WHEN  ... once: cycle:N (before it), pc:SYMBOL[+OFFSET] or pc:0xADDRESS (a hart retires it),
                        event:ID[:ARGUMENT] (on the trace port)
  --checkpoint-stop     and end there (exit status 0)
  --restore FILE        go on from a checkpoint; image, boot arguments, seed and bit rates are its own
  --nodes N             N machines instead of one, each with its outputs in DIR/node-K, K from 0; their boot arguments
                        get node=K nodes=N. Restoring a checkpoint of one machine makes N of it
  --node K:OPTION=VALUE an option (image, bootargs, uart1-in, poke, timeline, ...) for node K alone; may be repeated
  --wire A.PORT:B.PORT:CYCLES  what node A sends on PORT (uart0, uart1, ether) reaches node B's PORT so many cycles
                        after its last bit; one way; may be repeated. Several wires from and to ether make a switch
  --jobs N              threads that carry nodes (1); the result is the same
  --shuffle N           serve nodes in another order, by the seed N; the result is the same
  --poke NAME=VALUE[@CYCLE]  write a register of the machine before a cycle (the first one simulated); may be repeated
  --timeline FILE       what each hart does over time, for https://ui.perfetto.dev
  --flame FILE          cycles by call stack, folded: for flame graphs
  --latencies FILE      every interrupt, from its wire to its handler and to its thread, as CSV
  --samples FILE        counters of every hart over time, as CSV, ...
  --sample-cycles N     ... each of so many cycles (10000); with --timeline some of them there, too
  --arrivals FILE       what comes over wires, as CSV: the cycle, the wire's place in the record, the bytes
  --probe-log FILE      every probe point, trap, arrival and thread switch as CSV
exit status: 0 the target ended with code 0, 1 with another, 2 bad usage or input, 3 limit, 4 hang, 5 stall,
130 interrupted
)";

constexpr uint64_t HANG_CYCLES = 100'000'000;

// Options that are not one node's.
const std::set<std::string> OF_THE_RUN = {
    "--out",       "--console",  "--uart1",      "--max-cycles",    "--max-seconds", "--hang-cycles", "--stall-seconds",
    "--max-stall", "--progress", "--checkpoint", "--checkpoint-at", "--restore",     "--ether"};
// Options that several nodes cannot share, as each would write the same file.
const std::set<std::string> OF_ONE_NODE = {"--wave",    "--probe-log", "--timeline",  "--flame",   "--latencies",
                                           "--samples", "--uart1-out", "--ether-out", "--arrivals"};

double seconds(const std::string &option, const std::string &text)
{
    char *end;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || !std::isfinite(value) || value < 0)
        throw Failure(format("%s: '%s' is not a number of seconds", option.c_str(), text.c_str()));
    return value;
}

// `text` with its escapes \n, \r, \t, \\ and \xHH as what they stand for.
std::string unescaped(const std::string &option, const std::string &text)
{
    std::string out;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] != '\\') {
            out += text[at];
            continue;
        }
        const char kind = at + 1 < text.size() ? text[++at] : 0;
        const std::string digits = kind == 'x' ? text.substr(at + 1, 2) : "";
        static const std::map<char, char> plain = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}};
        if (auto found = plain.find(kind); found != plain.end())
            out += found->second;
        else if (digits.size() == 2 && std::isxdigit(uint8_t(digits[0])) && std::isxdigit(uint8_t(digits[1])))
            out += char(std::stoi(digits, nullptr, 16)), at += 2;
        else
            throw Failure(format("%s: '%s': behind \\ comes n, r, t, \\ or x and two hexadecimal digits",
                                 option.c_str(), text.c_str()));
    }
    return out;
}

using Setter = std::function<void(const std::string &, const std::string &)>;

std::map<std::string, Setter> option_table(Arguments &a, uint64_t clock_hz)
{
    auto text = [](std::string &to) { return [&to](const std::string &, const std::string &v) { to = v; }; };
    auto number = [](uint64_t &to) {
        return [&to](const std::string &o, const std::string &v) { to = whole_number(o, v); };
    };
    auto flow = [](bool &to) {
        return [&to](const std::string &o, const std::string &v) {
            if (v != "rts" && v != "none")
                throw Failure(format("%s: '%s' is not one of rts, none", o.c_str(), v.c_str()));
            to = v == "rts";
        };
    };
    auto words = [](std::vector<std::string> &to) {
        return [&to](const std::string &o, const std::string &v) { to.push_back(unescaped(o, v)); };
    };
    auto moment = [](Moment &to) {
        return [&to](const std::string &o, const std::string &v) {
            bool plain = !v.empty() && v.find_first_not_of("0123456789") == std::string::npos;
            to = parse_moment(o, plain ? "cycle:" + v : v);
        };
    };
    auto time = [](double &to) { return [&to](const std::string &o, const std::string &v) { to = seconds(o, v); }; };
    auto baud = [clock_hz](uint64_t &to) {
        return [&to, clock_hz](const std::string &o, const std::string &v) {
            to = whole_number(o, v);
            if (to < 50 || to > clock_hz / 4)
                throw Failure(format("%s: %s is out of range, 50 to %llu bit/s", o.c_str(), v.c_str(),
                                     (unsigned long long)(clock_hz / 4)));
        };
    };
    return {
        {"--image", text(a.image)},
        {"--bootargs", text(a.bootargs)},
        {"--out", text(a.out)},
        {"--console", text(a.console_name)},
        {"--uart0-baud", baud(a.uart0_baud)},
        {"--uart1-baud", baud(a.uart1_baud)},
        {"--uart1", text(a.uart1_name)},
        {"--uart1-in", text(a.uart1_in)},
        {"--uart1-start", number(a.uart1_start)},
        {"--uart0-flow", flow(a.uart0_flow)},
        {"--uart1-flow", flow(a.uart1_flow)},
        {"--expect", words(a.expected)},
        {"--type", words(a.typed)},
        {"--uart1-out", text(a.uart1_out)},
        {"--disk", [&a](const std::string &, const std::string &v) { a.disks.push_back(v); }},
        {"--ether-in", text(a.ether_in)},
        {"--ether-out", text(a.ether_out)},
        {"--ether-mbits", number(a.ether_mbits)},
        {"--ether",
         [&a](const std::string &o, const std::string &v) {
             a.ether_user = v == "user";
             if (a.ether_user)
                 return;
             if (v.rfind("tap:", 0) || v.size() == 4)
                 throw Failure(format("%s: '%s' is not tap:NAME or user", o.c_str(), v.c_str()));
             a.ether_tap = v.substr(4);
         }},
        {"--ether-start",
         [&a](const std::string &o, const std::string &v) {
             a.ether_start = v == "log" ? ETHER_START_LOG : whole_number(o, v, 1ull << 62);
         }},
        {"--ether-unplug",
         [&a](const std::string &o, const std::string &v) {
             size_t colon = v.find(':');
             if (colon == std::string::npos)
                 throw Failure(format("%s: '%s' is not A:B, such as 100000:200000", o.c_str(), v.c_str()));
             a.ether_unplug = whole_number(o, v.substr(0, colon));
             a.ether_plug = whole_number(o, v.substr(colon + 1));
             if (a.ether_unplug >= a.ether_plug)
                 throw Failure(format("%s: '%s': the cable is back before it is pulled", o.c_str(), v.c_str()));
         }},
        {"--max-cycles", number(a.max_cycles)},
        {"--max-seconds", time(a.max_seconds)},
        {"--hang-cycles", number(a.hang_cycles)},
        {"--wave", text(a.wave)},
        {"--wave-begin", moment(a.wave_begin)},
        {"--wave-end", moment(a.wave_end)},
        {"--wave-cycles", number(a.wave_cycles)},
        {"--stall-seconds", number(a.stall_seconds)},
        {"--max-stall", number(a.max_stall)},
        {"--progress", time(a.progress)},
        {"--probe-log", text(a.probe_log)},
        {"--timeline", text(a.timeline)},
        {"--flame", text(a.flame)},
        {"--latencies", text(a.latencies)},
        {"--samples", text(a.samples)},
        {"--arrivals", text(a.arrivals)},
        {"--sample-cycles", number(a.sample_cycles)},
        {"--checkpoint", text(a.checkpoint)},
        {"--checkpoint-at", [&a](const std::string &o, const std::string &v) { a.checkpoint_at = parse_moment(o, v); }},
        {"--restore", text(a.restore)},
        {"--poke", [&a](const std::string &o, const std::string &v) { a.pokes.push_back(parse_poke(o, v)); }},
        {"--seed",
         [&a](const std::string &o, const std::string &v) {
             a.seed = whole_number(o, v);
             a.has_seed = true;
         }},
    };
}

Wire parse_wire(const std::string &option, const std::string &text, size_t nodes)
{
    size_t second = text.find(':'), third = second == std::string::npos ? second : text.find(':', second + 1);
    if (third == std::string::npos)
        throw Failure(
            format("%s: '%s' is not A.PORT:B.PORT:CYCLES, such as 0.uart1:1.uart1:60", option.c_str(), text.c_str()));
    auto end = [&](const std::string &part) {
        size_t dot = part.find('.');
        if (dot == std::string::npos)
            throw Failure(format("%s: '%s' is not NODE.PORT, such as 0.uart1", option.c_str(), part.c_str()));
        return WireEnd{unsigned(whole_number(option, part.substr(0, dot), nodes - 1)), part.substr(dot + 1)};
    };
    Wire wire{end(text.substr(0, second)), end(text.substr(second + 1, third - second - 1)),
              whole_number(option, text.substr(third + 1), 1ull << 40)};
    if (!wire.latency)
        throw Failure(format("%s: '%s': the latency is at least 1 cycle", option.c_str(), text.c_str()));
    return wire;
}

// For node K alone: K:OPTION=VALUE.
void set_for_node(Plan &plan, const std::string &text, uint64_t clock_hz)
{
    size_t colon = text.find(':'), equals = text.find('=');
    if (colon == std::string::npos || equals == std::string::npos || equals < colon)
        throw Failure(format("--node: '%s' is not K:OPTION=VALUE, such as 0:image=server.elf", text.c_str()));
    Arguments &node = plan.nodes[whole_number("--node", text.substr(0, colon), plan.nodes.size() - 1)];
    std::string name = "--" + text.substr(colon + 1, equals - colon - 1);
    auto options = option_table(node, clock_hz);
    auto option = options.find(name);
    if (option == options.end() || OF_THE_RUN.count(name))
        throw Failure(format("--node: %s is no option of one node: %s", name.c_str() + 2, text.c_str()));
    option->second("--node " + text.substr(0, equals), text.substr(equals + 1));
    node.given.insert(name);
}

// Checks what belongs together, and fills in what follows.
void complete(Arguments &a)
{
    if (a.image.empty() && a.restore.empty())
        throw Failure("--image FILE is missing; see --help");
    if (a.checkpoint.empty() != (a.checkpoint_at.kind == Moment::Kind::NONE))
        throw Failure("--checkpoint FILE and --checkpoint-at WHEN belong together: give both");
    if (a.checkpoint_stop && a.checkpoint.empty())
        throw Failure("--checkpoint-stop needs --checkpoint FILE and --checkpoint-at WHEN");
    if (!a.skip && a.check_skip)
        throw Failure("--no-skip and --check-skip: what is not skipped cannot be checked, give one of the two");
    static const std::map<std::string, Arguments::Console> consoles = {{"tty", Arguments::Console::TTY},
                                                                       {"pty", Arguments::Console::PTY},
                                                                       {"file", Arguments::Console::FILE},
                                                                       {"none", Arguments::Console::NONE}};
    auto console = consoles.find(a.console_name);
    if (console == consoles.end())
        throw Failure(format("--console: '%s' is not one of tty, pty, file, none", a.console_name.c_str()));
    a.console = console->second;
    if (a.console == Arguments::Console::FILE && a.out.empty())
        throw Failure("--console file needs --out DIR");
    if (a.uart1_name != "file" && a.uart1_name != "pty")
        throw Failure(format("--uart1: '%s' is not one of file, pty", a.uart1_name.c_str()));
    a.uart1_pty = a.uart1_name == "pty";
    if (a.typed.size() > a.expected.size() && !a.expected.empty())
        throw Failure("--type: more than there are --expect: each is typed behind the --expect of the same number");
    if (std::any_of(a.expected.begin(), a.expected.end(), [](const std::string &text) { return text.empty(); }))
        throw Failure("--expect: give some text");
    if (a.uart1_pty && !a.uart1_in.empty())
        throw Failure("--uart1 pty and --uart1-in: the data line has one far end, give one of the two");
    if (a.ether_mbits != 10 && a.ether_mbits != 100 && a.ether_mbits != 1000)
        throw Failure("--ether-mbits: give 10, 100 or 1000");
    if ((!a.ether_tap.empty() || a.ether_user) && !a.ether_in.empty())
        throw Failure("--ether and --ether-in: the wire has one far end, give one of the two");
    if (a.hang_cycles == UINT64_MAX)
        a.hang_cycles = a.uart1_pty || !a.ether_tap.empty() || a.ether_user ? 0 : HANG_CYCLES;
    uint64_t first_wave = a.wave_begin.kind == Moment::Kind::CYCLE ? a.wave_begin.cycle : 0;
    if (a.wave_end.kind == Moment::Kind::CYCLE && a.wave_end.cycle <= first_wave)
        throw Failure("--wave-begin must be before --wave-end");
    if (a.wave_end.kind != Moment::Kind::NONE && a.wave_cycles != UINT64_MAX)
        throw Failure("--wave-end and --wave-cycles: give one of them");
    for (const char *option : {"--wave-begin", "--wave-end", "--wave-cycles"})
        if (a.given.count(option) && a.wave.empty())
            throw Failure(format("%s needs --wave FILE", option));
    if (!a.sample_cycles)
        throw Failure("--sample-cycles: at least 1");
    if (a.given.count("--sample-cycles") && a.samples.empty())
        throw Failure("--sample-cycles needs --samples FILE");
    if (a.hang_cycles && a.hang_cycles < 8)
        throw Failure("--hang-cycles: at least 8, or 0 for never");
    a.add_seed();
}

} // namespace

void Arguments::add_seed()
{
    if (has_seed && (" " + bootargs).find(" seed=") == std::string::npos)
        bootargs += (bootargs.empty() ? "seed=" : " seed=") + std::to_string(seed);
}

bool parse_arguments(int argc, char **argv, uint64_t clock_hz, Plan &plan)
{
    Arguments &a = plan.common;
    auto options = option_table(a, clock_hz);
    std::vector<std::string> wires, for_nodes;
    uint64_t nodes = 0, jobs = 1;
    constexpr uint64_t MOST_NODES = 4096, MOST_JOBS = 256;
    options["--nodes"] = [&](const std::string &o, const std::string &v) {
        nodes = whole_number(o, v, MOST_NODES);
        if (!nodes)
            throw Failure("--nodes: at least 1");
    };
    options["--jobs"] = [&](const std::string &o, const std::string &v) {
        jobs = whole_number(o, v, MOST_JOBS);
        if (!jobs)
            throw Failure("--jobs: at least 1");
    };
    options["--shuffle"] = [&](const std::string &o, const std::string &v) { plan.shuffle = whole_number(o, v); };
    options["--wire"] = [&](const std::string &, const std::string &v) { wires.push_back(v); };
    options["--node"] = [&](const std::string &, const std::string &v) { for_nodes.push_back(v); };
    const std::map<std::string, std::pair<bool &, bool>> flags = {{"--quiet", {a.quiet, true}},
                                                                  {"--empty-ram", {a.empty_ram, true}},
                                                                  {"--checkpoint-stop", {a.checkpoint_stop, true}},
                                                                  {"--evaluate-twice", {a.evaluate_twice, true}},
                                                                  {"--target-status", {a.target_status, true}},
                                                                  {"--no-skip", {a.skip, false}},
                                                                  {"--check-skip", {a.check_skip, true}}};
    for (int i = 0; i < argc; i++)
        a.command += (i ? " " : "") + std::string(argv[i]);
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i], value;
        if (name == "--help" || name == "-h") {
            std::fputs(HELP, stdout);
            return false;
        }
        if (auto flag = flags.find(name); flag != flags.end()) {
            flag->second.first = flag->second.second;
            continue;
        }
        size_t equals = name.find('=');
        bool joined = equals != std::string::npos;
        if (joined) {
            value = name.substr(equals + 1);
            name.erase(equals);
        }
        auto option = options.find(name);
        if (option == options.end())
            throw Failure(format("unknown option %s; see --help", name.c_str()));
        if (!joined) {
            if (++i == argc)
                throw Failure(format("%s needs a value", name.c_str()));
            value = argv[i];
        }
        option->second(name, value);
        a.given.insert(name);
    }

    plan.several = nodes != 0;
    plan.jobs = unsigned(jobs);
    if (!plan.several && (!wires.empty() || !for_nodes.empty()))
        throw Failure(format("%s: it needs --nodes N", wires.empty() ? "--node" : "--wire"));
    if (a.console_name.empty())
        a.console_name = a.out.empty() && !plan.several ? "tty" : "file";
    if (plan.several) {
        if (a.console_name != "file" && a.console_name != "none")
            throw Failure(
                format("--console %s: the consoles of several nodes are file or none", a.console_name.c_str()));
        if (a.uart1_name != "file")
            throw Failure("--uart1 pty: a data line of one of several nodes cannot be a pseudo-terminal");
        for (const std::string &option : OF_ONE_NODE)
            if (a.given.count(option))
                throw Failure(format("%s: each node would write the same file: give --node K:%s=FILE", option.c_str(),
                                     option.c_str() + 2));
        if (a.checkpoint_at.kind != Moment::Kind::NONE && a.checkpoint_at.kind != Moment::Kind::CYCLE)
            throw Failure("--checkpoint-at: of several nodes a checkpoint is taken at a cycle: give cycle:N");
    }
    plan.nodes.assign(plan.several ? nodes : 1, a);
    for (const std::string &text : for_nodes)
        set_for_node(plan, text, clock_hz);
    for (const std::string &text : wires)
        plan.wires.push_back(parse_wire("--wire", text, plan.nodes.size()));
    for (size_t i = 0; i < plan.nodes.size(); i++) {
        Arguments &node = plan.nodes[i];
        if (plan.several && !node.out.empty())
            node.out += "/node-" + std::to_string(i);
        if (plan.several && node.restore.empty())
            node.bootargs += format("%snode=%zu nodes=%zu", node.bootargs.empty() ? "" : " ", i, plan.nodes.size());
        complete(node);
    }
    complete(a);
    return true;
}
