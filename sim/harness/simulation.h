// One run: the clock loop and everything that is attached to the chip's pins.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "arguments.h"
#include "files.h"
#include "hang.h"
#include "hash.h"
#include "image.h"
#include "model.h"
#include "serial.h"
#include "terminal.h"
#include "watch.h"

class Simulation {
  public:
    explicit Simulation(const Arguments &arguments); // throws Failure on bad input

    int run(); // the exit status; throws nothing: a Failure is reported, and what there is is kept

  private:
    using Clock = std::chrono::steady_clock;
    enum class End { NONE, TARGET, MAX_CYCLES, MAX_SECONDS, HANG, INTERRUPTED, FAILURE };
    struct Blob {
        uint32_t kind, address, length;
        uint64_t cycle;
    };

    void open_outputs();
    void loop();
    void step();
    void serial_step(uint64_t edge);
    void host_step(uint64_t now);
    void trace_record(uint64_t now);
    void copy_blob(uint64_t now);
    void start_feed(uint64_t edge);
    void console_byte(uint8_t byte);
    void data_byte(uint8_t byte);
    void poll_data_line();
    void poll_host();
    void drain();
    void stop(End end, const std::string &reason);
    void finish();
    void report_harts() const;
    void show_progress(Clock::time_point now);
    void write_record();
    void write_results(class Json &json) const;
    uint64_t digest();
    int status() const;
    double host_seconds() const { return std::chrono::duration<double>(Clock::now() - started).count(); }

    const Arguments &arguments;
    Model model;
    HartPins pins;
    Image image;
    std::vector<uint8_t> feed; // for the data line
    std::string feed_sha256;
    Watch watch;
    Hang hang;
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
    uint64_t ended = 0; // the cycle at which the run ended, before the lines were drained
    uint64_t fed_at = NEVER;
    uint32_t wires = 0, source_wires = 0;
    End end = End::NONE;
    std::string reason; // one line; empty if the target ended with code 0
    bool failed = false; // a Failure was reported
    uint32_t exit_code = 0;

    Clock::time_point started, shown;
    uint64_t shown_cycle = 0;
    bool progress_on_terminal = false, progress_open = false;
};

// Set by SIGINT and SIGTERM.
extern volatile int interrupted_by;
