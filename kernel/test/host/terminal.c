/*
 * A terminal: lines and their editing, echo, signals, stopped output, reading as VMIN and VTIME say; and random
 * input, whose lines agree with a model. Sources: dev/terminal.c lock/simple_lock.c
 */
#include "dev/terminal.h"

#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "lib/random.h"
#include "sched/limit.h"
#include "sched/sched.h"
#include "test/host/host.h"

#ifndef ERESTART
#define ERESTART 512
#endif

static struct serial port;
static struct terminal tty;
static char line[8192]; /* what has been sent to the line */
static unsigned sent, room = sizeof line, signal_number, slept;
static const char *coming; /* characters that arrive one by one while a reader sleeps */
static bool interrupted, blocked;
static struct limit *limit;
static uint32_t limit_ticks;

bool serial_try_write(struct serial *p, const char *text, unsigned n)
{
    CHECK(p == &port && n <= 2);
    if (sent + n > room)
        return false;
    memcpy(line + sent, text, n);
    sent += n;
    return true;
}

int serial_write_interruptibly(struct serial *p, const char *text, unsigned n)
{
    CHECK(p == &port && !lock_write_held(&tty.tty_lock));
    if (p->stopped)
        return -EINTR;
    memcpy(line + sent, text, n);
    sent += n;
    return 0;
}

void serial_stop_output(struct serial *p, bool stop)
{
    p->stopped = stop;
}

void serial_block(struct serial *p, bool on)
{
    CHECK(p == &port && on != blocked);
    blocked = on;
}

int serial_drain_interruptibly(struct serial *p)
{
    return p->stopped ? -EINTR : 0;
}

uint32_t clock_hz(void)
{
    return 1000;
}

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    *l = (struct limit){.channel = channel, .lock = lock};
    limit = l;
    limit_ticks = ticks;
}

void limit_end(struct limit *l)
{
    CHECK(l == limit);
    limit = 0;
}

void thread_wakeup(const void *channel)
{
    CHECK(channel == (const void *)&tty.changes);
}

int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock)
{
    CHECK(channel == (const void *)&tty.changes && !lock_write_held(&tty.tty_lock));
    slept++;
    if (!coming || !*coming) {
        if (limit_ticks) {
            limit->over = true;
            return 0;
        }
        CHECK(interrupted);
        return -EINTR;
    }
    simple_unlock(interlock);
    terminal_input(&tty, (const uint8_t *)coming++, 1);
    simple_lock(interlock);
    return 0;
}

static void take_signal(int number)
{
    CHECK(lock_write_held(&tty.tty_lock));
    signal_number = (unsigned)number;
}

static void start(void)
{
    terminal_init(&tty, &port);
    tty.hooks.signal = take_signal;
}

static void type(const char *text)
{
    terminal_input(&tty, (const uint8_t *)text, (uint32_t)strlen(text));
}

static void mode(uint32_t set, uint32_t clear, uint8_t min, uint8_t time)
{
    struct user_termios t;
    terminal_modes(&tty, &t);
    t.lflag = (t.lflag | set) & ~clear;
    t.cc[USER_VMIN] = min;
    t.cc[USER_VTIME] = time;
    CHECK_EQUAL(terminal_set_modes(&tty, &t, USER_TIOCSETA), 0);
}

/* One read of at most `n` characters gives `text`. */
static void check_read(uint32_t n, const char *text)
{
    uint8_t got[TERMINAL_LINE + 1];
    int came = terminal_read(&tty, got, n, true);
    CHECK(came >= 0);
    got[came] = 0;
    CHECK_TEXT((const char *)got, text);
}

static void check_nothing(void)
{
    uint8_t c;
    CHECK_EQUAL(terminal_read(&tty, &c, 1, false), -EAGAIN);
}

static void check_line(const char *text)
{
    line[sent] = 0;
    CHECK_TEXT(line, text);
    sent = 0;
}

