// Several nodes in one run: how far each may go on (run/lookahead.h), the promise of a serial line
// (devices/serial.h), and threads that share a job (support/crew.h).
#include <cstdio>
#include <cstdlib>
#include <random>

#include "devices/serial.h"
#include "run/lookahead.h"
#include "support/crew.h"

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

static std::vector<uint64_t> limits(std::vector<uint64_t> stirs, std::vector<Lookahead::Link> links, uint64_t delay)
{
    return Lookahead(unsigned(stirs.size()), std::move(links))
        .limits(std::move(stirs), [delay](unsigned, uint64_t first) { return first + delay; });
}

static void a_waiting_node_promises_its_alarm()
{
    // 0 is busy at 100, 1 sleeps until 5000, both ways 10 cycles.
    CHECK((limits({100, 5000}, {{0, 1}, {1, 0}}, 10) == std::vector<uint64_t>{120, 110})); // 1 may be woken at 110
    CHECK((limits({100, 5000}, {{1, 0}}, 10) == std::vector<uint64_t>{5010, NEVER}));
    CHECK((limits({NEVER, NEVER}, {{0, 1}, {1, 0}}, 10) == std::vector<uint64_t>{NEVER, NEVER}));
    // Round a ring of four: what 0 sends comes back to it over the three that wait.
    CHECK((limits({100, NEVER, NEVER, NEVER}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, 7) ==
           std::vector<uint64_t>{128, 107, 114, 121}));
}

// Against the definition: the least fixed point, found by iteration.
static void it_is_the_least_fixed_point()
{
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        unsigned nodes = 1 + random() % 6;
        std::vector<Lookahead::Link> links(random() % 12);
        std::vector<uint64_t> delays;
        for (auto &link : links) {
            link = {unsigned(random() % nodes), unsigned(random() % nodes)};
            delays.push_back(1 + random() % 50);
        }
        std::vector<uint64_t> stirs;
        for (unsigned i = 0; i < nodes; i++)
            stirs.push_back(random() % 4 ? random() % 300 : NEVER);
        auto arrives = [&](unsigned link, uint64_t first) { return first == NEVER ? NEVER : first + delays[link]; };
        auto found = Lookahead(nodes, links).limits(stirs, arrives);
        std::vector<uint64_t> first = stirs, limit(nodes, NEVER);
        for (bool moved = true; moved;) {
            moved = false;
            for (unsigned i = 0; i < links.size(); i++) {
                uint64_t at = arrives(i, first[links[i].from]);
                unsigned to = links[i].to;
                if (at < limit[to])
                    limit[to] = at, moved = true;
                if (at < first[to])
                    first[to] = at, moved = true;
            }
        }
        CHECK(found == limit);
    }
}

// A byte never comes sooner than was promised in any earlier cycle, and in a frame under way it comes exactly then.
static void a_line_keeps_its_promise()
{
    std::mt19937 random(2);
    for (uint64_t baud : {57'600ull, 921'600ull, 6'000'000ull, 15'000'000ull}) {
        LineDriver in({60'000'000, baud});
        LineReceiver out({60'000'000, baud});
        uint64_t promised = 0, bytes = 0;
        for (uint64_t cycle = 0; bytes < 50; cycle++) {
            promised = out.next_byte(cycle);
            bool under_way = !out.idle();
            if (in.idle() && random() % 100 == 0)
                in.send("ab", 1 + random() % 2, cycle);
            while (cycle >= in.next)
                in.advance(cycle);
            if (out.due(in.level, cycle) && out.advance(in.level, cycle)) {
                bytes++;
                CHECK(under_way && cycle == promised);
            }
            CHECK(out.next_byte(cycle + 1) >= promised || cycle >= promised);
        }
    }
}

static void each_piece_is_done_once()
{
    for (unsigned hands : {1u, 2u, 4u}) {
        Crew crew(hands);
        for (size_t pieces = 0; pieces < 200; pieces++) {
            std::vector<int> done(pieces);
            crew.share(pieces, [&](size_t i) { done[i]++; });
            for (int times : done)
                CHECK(times == 1);
        }
    }
}

int main()
{
    a_waiting_node_promises_its_alarm();
    it_is_the_least_fixed_point();
    a_line_keeps_its_promise();
    each_piece_is_done_once();
}
