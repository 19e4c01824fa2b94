// run.json (README, "The record"): all but `host` is the same whenever the same run is repeated.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

#include "machine/facts.h"
#include "run/run.h"
#include "support/failure.h"
#include "support/json.h"

namespace {

constexpr unsigned SCHEMA = 1;

// A value as printed by the target: a whole number (also hexadecimal), a decimal fraction, or text.
void write_value(Json &json, const std::string &key, const std::string &text)
{
    const char *begin = text.c_str();
    char *end;
    bool digit = text.find_first_of("0123456789") == (text[0] == '-' ? 1 : 0);
    bool hexadecimal = text.compare(0, 2, "0x") == 0;
    errno = 0;
    long long whole = std::strtoll(begin, &end, hexadecimal ? 16 : 10);
    if (digit && !*end && !errno)
        return (void)json.raw(key.c_str(), std::to_string(whole));
    // No exponent: eight digits of a CRC may look like one.
    bool decimal = text.find_first_not_of("0123456789.", text[0] == '-') == text.npos;
    errno = 0;
    double real = std::strtod(begin, &end);
    if (digit && decimal && !*end && !errno)
        return (void)json.raw(key.c_str(), format("%.17g", real));
    json.string(key.c_str(), text);
}

void write_harness(Json &json, size_t ram_bytes)
{
    json.object("harness").string("fingerprint", HARNESS_FINGERPRINT).number("harts", HART_COUNT);
    json.number("clock_hz", CLOCK_HZ).number("ram_bytes", ram_bytes).end_object();
}

} // namespace

// Lines `@kind key=value key=value` of the console, in order, by kind. A word without `=` is a key that is true.
void Node::write_results(Json &json) const
{
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
    std::istringstream lines(console());
    for (std::string line; std::getline(lines, line);) {
        if (line.size() < 2 || line[0] != '@')
            continue;
        std::istringstream words(line.substr(1));
        std::string kind, word;
        if (!(words >> kind) || kind.empty())
            continue;
        Json values;
        values.object();
        std::map<std::string, bool> seen;
        while (words >> word) {
            size_t equals = word.find('=');
            std::string key = word.substr(0, equals);
            if (key.empty() || seen[key])
                continue; // JSON has each key once: the first counts
            seen[key] = true;
            if (equals == std::string::npos)
                values.boolean(key.c_str(), true);
            else
                write_value(values, key, word.substr(equals + 1));
        }
        values.end_object();
        std::string flat; // one line each
        for (size_t i = 0; i < values.text.size(); i++)
            if (values.text[i] != '\n')
                flat += values.text[i];
            else
                while (i + 1 < values.text.size() && values.text[i + 1] == ' ')
                    i++;
        auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto &k) { return k.first == kind; });
        if (found == kinds.end())
            found = kinds.insert(kinds.end(), {kind, {}});
        found->second.push_back(flat);
    }
    json.object("results");
    for (const auto &[kind, entries] : kinds) {
        json.array(kind.c_str());
        for (const std::string &entry : entries)
            json.raw(nullptr, entry);
        json.end_array();
    }
    json.end_object();
}