HOST_TEST(a_line_is_read_when_it_has_ended)
{
    start();
    type("ab");
    check_nothing();
    CHECK_EQUAL(terminal_readable(&tty), 0);
    type("c\rd");
    CHECK_EQUAL(terminal_readable(&tty), 4);
    check_read(64, "abc\n");
    check_nothing();
    check_line("abc\r\nd");
}

HOST_TEST(a_reader_with_little_room_gets_the_rest_next_time)
{
    start();
    type("hello\nyou\n");
    check_read(3, "hel");
    check_read(64, "lo\n");
    check_read(64, "you\n");
}

HOST_TEST(erase_kill_and_words)
{
    start();
    type("abx\x7f"
         "c\n");
    check_read(64, "abc\n");
    check_line("abx\b \bc\r\n");
    type("\x7f\x08"
         "a\x08"
         "b\n");
    check_read(64, "b\n");
    check_line("a\b \bb\r\n");
    type("wrong\x15right\n");
    check_read(64, "right\n");
    check_line("wrong\b \b\b \b\b \b\b \b\b \bright\r\n");
    type("one two  \x17three\n");
    check_read(64, "one three\n");
    sent = 0;
    type("a\tb\x7f\x7f"
         "c\n"); /* from column 0: the tab goes back 7 */
    check_read(64, "ac\n");
    check_line("a\tb\b \b\b\b\b\b\b\b\bc\r\n");
    type("\x16\x03\x7fz\n"); /* a literal ^C is shown in two columns */
    check_read(64, "z\n");
    check_line("^C\b \b\b \bz\r\n");
    CHECK_EQUAL(signal_number, 0);
}

HOST_TEST(a_line_that_has_ended_is_not_erased)
{
    start();
    type("ab\n\x7f\x7f\x15"
         "c\n");
    check_read(64, "ab\n");
    check_read(64, "c\n");
}

HOST_TEST(a_line_is_printed_again)
{
    start();
    type("ab\x12");
    check_line("ab^R\r\nab");
}

HOST_TEST(the_end_of_a_file)
{
    start();
    type("ab\x04"
         "\x04"
         "cd\n");
    check_read(2, "ab"); /* the end belongs to the line that it ended, even if that just filled the reader's buffer */
    check_read(64, "");
    check_read(64, "cd\n");
    check_line("abcd\r\n");
    CHECK(!terminal_is_readable(&tty));
    type("\x04");
    CHECK(terminal_is_readable(&tty) && terminal_readable(&tty) == 0);
    check_read(64, "");
}

HOST_TEST(signals_are_sent_and_throw_away_what_was_typed)
{
    start();
    type("ab\nxy\x03");
    CHECK_EQUAL(signal_number, USER_SIGINT);
    check_nothing();
    type("\x1c");
    CHECK_EQUAL(signal_number, USER_SIGQUIT);
    type("\x1a");
    CHECK_EQUAL(signal_number, USER_SIGTSTP);
    check_line("ab\r\nxy^C^\\^Z");
    mode(USER_NOFLSH, 0, 1, 0);
    type("ab\x03"
         "c\n");
    check_read(64, "abc\n");
    signal_number = 0;
    mode(0, USER_ISIG, 1, 0);
    type("\x03\n");
    check_read(64, "\x03\n");
    CHECK_EQUAL(signal_number, 0);
}

HOST_TEST(output_stops_and_goes_on)
{
    start();
    type("\x13");
    CHECK(port.stopped);
    CHECK_EQUAL(terminal_write(&tty, "a", 1), -ERESTART);
    type("\x11");
    CHECK(!port.stopped);
    CHECK_EQUAL(terminal_write(&tty, "a\nb", 3), 0);
    check_line("a\r\nb");
    type("\x13\x03"); /* else its effect would not show */
    CHECK(!port.stopped);
    type("\x13");
    struct user_termios t;
    terminal_modes(&tty, &t);
    CHECK_EQUAL(terminal_set_modes(&tty, &t, USER_TIOCSETAW), -ERESTART);
    t.iflag &= ~(uint32_t)USER_IXON;
    CHECK_EQUAL(terminal_set_modes(&tty, &t, USER_TIOCSETA), 0);
    CHECK(!port.stopped);
    type("\x13\n");
    check_read(64, "\x13\n");
}

