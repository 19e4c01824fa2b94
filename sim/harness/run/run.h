// One run: the nodes, the wires between them, the limits, and the files that it leaves.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "options/plan.h"
#include "run/lookahead.h"
#include "run/node.h"
#include "support/crew.h"
#include "support/watchdog.h"

class Run {
  public:
    // `checkpoint` may be null. Throws Failure on bad input.
    Run(Plan plan, const CheckpointFile *checkpoint);

    int run(); // the exit status; throws nothing: reports a Failure, and still writes the outputs

  private:
    using Clock = std::chrono::steady_clock;
    using End = Node::End;
    struct Joined { // a wire and the devices at its ends
        Wire wire;
        Device *from, *to;
    };

    bool alone() const { return nodes.size() == 1 && !plan.several; }
    void join();
    void loop();
    void advance(uint64_t limit);
    std::vector<size_t> to_serve(const std::vector<uint64_t> &limits, const std::vector<uint64_t> &stirs,
                                 uint64_t limit);
    bool going() const; // a node is
    uint64_t time() const; // that all running nodes have reached
    void poll_devices();
    void poll_host();
    void look_at_ends();
    void stop(End how, const std::string &reason); // all running nodes
    void save_checkpoint();
    void finish();
    void show_progress(Clock::time_point now);
    void write_record();
    void write_nodes(class Json &json);
    uint64_t digest();
    int status() const;
    uint64_t cycles() const; // of the longest node
    double host_seconds() const { return std::chrono::duration<double>(Clock::now() - started).count(); }

    Plan plan;
    const Arguments &arguments; // for all nodes
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Joined> wires; // by source: the order of arrivals in one cycle
    Lookahead lookahead;
    Watchdog watchdog;
    Crew crew;
    uint64_t order; // of service, if shuffled: the state of a generator
    bool checkpoint_written = false;

    Clock::time_point started, shown;
    uint64_t shown_cycle = 0;
    bool progress_on_terminal = false, progress_shown = true;
};
