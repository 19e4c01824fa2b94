// One machine: a model, the devices at its pins, its observers and its files. A run (run/run.h) has one or more.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/disk.h"
#include "devices/ether.h"
#include "devices/host_port.h"
#include "devices/serial_port.h"
#include "devices/trace_port.h"
#include "inspect/inspect.h"
#include "machine/image.h"
#include "observers/samples.h"
#include "options/arguments.h"
#include "options/window.h"
#include "run/checkpoint.h"
#include "run/wire.h"
#include "support/hash.h"
#include "watch/hang.h"
#include "watch/observer.h"
#include "watch/watch.h"

// Set by SIGINT, SIGTERM and SIGHUP.
extern volatile int interrupted_by;
// The last line on stderr shows progress, without a newline yet.
extern std::atomic<bool> progress_open;

struct Machine;
class Model;
class Skip;

class Node {
  public:
    enum class End { NONE, TARGET, MAX_CYCLES, MAX_SECONDS, HANG, INTERRUPTED, CHECKPOINT, HEARD, STOPPED, FAILURE };

    // Node `number` of `count`; resumes from the checkpoint if there is one, as one of several made from it if it is a
    // `clone`. Throws Failure on bad input.
    Node(const Arguments &arguments, Inputs inputs, const Checkpoint *checkpoint, unsigned number, unsigned count,
         bool clone);
    ~Node();

    void begin(); // before the first cycle

    // Simulates all cycles before `limit`, or until the node ends. Before `limit` nothing comes from outside but what
    // was delivered. May return early, at a moment for a checkpoint. Throws nothing: a Failure ends the node.
    void advance(uint64_t limit);
    uint64_t time() const { return std::max(cycle, slept_to); } // all cycles before this one are done
    // It has no more output: it has ended and its lines are drained.
    bool over() const { return end != End::NONE && !draining; }

    // Wires. Messages sent since the last call, by wire; and the first cycle in which the device may send, if nothing
    // arrives at the node before `arrival`.
    std::vector<Message> sent; // not saved: the run has taken them
    void deliver(const Message &message, Device &to);
    uint64_t stirs_at() const; // the first cycle in which it may act, if nothing arrives
    Device *device(const std::string &name); // null: no such device that wires can be attached to
    void begin_wire(Device &from, unsigned wire, uint64_t latency);

    // The run's part in it.
    const std::vector<Device *> &device_list() const { return devices; }
    void stop(End how, const std::string &reason);
    bool at_checkpoint() const { return moment_reached; }
    void catch_up(); // brings the model to `time`
    Checkpoint save(); // once: nothing is kept for another one afterwards
    void flush();
    bool hangs() const { return hang.dead_long(); }
    void finish(); // writes all outputs; each may fail by itself, and the others are still written
    void show_harts() const;
    void show_console() const; // expected texts that did not come, and incomplete lines
    uint64_t digest(); // behind the end
    void write_record(Json &json, bool alone);

    const Arguments arguments;
    const unsigned number, count;
    End end = End::NONE;
    uint64_t ended = 0; // the cycle at which it ended, before the lines were drained
    std::string reason; // one line; empty if the target ended with code 0
    bool failed = false; // a Failure was reported
    uint32_t exit_code = 0;
    uint64_t began = 0; // not saved: the first cycle simulated here, not 0 if the node was restored
    uint64_t skipped() const;
    size_t ram_bytes() const;
    const std::string &image_sha256() const { return image.sha256; }
    const std::string &console() const { return console_line.text(); }
    std::string says() const { return count > 1 ? "node " + std::to_string(number) + ": " : ""; }
    int status() const;

  private:
    struct Arrival {
        Message message;
        Device *to;
    };

    void schedule();
    void check_moments();
    void open_outputs();
    void attach_observers();
    template <class Kind, class... Rest> Kind *observe(const std::string &path, Rest &&...rest);
    void at_moment(uint64_t now);
    void window_moment(const Moment &moment, uint64_t now);
    void go_on(uint64_t limit);
    void drain(uint64_t limit);
    bool step();
    bool drain_step();
    void look_at_devices();
    uint64_t next_from_outside() const { return std::min(next_of_devices(), next_arrival()); }
    uint64_t next_of_devices() const;
    uint64_t next_while_draining() const;
    uint64_t drain_end() const { return std::min(drain_limit, drain_last + drain_quiet); }
    uint64_t next_arrival() const { return arrivals.empty() ? NEVER : arrivals.front().message.at; }
    void wake(uint64_t at);
    std::string outside() const; // the state of the devices and observers of the model's pins
    [[noreturn]] void late(const Message &message, uint64_t now) const;
    void before_edge(uint64_t now);
    void after_edge(uint64_t now);
    void trace(const TracePort::Record &record, uint64_t now);
    void apply_pokes();
    void poke(const Poke &poke);
    std::string model_state();
    void restore_model(const std::string &state);
    void restore(const Checkpoint &checkpoint);
    template <class Archive> void state(Archive &archive);
    void write_results(Json &json) const;

    const std::unique_ptr<Machine>
        machine; // saved as the model's state: all that depends on the machine; the next two are its parts
    Model &model;
    Skip &skip;
    Inputs inputs;
    Image image; // not saved: of the inputs
    std::string feed_sha256; // not saved: likewise
    Watch watch;
    Inspector inspector; // not saved: it has no state
    std::vector<std::unique_ptr<Observer>> observers; // not saved: this run's
    Samples *samples = nullptr; // not saved: one of them
    OutFile arrivals_log; // not saved: likewise
    Hang hang;
    Window wave_window, flame_window; // not saved: this run's

    // Not saved here: the list of all devices saves them.
    Console console_line;
    DataLine data_line;
    TracePort trace_port;
    HostPort host_port;
    std::vector<std::unique_ptr<Disk>> disks;
    std::unique_ptr<EtherPort> ether_port; // null: this machine has none

    std::vector<Device *> devices; // those, in the order in which they are called in a cycle

    // Not saved, but recomputed. The devices' requests, as the clock loop reads them: the earliest of each, and all
    // pins.
    Device::Wants wants;
    uint64_t slept_to = 0; // the model is at `cycle`, and does nothing in the cycles up to here
    uint64_t until = 0; // where the loop stops next
    unsigned still = 0; // the last so many cycles, in which no hart did anything

    std::vector<Arrival> arrivals; // by time, then source; the next one first
    uint64_t cycle = 0; // the next cycle to simulate
    uint32_t wires = 0, source_wires = 0;

    bool draining = false; // the target has ended, its last characters are in transit
    uint64_t drain_limit = 0, drain_last = 0, drain_quiet = 0;

    std::optional<uint64_t> digested; // not saved: behind the end
    std::vector<Poke> pokes; // by cycle
    size_t poked = 0; // of them
    bool moment_reached = false, checkpoint_written = false; // not saved: this run's
};
