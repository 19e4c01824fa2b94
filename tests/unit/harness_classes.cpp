// Calls the harness's classes that read users' input, under the sanitizers: a case is a number of texts on stdin,
// each behind its length, the first of which names the call; an answer is a line of JSON on stdout.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <random>

#include "devices/line_speed.h"
#include "devices/serial.h"
#include "machine/idle.h"
#include "machine/image.h"
#include "machine/target_memory.h"
#include "options/plan.h"
#include "support/failure.h"
#include "support/files.h"
#include "support/json.h"
#include "support/number.h"

using Texts = std::vector<std::string>;

static bool number(uint32_t &value)
{
    return bool(std::cin.read(reinterpret_cast<char *>(&value), sizeof value));
}

static bool read_case(Texts &texts)
{
    uint32_t count, length;
    if (!number(count))
        return false;
    texts.assign(count, "");
    for (std::string &text : texts) {
        if (!number(length))
            return false;
        text.resize(length);
        std::cin.read(text.data(), length);
    }
    return true;
}

static void arguments(const Texts &texts, Json &json)
{
    std::vector<char *> argv;
    Texts copies = texts;
    for (std::string &text : copies)
        argv.push_back(text.data());
    Plan plan;
    bool go_on = parse_arguments(int(argv.size()), argv.data(), 60'000'000, plan);
    json.boolean("go_on", go_on).number("nodes", plan.nodes.size()).number("wires", plan.wires.size());
    if (go_on)
        json.string("image", plan.nodes[0].image).string("bootargs", plan.nodes.back().bootargs);
}

static void moment(const Texts &texts, Json &json)
{
    Moment made = parse_moment("--at", texts.at(1));
    json.number("kind", uint64_t(made.kind)).number("cycle", made.cycle).string("place", made.place);
    json.number("event", made.event).boolean("any", !made.argument).number("argument", made.argument.value_or(0));
}

static void poke(const Texts &texts, Json &json)
{
    Poke made = parse_poke("--poke", texts.at(1));
    json.string("name", made.name).number("value", made.value).number("cycle", made.cycle);
}

// An image in RAM of so many bytes, and all queries at addresses around its ends.
static void image(const Texts &texts, Json &json)
{
    size_t ram_bytes = std::stoul(texts.at(3));
    std::vector<uint8_t> content(texts.at(1).begin(), texts.at(1).end()), ram(ram_bytes);
    Image made = load_image("x.elf", content, texts.at(2), ram.data(), ram.size());
    json.number("functions", made.functions.size()).number("probes", made.probes.size());
    json.number("begin", made.code_begin).number("end", made.code_end);
    TargetMemory memory(ram.data(), ram.size());
    uint32_t sum = 0, word = 0;
    for (uint32_t address : {0u, 3u, RAM_BASE - 4, RAM_BASE, RAM_BASE + 2, made.code_begin, made.code_end - 4,
                             made.code_end, uint32_t(RAM_BASE + ram_bytes) - 1, uint32_t(RAM_BASE + ram_bytes), ~0u,
                             made.threads.address, made.threads.name}) {
        sum += made.describe(address).size() + made.describe_return(address).size() + memory.text(address).size();
        sum += memory.word(address, word) ? word : 0;
    }
    json.number("sum", sum);
    json.string("place", made.describe(made.address_of("--at", texts.at(4))));
}

static void quote(const Texts &texts, Json &json)
{
    json.string("text", texts.at(1));
}

static void file(const Texts &texts, Json &json)
{
    check_directory_of(texts.at(2), "copy");
    std::vector<uint8_t> content = read_file(texts.at(1), "original");
    OutFile out;
    out.open(texts.at(2));
    out.keep();
    out.write(content.data(), content.size());
    out.close();
    json.number("bytes", out.kept().size());
}

// Bytes from a driver to a receiver of another rate, in per mille of the driver's.
static void line(const Texts &texts, Json &json)
{
    uint64_t clock = std::stoull(texts.at(2)), baud = std::stoull(texts.at(3)),
             other = baud * std::stoull(texts.at(4)) / 1000;
    LineDriver driver({clock, baud});
    LineReceiver receiver({clock, other});
    std::string got;
    driver.send(texts.at(1).data(), texts.at(1).size(), 5);
    uint64_t end = 5 + BitRate{clock, baud}.bits(10 * texts.at(1).size() + 20);
    for (uint64_t cycle = 0; cycle < end; cycle++) {
        if (cycle >= driver.next)
            driver.advance(cycle);
        if (receiver.due(driver.level, cycle) && receiver.advance(driver.level, cycle))
            got += char(receiver.byte);
    }
    json.string("got", got).number("errors", receiver.framing_errors).number("sent", driver.sent);
}

static void speed(const Texts &texts, Json &json)
{
    int terminal = posix_openpt(2);
    set_line_speed(terminal, std::stoull(texts.at(1)));
    json.number("speed", line_speed(terminal)).number("none", line_speed(-1));
    set_line_speed(-1, 9600);
    close(terminal);
}

