// A command line's arguments for a node and its run (README, "Options"); options/plan.h has all of it.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generated/options.h"
#include "options/moment.h"
#include "options/poke.h"

// The part of the command line that shapes a run's past, and so goes into its checkpoints.
constexpr uint64_t ETHER_START_PROGRAM = UINT64_MAX; // frames are played at the program's command ...
constexpr uint64_t ETHER_START_LOG = UINT64_MAX - 1; // ... or each at the cycle of its time stamp

struct Shape {
    std::string bootargs;
    uint64_t seed = 0;
    bool has_seed = false;
    uint64_t uart0_baud = otherwise::UART0_BAUD, uart1_baud = otherwise::UART1_BAUD;
    uint64_t uart1_start = UINT64_MAX; // UINT64_MAX: at the target's command
    bool uart0_flow = false, uart1_flow = false; // its far end obeys the target's RTS
    std::vector<std::string> disks; // drives, as on the command line

    uint64_t ether_start = ETHER_START_PROGRAM, ether_mbits = otherwise::ETHER_MBITS;
    uint64_t ether_unplug = UINT64_MAX, ether_plug = UINT64_MAX; // cycles at which the cable is pulled and plugged

    template <class Archive> void serialize(Archive &archive)
    {
        archive(bootargs, seed, has_seed, uart0_baud, uart1_baud, uart1_start, uart0_flow, uart1_flow, ether_start,
                ether_mbits, ether_unplug, ether_plug, disks);
    }
};

struct Arguments : Shape {
    enum class Console { TTY, PTY, FILE, NONE };

    std::string image, out, uart1_in, uart1_out, uart1_name = otherwise::UART1;
    std::string ether_in, ether_out, ether_tap;
    bool ether_user = false;
    std::string wave, probe_log, timeline, flame, latencies, samples, arrivals; // files of observers
    std::map<std::string, std::string> symbols; // of programs: their ELF files by their names
    Console console = Console::TTY;
    std::string console_name; // as given; empty: file with --out, else tty
    std::vector<std::string> expected, typed; // on the console: the n-th is typed once the n-th has been printed
    bool uart1_pty = false; // the data line is a pseudo-terminal, else files
    uint64_t max_cycles = UINT64_MAX;
    uint64_t sample_cycles = otherwise::SAMPLE_CYCLES;
    uint64_t hang_cycles =
        UINT64_MAX; // not given: otherwise::HANG_CYCLES; with a pseudo-terminal never, as a user may pause
    Moment wave_begin, wave_end, flame_begin, flame_end;
    uint64_t wave_cycles = UINT64_MAX;
    bool quiet = false;
    bool empty_ram = false; // the image is not put there
    bool evaluate_twice = false; // by Verilator's eval(), see Model::cycle
    bool target_status = false; // end with the target's exit code and not with 1
    bool skip = true, check_skip = false; // skip idle cycles; simulate them as well, and compare
    double max_seconds = otherwise::MAX_SECONDS, progress = otherwise::PROGRESS; // 0: none
    uint64_t stall_seconds = otherwise::STALL_SECONDS,
             max_stall = otherwise::MAX_STALL; // of standing still: to report it, to end; 0: never
    std::string checkpoint, restore; // files
    Moment checkpoint_at;
    bool checkpoint_stop = false; // the run ends there
    std::vector<Poke> pokes;
    std::string command; // quoted for a shell
    std::set<std::string> given; // the options in it

    void add_seed(); // to the boot arguments, unless they have one
};