HOST_TEST(characters_as_they_come)
{
    uint8_t got[8];
    start();
    mode(0, USER_ICANON | USER_ECHO, 1, 0);
    type("a\x7f\x04");
    check_read(64, "a\x7f\x04");
    coming = "xyz";
    check_read(64, "x");
    CHECK_EQUAL(slept, 1);
    mode(0, 0, 2, 0);
    check_read(64, "yz");
    mode(0, 0, 5, 0);
    coming = "mn"; /* a read waits for no more than it has room for */
    check_read(2, "mn");
    mode(0, 0, 0, 0);
    check_read(64, "");
    mode(0, 0, 0, 3); /* three tenths of a second, and no character */
    slept = 0;
    check_read(64, "");
    CHECK(slept == 1 && limit_ticks == 301);
    mode(0, 0, 4, 1); /* the limit begins with the first character */
    coming = "pq";
    check_read(64, "pq");
    CHECK(limit_ticks == 101);
    coming = 0;
    interrupted = true;
    limit_ticks = 0;
    CHECK_EQUAL(terminal_read(&tty, got, sizeof got, true), -ERESTART);
    check_line("");
}

HOST_TEST(what_was_typed_outlives_a_change_of_modes)
{
    start();
    type("ab");
    mode(0, USER_ICANON, 1, 0);
    check_read(64, "ab");
    type("cd");
    mode(USER_ICANON, 0, 1, 0);
    type("e\n");
    check_read(64, "cde\n");
    struct user_termios t;
    type("gone\n");
    terminal_modes(&tty, &t);
    CHECK_EQUAL(terminal_set_modes(&tty, &t, USER_TIOCSETAF), 0);
    check_nothing();
}

HOST_TEST(a_line_that_is_too_long_can_be_ended)
{
    start();
    for (unsigned i = 0; i < TERMINAL_LINE + 20; i++)
        type("x");
    CHECK_EQUAL(tty.dropped, 21);
    type("\n");
    CHECK_EQUAL(terminal_readable(&tty), TERMINAL_LINE);
    for (unsigned i = 0; i < 3 * TERMINAL_QUEUE; i++)
        type("y\n");
    uint8_t got[TERMINAL_LINE];
    CHECK_EQUAL(terminal_read(&tty, got, sizeof got, true), TERMINAL_LINE);
    while (terminal_is_readable(&tty))
        check_read(64, "y\n");
}

HOST_TEST(echo_never_waits)
{
    start();
    room = 3;
    type("abcd\n");
    room = sizeof line;
    check_line("abc");
    check_read(64, "abcd\n");
}

static int may_not(void)
{
    return -EIO;
}

HOST_TEST(a_reader_of_the_background_gets_nothing)
{
    start();
    tty.hooks.may_read = may_not;
    type("a\n");
    uint8_t c;
    CHECK_EQUAL(terminal_read(&tty, &c, 1, true), -EIO);
    CHECK_EQUAL(terminal_read(&tty, &c, 1, false), -EIO);
}

/*
 * ---- Random characters, with ends, erasing and killing, read in pieces: the model keeps the line and the readable
 * bytes.
 */

static char model[TERMINAL_QUEUE], unfinished[TERMINAL_LINE];
static unsigned readable, typed;

static void model_types(char c)
{
    if (c == 0x7f) {
        typed -= typed > 0;
    } else if (c == 0x15) {
        typed = 0;
    } else {
        bool ends = c == '\n';
        if (readable + typed == TERMINAL_QUEUE ||
            (!ends && (readable + typed == TERMINAL_QUEUE - 1 || typed >= TERMINAL_LINE - 1)))
            return;
        unfinished[typed++] = c;
        if (ends) {
            memcpy(model + readable, unfinished, typed);
            readable += typed;
            typed = 0;
        }
    }
}

