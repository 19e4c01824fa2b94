/*
 * Terminals that hang up: what processes of a session get after its leader has ended, if they were reading then, or
 * read, write, poll and query afterwards; in its foreground and its background, with SIGHUP handled and ignored.
 *
 * Here the terminal is the console, each time anew. On Linux it is a pseudo-terminal that the judge has opened, from
 * the list TERMINALS; that stays when its leader ends: the judge hangs it up when it receives a form feed.
 */
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "say.h"

static volatile sig_atomic_t hung_up;

static void note(int number)
{
    (void)number;
    hung_up++;
}

static int terminal(int i)
{
    char *at = getenv("TERMINALS");
    for (; at && i; i--)
        strtol(at, &at, 10);
    return at ? (int)strtol(at, &at, 10) : open("/dev/console", O_RDWR | O_NOCTTY);
}

static void hang_up(int tty)
{
    struct pollfd p = {tty, 0, 0};
    if (!getenv("TERMINALS"))
        return;
    write(tty, "\f", 1);
    while (!(p.revents & POLLHUP))
        poll(&p, 1, -1);
}

static void is_told(int fd)
{
    char c;
    while (read(fd, &c, 1) < 0 && errno == EINTR)
        ;
}

static void asks(int tty)
{
    struct termios modes;
    struct winsize size;
    struct pollfd p = {tty, POLLIN | POLLOUT, 0};
    char c;
    int n;
    SAID(read(tty, &c, 1));
    SAID(read(tty, &c, 0));
    SAID(write(tty, "x", 1));
    SAID(write(tty, "x", 0));
    SAID(poll(&p, 1, 0));
    say("in %d, out %d, error %d, hung up %d", !!(p.revents & POLLIN), !!(p.revents & POLLOUT), !!(p.revents & POLLERR),
        !!(p.revents & POLLHUP));
    p.events = 0;
    SAID(poll(&p, 1, 0));
    SAID(tcgetattr(tty, &modes));
    SAID(isatty(tty));
    SAID(ioctl(tty, FIONREAD, &n));
    SAID(ioctl(tty, TIOCGWINSZ, &size));
    SAID(tcgetpgrp(tty));
    SAID(tcsetpgrp(tty, getpgrp()));
    SAID(tcflush(tty, TCIFLUSH));
    SAID(tcdrain(tty));
}

/* A process of the session: it outlives the leader. */
static void outlives(int tty, bool background, bool ignores, bool reads, int ready, int told)
{
    char c;
    handle(SIGHUP, ignores ? SIG_IGN : note, SA_RESTART);
    if (background) {
        setpgid(0, 0);
        signal(SIGTTIN, SIG_IGN);
        SAID(read(tty, &c, 1));
        signal(SIGTTOU, SIG_IGN);
        SAID(write(tty, "", 0));
    }
    say("its foreground: %d", tcgetpgrp(tty) == getpgrp());
    write(ready, "", 1);
    int n = reads ? (int)read(tty, &c, 1) : 0; /* the end; of a pseudo-terminal whose other end is closed, EIO */
    is_told(told);
    say("SIGHUP %d, has read something %d", (int)hung_up, n > 0);
    asks(tty);
    _exit(0);
}

static void session(int number, bool background, bool ignores, bool reads)
{
    int ready[2], told[2], over[2], tty = terminal(number);
    char c;
    say("background %d, SIGHUP ignored %d, reads %d", background, ignores, reads);
    pipe(ready);
    pipe(told);
    pipe(over);
    pid_t leader = fork();
    if (!leader) {
        handle(SIGHUP, note, 0);
        SAID(setsid() == getpid());
        SAID(ioctl(tty, TIOCSCTTY, 0));
        SAID(ioctl(tty, TIOCSCTTY, 0)); /* it is that already */
        SAID(tcgetpgrp(tty) == getpid());
        SAID(tcsetpgrp(tty, getpid()));
        pid_t id = fork();
        if (!id) {
            close(over[0]);
            outlives(tty, background, ignores, reads, ready[1], told[0]);
        }
        read(ready[0], &c, 1);
        milliseconds(5);
        _exit(7);
    }
    close(over[1]);
    say_wait("leader", leader, 0);
    hang_up(tty);
    write(told[1], "", 1);
    SAID(read(over[0], &c, 1)); /* it has ended */
    close(over[0]);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(told[i]);
    }
    close(tty);
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        session(i, i & 1, i & 2, false);
    for (int i = 0; i < 2; i++)
        session(4 + i, false, i, true);
    return 0;
}
