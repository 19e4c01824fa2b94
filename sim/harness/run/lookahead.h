// How far each node of a run may advance before it has heard from the others: conservative lookahead of Chandy, Misra
// and Bryant (README, "Several nodes"), without null messages: all promises are known at once.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

class Lookahead {
  public:
    struct Link {
        unsigned from, to; // nodes
    };
    // When a message over a link may arrive first, if its sender does nothing before a cycle: later than that cycle,
    // and monotonic in it.
    using Promise = std::function<uint64_t(unsigned link, uint64_t first)>;

    Lookahead(unsigned nodes, std::vector<Link> links);

    // `stirs` is the first cycle in which each node may act if nothing arrives; the result, by node, the first in which
    // something may arrive. UINT64_MAX: never.
    std::vector<uint64_t> limits(std::vector<uint64_t> stirs, const Promise &arrives) const;

  private:
    std::vector<Link> links;
    std::vector<std::vector<unsigned>> from; // by node: its links
};
