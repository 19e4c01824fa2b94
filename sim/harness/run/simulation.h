// One run: the clock loop and everything that is attached to the chip's pins.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/serial.h"
#include "devices/terminal.h"
#include "inspect/inspect.h"
#include "machine/image.h"
#include "machine/model.h"
#include "machine/skip.h"
#include "observers/samples.h"
#include "options/arguments.h"
#include "run/checkpoint.h"
#include "run/wave_window.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/watchdog.h"
#include "watch/hang.h"
#include "watch/observer.h"
#include "watch/watch.h"

class Simulation {
  public:
    // Goes on where the checkpoint was taken, if there is one. Throws Failure on bad input.
    Simulation(const Arguments &arguments, Inputs inputs, const Checkpoint *checkpoint);

    int run(); // the exit status; throws nothing: a Failure is reported, and what there is is kept

  private:
    using Clock = std::chrono::steady_clock;
    enum class End { NONE, TARGET, MAX_CYCLES, MAX_SECONDS, HANG, INTERRUPTED, CHECKPOINT, FAILURE };
    struct Blob {
        uint32_t kind, address, length;
        uint64_t cycle;
        std::string content; // only for a checkpoint

        template <class Archive> void serialize(Archive &archive) { archive(kind, address, length, cycle, content); }
    };

    void schedule();
    void open_outputs();
    void attach_observers();
    template <class Kind, class... Rest> Kind *observe(const std::string &path, Rest &&...rest);
    void at_moment(uint64_t now);
    void wave_moment(const Moment &moment, uint64_t now);
    void loop();
    bool step();
    uint64_t next_from_outside() const;
    void serial_step(uint64_t edge);
    void host_step(uint64_t now);
    void trace_record(uint64_t now);
    void copy_blob(uint64_t now);
    void write_blob(uint32_t kind, const void *content, size_t length);
    void start_feed(uint64_t edge);
    void console_byte(uint8_t byte);
    void data_byte(uint8_t byte);
    void apply_pokes();
    void save_checkpoint();
    void restore(const Checkpoint &checkpoint);
    void write_again();
    template <class Archive> void state(Archive &archive);
    void poll_data_line();
    void poll_host();
    void poll_console();
    void drain();
    void stop(End end, const std::string &reason);
    void finish();
    void show_harts() const;
    void show_progress(Clock::time_point now);
    void write_record();
    void write_results(class Json &json) const;
    uint64_t digest();
    int status() const;
    double host_seconds() const { return std::chrono::duration<double>(Clock::now() - started).count(); }

    const Arguments &arguments;
    Model model;
    HartPins pins;
    Inputs inputs;
    Image image;
    std::string feed_sha256;
    Watch watch;
    Inspector inspector;
    std::vector<std::unique_ptr<Observer>> observers;
    Samples *samples = nullptr; // one of them
    Hang hang;
    WaveWindow wave_window;
    Watchdog watchdog;
    Skip skip;
    Terminal terminal, data_terminal;
    LineDriver uart0_in, uart1_in;
    LineReceiver uart0_out, uart1_out;

    OutFile console_file, trace_file, uart1_file;
    std::string console_text;
    Mix uart1_mix, trace_mix;
    uint64_t trace_records = 0;
    std::vector<Blob> blobs;
    std::map<uint32_t, bool> blob_kinds; // written in this run: the next one of the kind is appended

    uint64_t cycle = 0; // the next cycle to simulate
    uint64_t began = 0; // the first one simulated here: not 0 if the run was restored
    uint64_t until = 0; // where the loop looks up next
    unsigned still = 0; // cycles in which no hart did anything, up to now
    uint64_t ended = 0; // the cycle at which the run ended, before the lines were drained
    uint64_t fed_at = NEVER;
    bool feed_due = false; // its moment has come, whether or not there was anything to feed
    uint32_t wires = 0, source_wires = 0;
    End end = End::NONE;
    std::string reason; // one line; empty if the target ended with code 0
    bool failed = false; // a Failure was reported
    uint32_t exit_code = 0;

    std::vector<Poke> pokes; // by cycle
    size_t poked = 0;        // of them
    bool moment_reached = false, checkpoint_written = false;
    std::string trace_before, uart1_before; // what the outputs held at the checkpoint that was restored

    Clock::time_point started, shown;
    uint64_t shown_cycle = 0;
    bool progress_on_terminal = false, progress_open = false;
};

// Set by SIGINT and SIGTERM.
extern volatile int interrupted_by;
