// One run: the nodes, the wires between them, the limits, and the files that it leaves.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "options/plan.h"
#include "run/lookahead.h"
#include "run/node.h"
#include "run/ranks.h"
#include "support/crew.h"
#include "support/watchdog.h"

class Run {
  public:
    // `checkpoint` may be null. Throws Failure on bad input.
    Run(Plan plan, const CheckpointFile *checkpoint, Ranks &ranks);

    int run(); // the exit status; throws nothing: reports a Failure, and still writes the outputs

  private:
    using Clock = std::chrono::steady_clock;
    using End = Node::End;
    struct Joined { // a wire and the devices at its ends; null: another rank's
        Wire wire;
        Device *from, *to;
        size_t source; // of `sources`
    };
    struct Seen { // of a node, on all ranks
        uint64_t time, stirs, ended;
        uint32_t exit_code;
        End end;
        bool over, failed, hangs;
    };
    struct Final { // the same, behind the end
        uint64_t digest = 0, simulated = 0, skipped = 0;
        int status = 2;
        std::string record; // null: its rank has ended before
        template <class Archive> void serialize(Archive &archive)
        {
            archive(digest, simulated, skipped, status, record);
        }
    };

    bool alone() const { return nodes.size() == 1 && !plan.several; }
    void look(); // brings `seen` and the sources' promises up to date
    void exchange_messages();
    void deliver(const Message &message);
    void gather_own(); // `finals`, of this rank's nodes
    void gather(); // ... and of the others'
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
    void stop(End how, const std::string &reason); // all running nodes of this rank
    void save_checkpoint();
    void finish();
    void show_progress(Clock::time_point now);
    void write_record();
    void write_nodes(class Json &json);
    uint64_t digest() const;
    int status() const;
    uint64_t cycles() const; // of the longest node
    double host_seconds() const { return std::chrono::duration<double>(Clock::now() - started).count(); }

    Plan plan;
    const Arguments &arguments; // for all nodes
    Ranks &ranks;
    std::vector<std::unique_ptr<Node>> nodes; // null: another rank's
    std::vector<Node *> own; // the others
    std::vector<Seen> seen; // by node
    std::vector<Final> finals; // by node
    std::vector<Joined> wires; // by source: the order of arrivals in one cycle
    struct Source { // a device that sends over wires
        unsigned node;
        Device *device; // null: another rank's
        Device::Sends sends;
    };
    std::vector<Source> sources;
    std::vector<uint64_t> promised; // by wire, of the current round
    Lookahead lookahead;
    Watchdog watchdog;
    Crew crew;
    uint64_t order; // of service, if shuffled: the state of a generator
    bool checkpoint_written = false;
    bool broken = false; // a Failure has ended the loop: the other ranks are not heard any more

    Clock::time_point started, shown;
    uint64_t shown_cycle = 0;
    bool progress_on_terminal = false, progress_shown = true;
};
