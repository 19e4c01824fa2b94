/*
 * Pipes and poll at the sizes that the interface names, and in random states: poll says
 * that one can be read or written exactly if a read or a write of PIPE_BUF bytes does not give EAGAIN. Pipes hold
 * different amounts on the two systems: the program prints only what holds for all.
 */
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>

#include "say.h"

static char bytes[4 * PIPE_BUF + 100000], got[sizeof bytes];

static int revents(int fd, short events)
{
    struct pollfd p = {fd, events, 0};
    int n = poll(&p, 1, 0);
    if (n != (p.revents != 0))
        say("poll gives %d", n);
    return p.revents;
}

static void show_events(const char *what, int e)
{
    say("%s:%s%s%s%s%s%s", what, e & POLLIN ? " IN" : "", e & POLLPRI ? " PRI" : "", e & POLLOUT ? " OUT" : "",
        e & POLLERR ? " ERR" : "", e & POLLHUP ? " HUP" : "", e & POLLNVAL ? " NVAL" : "");
}

/* Fills the pipe; returns how much is in it. */
static long fill(int fd, size_t piece)
{
    long all = 0, n;
    while ((n = write(fd, bytes, piece)) > 0)
        all += n;
    return all;
}

static long drain(int fd, long most)
{
    long all = 0, n;
    while (all < most && (n = read(fd, got, (size_t)(most - all) < sizeof got ? (size_t)(most - all) : sizeof got)) > 0)
        all += n;
    return all;
}

/* A write that fits is whole, one of up to PIPE_BUF bytes that does not fit writes nothing, a longer one a part. */
static void sizes(void)
{
    static const size_t named[] = {
        0, 1, PIPE_BUF - 1, PIPE_BUF, PIPE_BUF + 1, 2 * PIPE_BUF - 1, 2 * PIPE_BUF, 2 * PIPE_BUF + 1};
    for (unsigned i = 0; i < sizeof named / sizeof *named; i++) {
        int ends[2];
        pipe(ends);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        size_t n = named[i];
        bool whole = n <= PIPE_BUF;
        say("size %u, into an empty one: %d", i, write(ends[1], bytes, n) == (ssize_t)n);
        int waiting = -1;
        ioctl(ends[0], FIONREAD, &waiting);
        say("waiting: %d", waiting == (int)n);
        say("out again: %d", drain(ends[0], (long)n) == (long)n);
        say("empty: %s", read(ends[0], got, 1) < 0 ? judge_error(errno) : "not");
        show_events("an empty one", revents(ends[0], POLLIN | POLLPRI));
        show_events("its other end", revents(ends[1], POLLIN | POLLOUT));
        long all = fill(ends[1], PIPE_BUF);
        say("a full one: %s", write(ends[1], bytes, PIPE_BUF) < 0 ? judge_error(errno) : "not");
        show_events("a full one", revents(ends[1], POLLOUT));
        show_events("its other end", revents(ends[0], POLLIN | POLLOUT));
        if (n) { /* room for exactly that, or a byte less */
            drain(ends[0], all);
            all = fill(ends[1], PIPE_BUF);
            long out = drain(ends[0], ((long)n + PIPE_BUF - 1) / PIPE_BUF * PIPE_BUF);
            long in = write(ends[1], bytes, n);
            say("into what was made free: %d", whole ? in == (long)n : in > 0 && in <= out);
        }
        drain(ends[0], LONG_MAX);
        errno = 0;
        close(ends[1]);
        say("the end: %ld", (long)read(ends[0], got, 1));
        show_events("nobody writes", revents(ends[0], POLLIN));
        close(ends[0]);
    }
}

static void ends(void)
{
    int e[2];
    signal(SIGPIPE, SIG_IGN);
    pipe(e);
    close(e[0]);
    show_events("nobody reads", revents(e[1], 0));
    say("write: %s", write(e[1], "x", 1) < 0 ? judge_error(errno) : "done");
    say("nothing: %ld", (long)write(e[1], "x", 0));
    close(e[1]);
    pipe(e);
    write(e[1], "abc", 3);
    close(e[1]);
    show_events("some is left", revents(e[0], POLLIN));
    say("read %ld", (long)read(e[0], got, sizeof got));
    show_events("none is", revents(e[0], 0));
    say("read %ld", (long)read(e[0], got, sizeof got));
    close(e[0]);
    show_events("closed", revents(e[0], POLLIN));
    struct pollfd none = {-1, POLLIN, 7};
    say("below 0: %d", poll(&none, 1, 0));
    say("revents %d", none.revents);
    pipe(e);
    SAID(read(e[1], got, 1));
    SAID(write(e[0], "x", 1));
    SAID(lseek(e[0], 0, SEEK_SET));
    SAID(pread(e[0], got, 1, 0));
    SAID(ftruncate(e[1], 0));
    close(e[0]);
    close(e[1]);
}

