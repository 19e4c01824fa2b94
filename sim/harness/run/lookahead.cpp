#include "run/lookahead.h"

#include <algorithm>
#include <queue>

Lookahead::Lookahead(unsigned nodes, std::vector<Link> all) : links(std::move(all)), from(nodes)
{
    for (unsigned i = 0; i < links.size(); i++)
        from[links[i].from].push_back(i);
}

// Shortest paths by Dijkstra's algorithm: the node that may act first cannot be woken by others before.
std::vector<uint64_t> Lookahead::limits(std::vector<uint64_t> stirs, const Promise &arrives) const
{
    using Entry = std::pair<uint64_t, unsigned>; // cycle, node
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> next;
    std::vector<uint64_t> limits(stirs.size(), UINT64_MAX);
    for (unsigned node = 0; node < stirs.size(); node++)
        if (stirs[node] != UINT64_MAX)
            next.push({stirs[node], node});
    while (!next.empty()) {
        auto [cycle, node] = next.top();
        next.pop();
        if (cycle != stirs[node])
            continue; // an earlier wake-up was found
        for (unsigned link : from[node]) {
            unsigned to = links[link].to;
            uint64_t arrival = arrives(link, cycle);
            limits[to] = std::min(limits[to], arrival);
            if (arrival < stirs[to]) {
                stirs[to] = arrival;
                next.push({arrival, to});
            }
        }
    }
    return limits;
}