HOST_TEST(random_lines)
{
    struct random r = random_from(1, 0);
    start();
    room = 0;
    for (unsigned turn = 0; turn < 20000 * host_times(); turn++) {
        for (unsigned n = random_below(&r, 40); n; n--) {
            unsigned kind = random_below(&r, 40);
            uint8_t c = kind == 0 ? 0x15 : kind < 5 ? 0x7f : kind < 8 ? '\n' : (uint8_t)('a' + random_below(&r, 26));
            model_types((char)c);
            terminal_input(&tty, &c, 1);
        }
        uint8_t got[TERMINAL_LINE];
        uint32_t want = 1 + random_below(&r, 60);
        int n = terminal_read(&tty, got, want, false);
        if (!readable) {
            CHECK_EQUAL(n, -EAGAIN);
            continue;
        }
        CHECK(n > 0 && (unsigned)n <= want && (unsigned)n <= readable && !memcmp(got, model, (size_t)n));
        const char *end = memchr(model, '\n', readable);
        CHECK(!end || n <= end + 1 - model);
        readable -= (unsigned)n;
        memmove(model, model + n, readable);
    }
    CHECK(tty.dropped > 0);
}

/* ---- Each character and each flag of the modes: at its initial value, at another, and at none. */

static struct user_termios modes_now(void)
{
    struct user_termios t;
    terminal_modes(&tty, &t);
    return t;
}

static void use(const struct user_termios *t)
{
    CHECK_EQUAL(terminal_set_modes(&tty, t, USER_TIOCSETA), 0);
    sent = signal_number = 0;
}

/*
 * `@` in `typed` is the character; a reader gets `text` if it has its function, `plain` if it is a character like
 * others.
 */
static const struct character {
    unsigned which;
    int first; /* or -1: none at first */
    const char *typed, *text, *plain;
    int signal;
} characters[] = {
    {USER_VEOF, 4, "ab@", "ab", 0, 0},
    {USER_VEOL, -1, "ab@", "ab@", 0, 0},
    {USER_VEOL2, -1, "ab@", "ab@", 0, 0},
    {USER_VERASE, 0x7f, "ab@\n", "a\n", "ab@\n", 0},
    {USER_VERASE2, 8, "ab@\n", "a\n", "ab@\n", 0},
    {USER_VWERASE, 0x17, "ab cd@\n", "ab \n", "ab cd@\n", 0},
    {USER_VKILL, 0x15, "ab@c\n", "c\n", "ab@c\n", 0},
    {USER_VREPRINT, 0x12, "ab@c\n", "abc\n", "ab@c\n", 0},
    {USER_VINTR, 3, "ab@c\n", "c\n", "ab@c\n", USER_SIGINT},
    {USER_VQUIT, 0x1c, "ab@c\n", "c\n", "ab@c\n", USER_SIGQUIT},
    {USER_VSUSP, 0x1a, "ab@c\n", "c\n", "ab@c\n", USER_SIGTSTP},
    {USER_VLNEXT, 0x16, "a@\x7f\n", "a\x7f\n", "a\n", 0},
    {USER_VSTOP, 0x13, "ab@c\n", "abc\n", "ab@c\n", 0},
    {USER_VSTART, 0x11, "ab@c\n", "abc\n", "ab@c\n", 0},
    {USER_VDSUSP, -1, "ab@c\n", "ab@c\n", "ab@c\n", 0}, /* these three never do anything */
    {USER_VDISCARD, -1, "ab@c\n", "ab@c\n", "ab@c\n", 0},
    {USER_VSTATUS, -1, "ab@c\n", "ab@c\n", "ab@c\n", 0},
};
#define CHARACTERS (sizeof characters / sizeof *characters)

static const char *with_it(const char *text, int c, char *to)
{
    char *at = to;
    for (; *text; text++)
        *at++ = *text == '@' ? (char)c : *text;
    *at = 0;
    return to;
}

/* Typed as `c`, it gives `wanted`, or no line yet (a null pointer). */
static void check_character(const struct character *k, int c, const char *wanted, int signal)
{
    char typed[16], text[16];
    tty.port->stopped = false;
    signal_number = 0;
    type(with_it(k->typed, c, typed));
    if (wanted)
        check_read(64, with_it(wanted, c, text));
    else
        check_nothing();
    CHECK_EQUAL(signal_number, signal);
    terminal_flush_input(&tty);
}