/* With poll and select, in a pipe of any content and after any close. */
static void properties(uint32_t state, unsigned states)
{
    unsigned wrong = 0, seen[4] = {0};
    for (unsigned i = 0; i < states; i++) {
        int e[2];
        pipe(e);
        fcntl(e[0], F_SETFL, O_NONBLOCK);
        fcntl(e[1], F_SETFL, O_NONBLOCK);
        bool at_edge = i % 4 == 0; /* full, except for PIPE_BUF bytes, or a byte more or less */
        if (at_edge || random_word(&state) % 3)
            fill(e[1], PIPE_BUF);
        if (at_edge)
            read(e[0], got, PIPE_BUF - 1 + i / 4 % 3);
        for (unsigned k = at_edge ? 0 : random_word(&state) % 4; k; k--) {
            size_t n =
                random_word(&state) % 3 ? random_word(&state) % (2 * PIPE_BUF) : PIPE_BUF - 1 + random_word(&state) % 3;
            if (random_word(&state) % 2)
                write(e[1], bytes, n);
            else
                read(e[0], got, n);
        }
        bool reader = at_edge || random_word(&state) % 5, writer = at_edge || random_word(&state) % 5 || !reader;
        if (!reader)
            close(e[0]);
        if (!writer)
            close(e[1]);
        if (writer) {
            int p = revents(e[1], POLLOUT);
            fd_set set;
            struct timeval zero = {0};
            FD_ZERO(&set);
            FD_SET(e[1], &set);
            int s = select(e[1] + 1, 0, &set, 0, &zero);
            errno = 0;
            long n = write(e[1], bytes, PIPE_BUF); /* all or nothing */
            bool done = n == PIPE_BUF, broken = errno == EPIPE;
            wrong += s != (p != 0) || (reader && !!(p & POLLOUT) != done) || !!(p & POLLERR) != broken ||
                     broken == reader || (!done && n >= 0);
            seen[done ? 0 : 1]++;
        }
        if (reader) {
            int p = revents(e[0], POLLIN), waiting;
            ioctl(e[0], FIONREAD, &waiting);
            errno = 0;
            long n = read(e[0], got, sizeof got);
            wrong += !!(p & POLLIN) != (n > 0) || !!(p & POLLHUP) != !writer || (n == 0) != (!writer && !waiting) ||
                     (n < 0) != (writer && !waiting) || (n > 0 && n != waiting);
            seen[n > 0 ? 2 : 3]++;
        }
        if (reader)
            close(e[0]);
        if (writer)
            close(e[1]);
    }
    say("%u states, %u wrong, all kinds seen: %d", states, wrong, seen[0] && seen[1] && seen[2] && seen[3]);
}

#define TURNS 6

/* Simultaneous writes of up to PIPE_BUF bytes are not mixed. */
static void not_mixed(void)
{
    static const size_t of[] = {PIPE_BUF, PIPE_BUF - 1, 1, PIPE_BUF / 2 + 1};
    int e[2];
    pipe(e);
    for (int w = 0; w < 4; w++) {
        fflush(stdout);
        if (!fork()) {
            memset(bytes, 'a' + w, sizeof bytes);
            for (int i = 0; i < TURNS; i++)
                write(e[1], bytes, of[w]);
            _exit(0);
        }
    }
    close(e[1]);
    unsigned wrong = 0;
    char c;
    size_t run = 0, count[4] = {0};
    char last = 0;
    long n;
    while ((n = read(e[0], got, sizeof got)) > 0)
        for (long i = 0; i < n; i++) {
            c = got[i];
            if (run && (c != last || run == of[last - 'a'])) {
                wrong += run != of[last - 'a'];
                run = 0;
            }
            last = c;
            run++;
            count[c - 'a']++;
        }
    wrong += run != of[last - 'a'];
    for (int w = 0; w < 4; w++) {
        wrong += count[w] != TURNS * of[w];
        wait(0);
    }
    say("not mixed: %u wrong", wrong);
    close(e[0]);
}

/*
 * The ticks of a grandchild count for its grandparent once both have been waited for; a pipe stays open in a
 * grandchild that is left.
 */
static void generations(void)
{
    int e[2];
    char c;
    pipe(e);
    if (!fork()) {
        if (!fork()) {
            close(e[0]);
            milliseconds(10);
            write(e[1], "g", 1);
            _exit(0);
        }
        _exit(0);
    }
    close(e[1]);
    say_wait("the child", -1, 0);
    SAID(read(e[0], &c, 1));
    SAID(read(e[0], &c, 1));
    say_wait("no other", -1, 0);
    close(e[0]);
}

int main(int argc, char **argv)
{
    sizes();
    ends();
    properties(1, argc > 1 ? 150 / (unsigned)atoi(argv[1]) : 150);
    not_mixed();
    generations();
    return 0;
}
