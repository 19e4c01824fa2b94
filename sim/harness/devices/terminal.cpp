#include "devices/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "devices/line_speed.h"
#include "support/failure.h"
#include "support/watchdog.h"

Terminal::Terminal(Arguments::Console kind)
{
    if (kind == Arguments::Console::TTY) {
        in = STDIN_FILENO;
        out = STDOUT_FILENO;
        if (isatty(in) && tcgetpgrp(in) == getpgrp() && tcgetattr(in, &saved) == 0) {
            termios typing = saved; // each key at once, the target echoes; Ctrl-C still ends the run
            typing.c_lflag &= ~tcflag_t(ICANON | ECHO);
            typing.c_iflag &= ~tcflag_t(ICRNL);
            restore = tcsetattr(in, TCSANOW, &typing) == 0;
        }
    } else if (kind == Arguments::Console::PTY) {
        is_pty = true;
        in = out = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (in < 0 || grantpt(in) || unlockpt(in))
            throw Failure(format("cannot open a pseudo-terminal: %s", std::strerror(errno)));
        pty_name = ptsname(in);
        int slave = open(pty_name.c_str(), O_RDWR | O_NOCTTY); // stays open: the line holds while none is attached
        if (slave < 0 || tcgetattr(slave, &saved))
            throw Failure(format("cannot open %s: %s", pty_name.c_str(), std::strerror(errno)));
        cfmakeraw(&saved);
        tcsetattr(slave, TCSANOW, &saved);
    }
}

Terminal::~Terminal()
{
    if (restore)
        tcsetattr(in, TCSANOW, &saved);
}

uint64_t Terminal::baud() const
{
    return is_pty ? line_speed(in) : 0;
}

void Terminal::set_baud(uint64_t baud)
{
    if (is_pty)
        set_line_speed(in, baud);
}

void Terminal::write(uint8_t byte)
{
    if (out >= 0)
        pending += char(byte);
}

void Terminal::flush()
{
    Doing doing("writing the console");
    while (!pending.empty()) {
        ssize_t done = ::write(out, pending.data(), pending.size());
        if (done > 0) {
            pending.erase(0, size_t(done));
        } else if (is_pty || errno == EAGAIN) {
            constexpr size_t KEPT = 65536; // nothing reads: keep the newest
            if (pending.size() > KEPT)
                pending.erase(0, pending.size() - KEPT);
            return;
        } else if (errno != EINTR) {
            out = -1;
            pending.clear();
            throw Failure(format("cannot write the console to standard output: %s", std::strerror(errno)));
        }
    }
}

std::string Terminal::read()
{
    char bytes[256];
    pollfd ready{in, POLLIN, 0};
    if (in < 0 || poll(&ready, 1, 0) <= 0)
        return "";
    ssize_t got = ::read(in, bytes, sizeof bytes);
    if (got > 0)
        return std::string(bytes, size_t(got));
    if (!is_pty && (got == 0 || (errno != EINTR && errno != EAGAIN))) {
        in = -1; // the end of a file or pipe
        end = got == 0;
    }
    return "";
}