HOST_TEST(each_character_does_what_its_name_says_wherever_it_is)
{
    for (const struct character *k = characters; k < characters + CHARACTERS; k++) {
        start();
        struct user_termios t = modes_now();
        CHECK_EQUAL(t.cc[k->which], k->first < 0 ? USER_VDISABLE : k->first);
        if (k->first >= 0)
            check_character(k, k->first, k->text, k->signal);
        if (k->which == USER_VSTOP || k->which == USER_VSTART) {
            tty.port->stopped = k->which == USER_VSTART;
            type(k->which == USER_VSTOP ? "\x13" : "\x11");
            CHECK_EQUAL(tty.port->stopped, k->which == USER_VSTOP);
        }
        t.cc[k->which] = 'M';
        use(&t);
        check_character(k, 'M', k->text, k->signal);
        for (int c = 'M' - 1; c <= 'M' + 1; c += 2) /* the characters next to it do nothing */
            check_character(k, c, k->plain, 0);
        t.cc[k->which] = USER_VDISABLE;
        use(&t);
        check_character(k, USER_VDISABLE, k->plain, 0);
        check_character(k, 'M', k->plain, 0);
    }
    CHECK_EQUAL(sizeof modes_now().cc, USER_NCCS);
    CHECK(USER_VTIME < USER_NCCS);
}

static void check_typed(const char *typed, const char *read, const char *shown)
{
    type(typed);
    if (read)
        check_read(64, read);
    else
        check_nothing();
    if (shown)
        check_line(shown);
    terminal_flush_input(&tty);
    sent = 0;
}

HOST_TEST(each_flag_of_input)
{
    static const struct {
        uint32_t set, clear;
        const char *typed, *read;
    } each[] = {
        {USER_ISTRIP, 0, "\xe1\xff\n", "a\x7f\n"}, /* 0xff is stripped to the erase character, and then interpreted */
        {0, USER_ISTRIP, "\xe1\n", "\xe1\n"},
        {USER_INLCR, USER_ICRNL, "a\nb", 0},
        {0, USER_INLCR, "a\n", "a\n"},
        {USER_IGNCR, 0, "a\rb\n", "ab\n"},
        {USER_ICRNL, USER_IGNCR, "a\r", "a\n"},
        {0, USER_ICRNL | USER_IGNCR, "a\rb\n", "a\rb\n"},
    };
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) {
        start();
        struct user_termios t = modes_now();
        t.iflag = (t.iflag | each[i].set) & ~each[i].clear;
        if (each[i].set & USER_ISTRIP)
            t.cc[USER_VERASE] = USER_VDISABLE;
        use(&t);
        check_typed(each[i].typed, each[i].read, 0);
    }
    for (int any = 0; any < 2; any++) { /* IXANY: any character resumes stopped output */
        start();
        struct user_termios t = modes_now();
        t.iflag |= any ? USER_IXANY : 0;
        use(&t);
        type("\x13"
             "a");
        CHECK_EQUAL(tty.port->stopped, !any);
        type("\x11");
        CHECK(!tty.port->stopped);
    }
    for (int bell = 0; bell < 2; bell++) {
        start();
        struct user_termios t = modes_now();
        t.iflag = (t.iflag & ~USER_IMAXBEL) | (bell ? USER_IMAXBEL : 0);
        t.lflag &= ~USER_ECHO;
        use(&t);
        for (unsigned i = 0; i < TERMINAL_LINE - 1; i++)
            type("a");
        check_line("");
        type("b");
        check_line(bell ? "\a" : "");
    }
}