// The node's part of the record; in a run of one machine, the whole record.
void Node::write_record(Json &json, bool alone)
{
    static const char *const END[] = {"none",        "target",     "max-cycles", "max-seconds", "hang",
                                      "interrupted", "checkpoint", "heard",      "stopped",     "error"};
    const Arguments &a = arguments;
    auto limit = [](Json &json, const char *key, uint64_t value) {
        value == UINT64_MAX ? json.null(key) : json.number(key, value);
    };
    json.object("arguments").string("bootargs", a.bootargs);
    a.has_seed ? json.number("seed", a.seed) : json.null("seed");
    json.string("console", a.console_name).number("uart0_baud", a.uart0_baud).number("uart1_baud", a.uart1_baud);
    limit(json, "uart1_start", a.uart1_start);
    limit(json, "max_cycles", a.max_cycles);
    a.max_seconds > 0 ? json.real("max_seconds", a.max_seconds) : json.null("max_seconds");
    json.number("hang_cycles", a.hang_cycles).array("pokes");
    for (const Poke &poke : pokes)
        json.object()
            .string("register", poke.name)
            .number("value", poke.value)
            .number("cycle", poke.cycle)
            .end_object();
    json.end_array().end_object();

    json.object("image").string("sha256", image.sha256).number("bytes", image.file_bytes).end_object();
    if (inputs.feed.empty())
        json.null("uart1_in");
    else
        json.object("uart1_in").string("sha256", feed_sha256).number("bytes", inputs.feed.size()).end_object();
    if (alone)
        write_harness(json, ram_bytes());

    json.object("exit").string("kind", END[int(failed ? End::FAILURE : end)]).number("status", uint64_t(status()));
    end == End::TARGET ? json.number("code", exit_code) : json.null("code");
    json.end_object();
    reason.empty() ? json.null("reason") : json.string("reason", reason);
    json.number("cycles", ended).real("simulated_seconds", double(ended) / CLOCK_HZ);

    json.object("window").boolean("from_probes", watch.window_by_target).number("count", watch.window_count);
    json.number("begin", watch.window_began).number("end", watch.window_ended);
    json.number("cycles", watch.window_cycles).end_object();

    json.array("harts");
    for (const Hart &hart : watch.harts) {
        json.object();
        watch.write_hart(json, hart);
        json.end_object();
    }
    json.end_array();
    watch.write_shared(json);
    write_results(json);

    std::string group; // that is open
    for (const Device *device : devices) {
        std::string of = device->record_group() ? device->record_group() : "";
        if (of != group && !group.empty())
            json.end_object();
        if (of != group && !of.empty())
            json.object(of.c_str());
        group = of;
        device->record(json);
    }
    if (!group.empty())
        json.end_object();
    json.string("digest", format("%016llx", (unsigned long long)digest()));
}

void Run::write_nodes(Json &json)
{
    json.array("nodes");
    for (size_t i = 0; i < nodes.size(); i++) {
        json.object();
        nodes[i] ? nodes[i]->write_record(json, false) : (void)json.members(finals[i].record);
        json.end_object();
    }
    json.end_array().array("wires");
    auto end = [](const WireEnd &end) { return std::to_string(end.node) + "." + end.device; };
    for (const Joined &joined : wires) {
        json.object().string("from", end(joined.wire.from)).string("to", end(joined.wire.to));
        json.number("latency", joined.wire.latency).number("messages", joined.wire.messages).end_object();
    }
    json.end_array();
}

void Run::write_record()
{
    Json json;
    json.object().number("schema", SCHEMA);
    if (alone()) {
        nodes[0]->write_record(json, true);
    } else {
        write_harness(json, nodes[0]->ram_bytes());
        json.number("cycles", cycles()).real("simulated_seconds", double(cycles()) / CLOCK_HZ);
        json.object("exit").number("status", uint64_t(status())).end_object();
        write_nodes(json);
        json.string("digest", format("%016llx", (unsigned long long)digest()));
    }
    double seconds = host_seconds();
    uint64_t simulated = 0, skipped = 0;
    for (const Final &node : finals) {
        simulated += node.simulated;
        skipped += node.skipped;
    }
    json.object("host").real("seconds", seconds).real("cycles_per_second", double(simulated) / seconds);
    json.number("skipped_cycles", skipped);
    arguments.restore.empty() ? json.null("restored_at") : json.number("restored_at", nodes[0]->began);
    if (!alone())
        json.number("jobs", plan.jobs);
    json.string("command", arguments.command).end_object().end_object();

    OutFile file;
    file.open(arguments.out + "/run.json");
    file.write(json.text + "\n");
    file.close();
}