// Input that is not read at all, and an error that a sanitizer has to see.
static void planted(const Texts &texts, Json &json)
{
    std::vector<char> bytes(texts.at(2).begin(), texts.at(2).end());
    volatile int most = 2147483647;
    if (texts.at(1) == "address")
        json.number("byte", uint64_t(bytes.data()[bytes.size()]));
    if (texts.at(1) == "undefined")
        json.number("sum", uint64_t(most + int(bytes.size())));
}

// A machine with only counters, in place of a model.
class Vinterlock___024root {
  public:
    uint64_t time = 0, alarm[2] = {};
    uint32_t left = 0; // to 1
    uint16_t later = 0; // to 0
    uint16_t timer = 0, period = 1;
    uint8_t state = 0; // 0: the timer means nothing
    uint8_t waits = 0, other = 0;
    bool left_goes = false, later_goes = false;

    bool happens() const
    {
        return time == alarm[0] || time == alarm[1] || (left_goes && left == 1) || (later_goes && later == 0) ||
               (state && timer == 0);
    }
    void step()
    {
        time++;
        left -= left_goes;
        later -= later_goes;
        timer = timer ? timer - 1 : period - 1;
    }
    bool operator==(const Root &) const = default;
};

IdleTable idle_table(Root &root)
{
    IdleTable table;
    auto word = [](auto &value) { return Word{&value, sizeof value, 8 * sizeof value}; };
    auto member = [&root](const char *name, auto &value, Member::Kind kind) {
        return Member{name, size_t(reinterpret_cast<char *>(&value) - reinterpret_cast<char *>(&root)), sizeof value,
                      kind};
    };
    table.clocks.push_back({word(root.time), {word(root.alarm[0]), word(root.alarm[1])}});
    table.countdowns.push_back({word(root.left), 1});
    table.countdowns.push_back({word(root.later), 0});
    table.bit_timers.push_back({word(root.timer), word(root.period), word(root.state), 0});
    table.still.push_back(word(root.waits));
    table.members = {member("waits", root.waits, Member::COMPARED), member("other", root.other, Member::COMPARED),
                     member("state", root.state, Member::COMPARED), member("time", root.time, Member::FREE)};
    return table;
}

// What Idle says of such machines, made at random, against what they do cycle by cycle.
static void idle(const Texts &texts, Json &json)
{
    constexpr unsigned MOST = 60; // cycles
    std::mt19937 dice{uint32_t(std::stoul(texts.at(1)))};
    auto below = [&dice](unsigned n) { return unsigned(dice() % n); };
    unsigned at_once = 0, far = 0, wrong_horizon = 0, wrong_state = 0, wrong_still = 0;
    for (unsigned trial = 0; trial < std::stoul(texts.at(2)); trial++) {
        Root root;
        root.time = 1000 + below(100);
        for (uint64_t &alarm : root.alarm)
            alarm = below(2) ? UINT64_MAX : root.time + below(2 * MOST) - MOST / 2;
        root.left = 1 + below(MOST);
        root.later = uint16_t(below(MOST));
        root.period = uint16_t(1 + below(MOST / 3));
        root.timer = uint16_t(below(root.period));
        root.state = !below(4);
        root.left_goes = !below(3);
        root.later_goes = !below(3);
        if (root.happens())
            continue;
        Idle machine(root);
        root.waits = !below(8);
        bool quiet = machine.quiet();
        machine.remember(Idle::What::ALL);
        root.step();
        bool stirs = !below(8);
        root.other = stirs;
        wrong_still += quiet != !root.waits || machine.stood_still(Idle::What::ALL) != (!root.waits && !stirs);
        Root one_by_one = root;
        unsigned cycles = 0;
        for (; cycles < MOST && !one_by_one.happens(); cycles++)
            one_by_one.step();
        wrong_horizon += std::min<uint64_t>(machine.horizon(), MOST) != cycles;
        machine.advance(cycles);
        wrong_state += !(root == one_by_one);
        at_once += cycles == 0;
        far += cycles == MOST;
    }
    json.number("at_once", at_once).number("far", far).number("wrong_horizon", wrong_horizon);
    json.number("wrong_state", wrong_state).number("wrong_still", wrong_still);
}

int main()
{
    const std::map<std::string, std::function<void(const Texts &, Json &)>> calls = {
        {"arguments", arguments}, {"moment", moment}, {"poke", poke},   {"image", image},     {"quote", quote},
        {"file", file},           {"line", line},     {"speed", speed}, {"planted", planted}, {"idle", idle},
    };
    for (Texts texts; read_case(texts);) {
        Json json;
        json.object();
        try {
            calls.at(texts.at(0))(texts, json);
        } catch (const Failure &failure) {
            json.string("failure", failure.what());
        }
        std::string text = json.end_object().text;
        for (char &c : text)
            c = c == '\n' ? ' ' : c;
        std::puts(text.c_str());
        std::fflush(stdout);
    }
}
