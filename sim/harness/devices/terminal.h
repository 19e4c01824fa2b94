// The far end of a line: standard input and output, a pseudo-terminal, or nothing. Never blocks the simulation.
#pragma once
#include <termios.h>

#include <string>

#include "options/arguments.h"

class Terminal {
  public:
    explicit Terminal(Arguments::Console kind);
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    ~Terminal(); // restores the terminal's modes

    void write(uint8_t byte);
    void flush();       // throws Failure if standard output fails
    std::string read(); // what has been typed since the last call
    bool listens() const { return in >= 0; } // something may still be typed
    bool ended() const { return end; } // a file or pipe has been read to its end

    // The bit rate that a program at the pseudo-terminal has set last, as on a serial port; 0: not a pseudo-terminal.
    uint64_t baud() const;
    void set_baud(uint64_t baud);

    std::string pty_name; // where a program can attach; empty unless PTY

  private:
    int in = -1, out = -1;
    bool is_pty = false, restore = false, end = false;
    termios saved{};
    std::string pending;
};