HOST_TEST(each_flag_of_output_and_of_the_line)
{
    for (uint32_t flags = 0; flags < 4; flags++) {
        start();
        struct user_termios t = modes_now();
        CHECK_EQUAL(t.oflag, USER_OPOST | USER_ONLCR);
        t.oflag = (flags & 1 ? USER_OPOST : 0) | (flags & 2 ? USER_ONLCR : 0);
        t.cflag = 0;
        use(&t);
        CHECK_EQUAL(terminal_write(&tty, "a\nb", 3), 0);
        check_line(flags == 3 ? "a\r\nb" : "a\nb");
        CHECK_EQUAL(modes_now().cflag, USER_CS8 | USER_CREAD); /* whatever the caller asks for */
    }
}

HOST_TEST(each_flag_of_what_is_shown)
{
    static const struct {
        uint32_t set, clear;
        const char *typed, *read, *shown;
    } each[] = {
        {0, 0, "ab\x7f\n", "a\n", "ab\b \b\r\n"},
        {0, USER_ECHOE, "ab\x7f\n", "a\n", "abb\r\n"},
        {0, 0, "ab\x15\n", "\n", "ab\b \b\b \b\r\n"},
        {0, USER_ECHOKE, "ab\x15\n", "\n", "ab^U\r\n\r\n"},
        {0, USER_ECHOKE | USER_ECHOK, "ab\x15\n", "\n", "ab^U\r\n"},
        {0, 0, "a\x01\n", "a\x01\n", "a^A\r\n"},
        {0, USER_ECHOCTL, "a\x01\n", "a\x01\n", "a\r\n"},
        {0, USER_ECHO, "a\n", "a\n", ""},
        {USER_ECHONL, USER_ECHO, "a\n", "a\n", "\r\n"},
        {0, USER_IEXTEN, "ab\x17\n", "ab\x17\n", "ab^W\r\n"},
        {0, USER_IEXTEN, "a\x16\x7f\n", "a\n", "a^V\b \b\b \b\r\n"},
    };
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++) {
        start();
        struct user_termios t = modes_now();
        t.lflag = (t.lflag | each[i].set) & ~each[i].clear;
        use(&t);
        check_typed(each[i].typed, each[i].read, each[i].shown);
    }
}

/*
 * A far end that stops when told to, except for what is under way then, loses nothing, at any pace of the readers;
 * and it is never told to wait while there is no line to read.
 */
HOST_TEST(a_far_end_that_waits_loses_nothing)
{
    enum { UNDER_WAY = 256, TYPED_AT_ALL = 40000 };
    static uint8_t sent_by[TYPED_AT_ALL], read_by[TYPED_AT_ALL + TERMINAL_LINE];
    start();
    struct user_termios t = modes_now();
    t.lflag &= ~(uint32_t)USER_ECHO;
    use(&t);
    struct random state = random_from(5, 0);
    uint32_t typed = 0, taken = 0, since = 0, in_line = 0;
    for (uint32_t step = 0; taken < TYPED_AT_ALL; step++) {
        bool reads = !random_below(&state, step / 2000 % 2 ? 300 : 2); /* a slow reader, then a quick one */
        bool goes = typed < TYPED_AT_ALL && (!blocked || since < UNDER_WAY);
        if (goes && !reads) {
            bool ends = in_line == TERMINAL_LINE - 3 || !(random_below(&state, 40)) || typed == TYPED_AT_ALL - 1;
            in_line = ends ? 0 : in_line + 1;
            sent_by[typed] = ends ? '\n' : 'a' + typed % 26;
            since = blocked ? since + 1 : 0;
            terminal_input(&tty, &sent_by[typed++], 1);
            CHECK(!tty.dropped && (!blocked || terminal_is_readable(&tty)));
        } else if (terminal_is_readable(&tty)) {
            taken += (uint32_t)terminal_read(&tty, read_by + taken, 1 + random_below(&state, TERMINAL_LINE), false);
        }
    }
    CHECK(!memcmp(sent_by, read_by, TYPED_AT_ALL) && !blocked);
    for (uint32_t i = 0; i < TERMINAL_QUEUE; i++)
        terminal_input(&tty, (const uint8_t *)"\n", 1);
    CHECK(blocked);
    terminal_flush_input(&tty);
    CHECK(!blocked);
}
