#include "watch/latency.h"

#include <string>

// A rise before the handler of the last one began is the same interrupt: it has waited since the first.
void LatencyWatch::rise(unsigned source, uint64_t cycle)
{
    Source &s = sources[source];
    s.rises += window;
    if (!s.handler.under_way) {
        s.handler.under_way = true;
        s.handler.since = cycle;
    }
}

// The handler wakes the thread: if it has not begun since an earlier interrupt, it has waited since that one's rise.
LatencyWatch::Passed LatencyWatch::handler(uint32_t source, uint64_t cycle)
{
    if (source >= sources.size() || !sources[source].handler.under_way)
        return {}; // raised by software: there is no wire to count from
    Source &s = sources[source];
    if (!s.thread.under_way) {
        s.thread.under_way = true;
        s.thread.since = s.handler.since;
    }
    return arrive(s.handler, cycle);
}

LatencyWatch::Passed LatencyWatch::thread(uint32_t source, uint64_t cycle)
{
    if (source >= sources.size() || !sources[source].thread.under_way)
        return {};
    return arrive(sources[source].thread, cycle);
}

LatencyWatch::Passed LatencyWatch::arrive(Way &way, uint64_t cycle)
{
    way.under_way = false;
    if (window && way.since >= window_began)
        way.cycles.add(cycle - way.since);
    return {true, way.since};
}

void LatencyWatch::write(Json &json) const
{
    json.object("interrupts");
    for (size_t i = 0; i < sources.size(); i++) {
        if (!sources[i].rises)
            continue;
        json.object(std::to_string(i).c_str()).number("rises", sources[i].rises);
        sources[i].handler.cycles.write(json, "wire_to_handler");
        sources[i].thread.cycles.write(json, "wire_to_thread");
        json.end_object();
    }
    json.end_object();
}
