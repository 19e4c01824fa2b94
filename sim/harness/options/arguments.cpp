#include "options/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>

#include "generated/options.h"
#include "support/failure.h"
#include "support/number.h"

namespace {

// Checks an option's value against its declaration; `as` is how it was given.
void check(const std::string &name, const std::string &as, const std::string &value)
{
    const Option &option = declared_options.at(name);
    if (option.most && whole_number(as, value, option.most) < option.least)
        throw Failure(format("%s: %s is out of range, %llu to %llu", as.c_str(), value.c_str(),
                             (unsigned long long)option.least, (unsigned long long)option.most));
    if (option.choices.empty() || std::count(option.choices.begin(), option.choices.end(), value))
        return;
    std::string all;
    for (const std::string &choice : option.choices)
        all += (all.empty() ? "" : ", ") + choice;
    throw Failure(format("%s: '%s' is not one of %s", as.c_str(), value.c_str(), all.c_str()));
}

double seconds(const std::string &option, const std::string &text)
{
    char *end;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || !std::isfinite(value) || value < 0)
        throw Failure(format("%s: '%s' is not a number of seconds", option.c_str(), text.c_str()));
    return value;
}

// `text` with its escapes \n, \r, \t, \\ and \xHH replaced.
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
    auto flow = [](bool &to) { return [&to](const std::string &, const std::string &v) { to = v == "rts"; }; };
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
            if (to > clock_hz / 4)
                throw Failure(format("%s: %s is out of range, %llu bit/s at most", o.c_str(), v.c_str(),
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
        {"--flame-begin", moment(a.flame_begin)},
        {"--flame-end", moment(a.flame_end)},
        {"--symbols",
         [&a](const std::string &o, const std::string &v) {
             size_t equals = v.find('=');
             if (equals == std::string::npos || !equals || equals + 1 == v.size())
                 throw Failure(format("%s: '%s' is not NAME=FILE", o.c_str(), v.c_str()));
             a.symbols[v.substr(0, equals)] = v.substr(equals + 1);
         }},
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
    if (option == options.end() || declared_options.at(name).of == Option::RUN)
        throw Failure(format("--node: %s is no option of one node: %s", name.c_str() + 2, text.c_str()));
    std::string as = "--node " + text.substr(0, equals), value = text.substr(equals + 1);
    check(name, as, value);
    option->second(as, value);
    node.given.insert(name);
}

// Checks combinations, and fills in what follows from them.
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
    a.console = consoles.at(a.console_name);
    if (a.console == Arguments::Console::FILE && a.out.empty())
        throw Failure("--console file needs --out DIR");
    a.uart1_pty = a.uart1_name == "pty";
    if (a.typed.size() > a.expected.size() && !a.expected.empty())
        throw Failure("--type: more than there are --expect: each is typed behind the --expect of the same number");
    if (std::any_of(a.expected.begin(), a.expected.end(), [](const std::string &text) { return text.empty(); }))
        throw Failure("--expect: give some text");
    if (a.uart1_pty && !a.uart1_in.empty())
        throw Failure("--uart1 pty and --uart1-in: the data line has one far end, give one of the two");
    if ((!a.ether_tap.empty() || a.ether_user) && !a.ether_in.empty())
        throw Failure("--ether and --ether-in: the wire has one far end, give one of the two");
    if (a.hang_cycles == UINT64_MAX)
        a.hang_cycles = a.uart1_pty || !a.ether_tap.empty() || a.ether_user ? 0 : otherwise::HANG_CYCLES;
    for (const auto &[what, begin, end] :
         {std::tuple("wave", &a.wave_begin, &a.wave_end), {"flame", &a.flame_begin, &a.flame_end}})
        if (end->kind == Moment::Kind::CYCLE && end->cycle <= (begin->kind == Moment::Kind::CYCLE ? begin->cycle : 0))
            throw Failure(format("--%s-begin must be before --%s-end", what, what));
    if (a.wave_end.kind != Moment::Kind::NONE && a.wave_cycles != UINT64_MAX)
        throw Failure("--wave-end and --wave-cycles: give one of them");
    for (const char *option : {"--wave-begin", "--wave-end", "--wave-cycles"})
        if (a.given.count(option) && a.wave.empty())
            throw Failure(format("%s needs --wave FILE", option));
    for (const char *option : {"--flame-begin", "--flame-end", "--symbols"})
        if (a.given.count(option) && a.flame.empty())
            throw Failure(format("%s needs --flame FILE", option));
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

// The word, quoted for a POSIX shell unless the shell interprets none of its characters.
static std::string shell_quoted(const std::string &word)
{
    auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("%+,-./:=@_", c); };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain))
        return word;
    std::string quoted = "'";
    for (char c : word)
        quoted += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
    return quoted + "'";
}

bool parse_arguments(int argc, char **argv, uint64_t clock_hz, Plan &plan)
{
    Arguments &a = plan.common;
    auto options = option_table(a, clock_hz);
    std::vector<std::string> wires, for_nodes;
    uint64_t nodes = 0, jobs = otherwise::JOBS, ranks = otherwise::RANKS;
    options["--nodes"] = [&](const std::string &o, const std::string &v) { nodes = whole_number(o, v); };
    options["--jobs"] = [&](const std::string &o, const std::string &v) { jobs = whole_number(o, v); };
    options["--ranks"] = [&](const std::string &o, const std::string &v) { ranks = whole_number(o, v); };
    options["--ranks-library"] = [&](const std::string &, const std::string &v) { plan.ranks_library = v; };
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
        a.command += (i ? " " : "") + shell_quoted(argv[i]);
    for (int i = 1; i < argc; i++) {
        std::string name = argv[i], value;
        if (name == "--help" || name == "-h") {
            std::fputs(options_help, stdout);
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
        check(name, name, value);
        option->second(name, value);
        a.given.insert(name);
    }

    plan.several = nodes != 0;
    plan.jobs = unsigned(jobs);
    plan.ranks = unsigned(ranks);
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
        for (const std::string &option : a.given)
            if (declared_options.at(option).of == Option::FILE)
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
