/* Terminals (terminal.h). */
#include "dev/terminal.h"

#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "lib/minmax.h"
#include "sched/limit.h"
#include "sched/sched.h"

#ifndef ERESTART /* hosts that run its tests may define it */
#define ERESTART 512
#endif

#define ENDS 0x100u /* in the queue: a line ends with this character ... */
#define END_OF_FILE 0x200u /* ... or with this, which is no character */
#define BELL 7
#define DELETE 0x7f
#define TAB 8
#define CONTROL(c) ((c) & 0x1f)

static MUTEX_CLASS(tty_lock_class, "tty_lock");
static SIMPLE_LOCK_CLASS(wait_class, "terminal", SPL_SOFTCLOCK);

static const struct user_termios first_modes = {
    .iflag = USER_ICRNL | USER_IXON | USER_IMAXBEL,
    .oflag = USER_OPOST | USER_ONLCR,
    .cflag = USER_CS8 | USER_CREAD,
    .lflag = USER_ICANON | USER_ISIG | USER_IEXTEN | USER_ECHO | USER_ECHOE | USER_ECHOK | USER_ECHOKE | USER_ECHOCTL,
    .cc = {[USER_VEOF] = CONTROL('D'),
           [USER_VEOL] = USER_VDISABLE,
           [USER_VEOL2] = USER_VDISABLE,
           [USER_VERASE] = DELETE,
           [USER_VWERASE] = CONTROL('W'),
           [USER_VKILL] = CONTROL('U'),
           [USER_VREPRINT] = CONTROL('R'),
           [USER_VERASE2] = CONTROL('H'),
           [USER_VINTR] = CONTROL('C'),
           [USER_VQUIT] = CONTROL('\\'),
           [USER_VSUSP] = CONTROL('Z'),
           [USER_VSTART] = CONTROL('Q'),
           [USER_VSTOP] = CONTROL('S'),
           [USER_VLNEXT] = CONTROL('V'),
           [USER_VDSUSP] = USER_VDISABLE,
           [USER_VDISCARD] = USER_VDISABLE,
           [USER_VMIN] = 1,
           [USER_VSTATUS] = USER_VDISABLE},
    .ispeed = 115200,
    .ospeed = 115200,
};

/* ---- Output. */

/* The output for character `c`: 1 or 2 characters; updates the cursor's column. */
static unsigned processed(struct terminal *tp, char c, char to[2])
{
    const uint32_t flags = tp->modes.oflag;
    unsigned n = 0;
    if (c == '\n' && flags & USER_OPOST && flags & USER_ONLCR) {
        to[n++] = '\r';
        tp->column = 0;
    }
    to[n++] = c;
    if (c == '\r')
        tp->column = 0;
    else if (c == '\b')
        tp->column -= tp->column > 0;
    else if (c == '\t')
        tp->column = (tp->column | (TAB - 1)) + 1;
    else if ((uint8_t)c >= ' ' && c != DELETE)
        tp->column++;
    return n;
}

/* With tty_lock held. Characters without room are dropped. */
static void terminal_put(struct terminal *tp, char c)
{
    char out[2];
    unsigned n = processed(tp, c, out);
    if (!serial_try_write(tp->port, out, n))
        tp->dropped++;
}

int terminal_write(struct terminal *tp, const char *text, uint32_t n)
{
    char out[2 * TERMINAL_WRITE];
    unsigned size = 0;
    mutex_lock(&tp->tty_lock);
    for (uint32_t i = 0; i < n; i++)
        size += processed(tp, text[i], out + size);
    mutex_unlock(&tp->tty_lock);
    return serial_write_interruptibly(tp->port, out, size) ? -ERESTART : 0;
}

/* With tty_lock held. */
static void stop_output(struct terminal *tp, bool stop)
{
    if (tp->port->stopped != stop)
        serial_stop_output(tp->port, stop);
}

void terminal_stop(struct terminal *tp, bool stop)
{
    mutex_lock(&tp->tty_lock);
    stop_output(tp, stop);
    mutex_unlock(&tp->tty_lock);
}

/* ---- Echo. All with tty_lock held. */

static bool is_control(uint8_t c)
{
    return c < ' ' || c == DELETE;
}

/* Columns of a character that is echoed when the cursor is at `column`. */
static uint32_t terminal_width(const struct terminal *tp, uint8_t c, uint32_t column)
{
    if (c == '\t')
        return TAB - column % TAB;
    if (is_control(c))
        return tp->modes.lflag & USER_ECHOCTL ? 2 : 0;
    return 1;
}

static void echo(struct terminal *tp, uint16_t q)
{
    uint8_t c = (uint8_t)q;
    const uint32_t flags = tp->modes.lflag;
    if (!(flags & USER_ECHO) && !(flags & USER_ECHONL && flags & USER_ICANON && c == '\n'))
        return;
    if (q & END_OF_FILE)
        return;
    if (is_control(c) && c != '\t' && c != '\n' && flags & USER_ECHOCTL) {
        terminal_put(tp, '^');
        terminal_put(tp, (char)(c ^ 0x40));
    } else if (!is_control(c) || c == '\t' || c == '\n' || c == '\r') {
        terminal_put(tp, (char)c);
    }
}

/* The column after the typed part of the line that is not read yet. */
static uint32_t end_of_line(const struct terminal *tp)
{
    uint32_t column = tp->start;
    for (uint32_t at = tp->line; at != tp->head; at++)
        column += terminal_width(tp, (uint8_t)tp->queue[at % TERMINAL_QUEUE], column);
    return column;
}

static void reprint(struct terminal *tp)
{
    echo(tp, tp->modes.cc[USER_VREPRINT]);
    terminal_put(tp, '\n');
    tp->start = tp->column;
    for (uint32_t at = tp->line; at != tp->head; at++)
        echo(tp, tp->queue[at % TERMINAL_QUEUE]);
}

/* ---- Input. All with tty_lock held. */

static void terminal_changed(struct terminal *tp)
{
    crit_t s = simple_lock_enter(&tp->wait_lock);
    tp->changes++;
    thread_wakeup((const void *)&tp->changes);
    simple_lock_leave(&tp->wait_lock, s);
    if (tp->hooks.changed)
        tp->hooks.changed();
}

static void make_readable(struct terminal *tp)
{
    tp->line = tp->head;
    tp->start = tp->column;
    terminal_changed(tp);
}

static bool has_flag(const struct terminal *tp, uint32_t flag)
{
    return tp->modes.lflag & flag;
}

static bool is(const struct terminal *tp, uint8_t c, unsigned which)
{
    return c == tp->modes.cc[which] && c != USER_VDISABLE;
}

static bool erase_one(struct terminal *tp)
{
    if (tp->head == tp->line)
        return false;
    uint8_t c = (uint8_t)tp->queue[--tp->head % TERMINAL_QUEUE];
    if (has_flag(tp, USER_ECHO) && has_flag(tp, USER_ECHOE))
        for (uint32_t n = terminal_width(tp, c, end_of_line(tp)); n && tp->column; n--) {
            terminal_put(tp, '\b');
            if (c != '\t') {
                terminal_put(tp, ' ');
                terminal_put(tp, '\b');
            }
        }
    else
        echo(tp, c);
    return true;
}

static void erase_line(struct terminal *tp)
{
    if (has_flag(tp, USER_ECHO) && has_flag(tp, USER_ECHOKE) && has_flag(tp, USER_ECHOE)) {
        while (erase_one(tp))
            ;
        return;
    }
    tp->head = tp->line;
    echo(tp, tp->modes.cc[USER_VKILL]);
    if (has_flag(tp, USER_ECHOK) && has_flag(tp, USER_ECHO)) {
        terminal_put(tp, '\n');
        tp->start = tp->column;
    }
}

static bool last_is_blank(const struct terminal *tp)
{
    uint8_t c = (uint8_t)tp->queue[(tp->head - 1) % TERMINAL_QUEUE];
    return c == ' ' || c == '\t';
}

static void erase_word(struct terminal *tp)
{
    while (tp->head != tp->line && last_is_blank(tp))
        erase_one(tp);
    while (tp->head != tp->line && !last_is_blank(tp))
        erase_one(tp);
}

static void terminal_append(struct terminal *tp, uint16_t q)
{
    bool by_line = has_flag(tp, USER_ICANON);
    uint32_t room = TERMINAL_QUEUE - (tp->head - tp->tail);
    /* an unfinished line leaves room for its end, so that it can be read */
    if (!room || (by_line && !(q & (ENDS | END_OF_FILE)) && (room == 1 || tp->head - tp->line >= TERMINAL_LINE - 1))) {
        tp->dropped++;
        if (tp->modes.iflag & USER_IMAXBEL)
            terminal_put(tp, BELL);
        return;
    }
    if (tp->head == tp->line)
        tp->start = tp->column;
    tp->queue[tp->head++ % TERMINAL_QUEUE] = q;
    echo(tp, q);
    if (!by_line || q & (ENDS | END_OF_FILE))
        make_readable(tp);
}

/*
 * The far end, if it obeys, is told to wait while much input is unread: then a reader will come. An unfinished line
 * never makes it wait.
 */
static void terminal_room(struct terminal *tp)
{
    uint32_t there = tp->line - tp->tail;
    if (tp->full ? there <= TERMINAL_QUEUE / 4 : there >= TERMINAL_QUEUE / 2) {
        tp->full = !tp->full;
        serial_block(tp->port, tp->full);
    }
}

static void flush_input(struct terminal *tp)
{
    tp->tail = tp->line = tp->head;
    tp->literal = false;
    terminal_room(tp);
}

/* A character that sends a signal. Stopped output continues: otherwise the signal's effect would stay invisible. */
static bool signals(struct terminal *tp, uint8_t c)
{
    int number = is(tp, c, USER_VINTR)   ? USER_SIGINT
                 : is(tp, c, USER_VQUIT) ? USER_SIGQUIT
                 : is(tp, c, USER_VSUSP) ? USER_SIGTSTP
                                         : 0;
    if (!number)
        return false;
    if (!has_flag(tp, USER_NOFLSH))
        flush_input(tp);
    stop_output(tp, false);
    echo(tp, c);
    tp->start = tp->column;
    if (tp->hooks.signal)
        tp->hooks.signal(number);
    return true;
}

/* ^S and ^Q. */
static bool controls_output(struct terminal *tp, uint8_t c)
{
    bool stops = is(tp, c, USER_VSTOP), starts = is(tp, c, USER_VSTART);
    if (stops && starts) /* one character for both */
        stop_output(tp, !tp->port->stopped);
    else if (stops || starts)
        stop_output(tp, stops);
    return stops || starts;
}

/* A character that edits the line. */
static bool edits(struct terminal *tp, uint8_t c)
{
    if (is(tp, c, USER_VERASE) || is(tp, c, USER_VERASE2))
        erase_one(tp);
    else if (is(tp, c, USER_VKILL))
        erase_line(tp);
    else if (has_flag(tp, USER_IEXTEN) && is(tp, c, USER_VWERASE))
        erase_word(tp);
    else if (has_flag(tp, USER_IEXTEN) && has_flag(tp, USER_ECHO) && is(tp, c, USER_VREPRINT))
        reprint(tp);
    else
        return false;
    return true;
}

static uint16_t with_its_mark(const struct terminal *tp, uint8_t c)
{
    if (is(tp, c, USER_VEOF))
        return END_OF_FILE;
    return c == '\n' || is(tp, c, USER_VEOL) || is(tp, c, USER_VEOL2) ? c | ENDS : c;
}

static void terminal_character(struct terminal *tp, uint8_t c)
{
    const uint32_t flags = tp->modes.iflag;
    if (flags & USER_ISTRIP)
        c &= 0x7f;
    if (tp->literal) {
        tp->literal = false;
        terminal_append(tp, c);
        return;
    }
    if (has_flag(tp, USER_IEXTEN) && is(tp, c, USER_VLNEXT)) {
        tp->literal = true;
        return;
    }
    if (has_flag(tp, USER_ISIG) && signals(tp, c))
        return;
    if (flags & USER_IXON && controls_output(tp, c))
        return;
    if (flags & USER_IXON && flags & USER_IXANY)
        stop_output(tp, false);
    if (c == '\r') {
        if (flags & USER_IGNCR)
            return;
        c = flags & USER_ICRNL ? '\n' : c;
    } else if (c == '\n' && flags & USER_INLCR) {
        c = '\r';
    }
    if (!has_flag(tp, USER_ICANON))
        terminal_append(tp, c);
    else if (!edits(tp, c))
        terminal_append(tp, with_its_mark(tp, c));
}

void terminal_input(struct terminal *tp, const uint8_t *c, uint32_t n)
{
    mutex_lock(&tp->tty_lock);
    for (uint32_t i = 0; i < n; i++)
        terminal_character(tp, c[i]);
    terminal_room(tp);
    mutex_unlock(&tp->tty_lock);
}

void terminal_flush_input(struct terminal *tp)
{
    mutex_lock(&tp->tty_lock);
    flush_input(tp);
    mutex_unlock(&tp->tty_lock);
}

/* ---- Reading. */

/* With tty_lock held, released meanwhile: until something changes, `limit` ticks are over, or an interruption. */
static int wait_for_change(struct terminal *tp, uint32_t limit, bool *over)
{
    struct limit l;
    int error = 0;
    uint32_t seen = tp->changes;
    mutex_unlock(&tp->tty_lock);
    limit_begin(&l, limit, (const void *)&tp->changes, &tp->wait_lock);
    crit_t s = simple_lock_enter(&tp->wait_lock);
    while (!error && seen == tp->changes && !l.over)
        error = thread_sleep_interruptibly((const void *)&tp->changes, &tp->wait_lock);
    simple_lock_leave(&tp->wait_lock, s);
    *over = l.over;
    limit_end(&l);
    mutex_lock(&tp->tty_lock);
    return error ? -ERESTART : 0;
}

/* Takes what may be read, one line at most. */
static uint32_t terminal_take(struct terminal *tp, uint8_t *to, uint32_t n)
{
    uint32_t taken = 0;
    while (tp->tail != tp->line) {
        uint16_t q = tp->queue[tp->tail % TERMINAL_QUEUE];
        if (taken == n && !(q & END_OF_FILE)) /* it belongs to the line just read: it must not end the next read */
            break;
        tp->tail++;
        if (q & END_OF_FILE)
            break;
        to[taken++] = (uint8_t)q;
        if (q & ENDS)
            break;
    }
    return taken;
}

/* Tenths of a second in ticks; 0, no limit, without a clock. */
static uint32_t terminal_tenths(uint32_t n)
{
    return n && clock_hz() ? (n * clock_hz() + 9) / 10 + 1 : 0;
}

/* With tty_lock held: waits until a read of `n` characters can return. */
static int terminal_wait(struct terminal *tp, uint32_t n)
{
    bool over = false;
    int error = 0;
    while (!error) {
        if (tp->hooks.may_read && (error = tp->hooks.may_read()))
            break;
        uint32_t there = tp->line - tp->tail, least = 1, limit = 0;
        if (!has_flag(tp, USER_ICANON)) {
            least = MIN(tp->modes.cc[USER_VMIN], n);
            uint32_t time = terminal_tenths(tp->modes.cc[USER_VTIME]);
            if (!least && !time)
                break;
            limit = !least || there ? time : 0; /* with VMIN, VTIME is the time between characters */
            least = least ? least : 1;
        }
        if (there >= least || (over && limit))
            break;
        error = wait_for_change(tp, limit, &over);
    }
    return error;
}

int terminal_read(struct terminal *tp, uint8_t *to, uint32_t n, bool waits)
{
    int result = 0;
    if (n > TERMINAL_LINE)
        n = TERMINAL_LINE;
    mutex_lock(&tp->tty_lock);
    if (waits)
        result = terminal_wait(tp, n);
    else if (tp->hooks.may_read)
        result = tp->hooks.may_read();
    if (!result && !waits && tp->tail == tp->line)
        result = -EAGAIN;
    if (!result)
        result = (int)terminal_take(tp, to, n);
    terminal_room(tp);
    mutex_unlock(&tp->tty_lock);
    return result;
}

uint32_t terminal_readable(struct terminal *tp)
{
    mutex_lock(&tp->tty_lock);
    uint32_t n = 0;
    while (tp->tail + n != tp->line) {
        uint16_t q = tp->queue[(tp->tail + n) % TERMINAL_QUEUE];
        if (q & END_OF_FILE)
            break;
        n++;
        if (q & ENDS)
            break;
    }
    mutex_unlock(&tp->tty_lock);
    return n;
}

bool terminal_is_readable(struct terminal *tp)
{
    mutex_lock(&tp->tty_lock);
    bool there = tp->tail != tp->line;
    mutex_unlock(&tp->tty_lock);
    return there;
}

/* ---- Modes. */

void terminal_modes(struct terminal *tp, struct user_termios *to)
{
    mutex_lock(&tp->tty_lock);
    *to = tp->modes;
    mutex_unlock(&tp->tty_lock);
}

/*
 * Characters typed so far become readable when line mode is turned off, and count as a finished line when it is turned
 * on again.
 */
static void set_modes(struct terminal *tp, const struct user_termios *from)
{
    bool by_line = has_flag(tp, USER_ICANON);
    tp->modes = *from;
    tp->modes.cflag = first_modes.cflag;
    tp->modes.ispeed = tp->modes.ospeed = first_modes.ospeed;
    if (by_line != has_flag(tp, USER_ICANON) && tp->line != tp->head)
        make_readable(tp);
    tp->literal = false;
    if (!(tp->modes.iflag & USER_IXON))
        stop_output(tp, false);
    terminal_changed(tp); /* a waiting reader checks again by the new modes */
}

int terminal_set_modes(struct terminal *tp, const struct user_termios *from, uint32_t when)
{
    if (when != USER_TIOCSETA && serial_drain_interruptibly(tp->port))
        return -ERESTART;
    mutex_lock(&tp->tty_lock);
    if (when == USER_TIOCSETAF)
        flush_input(tp);
    set_modes(tp, from);
    mutex_unlock(&tp->tty_lock);
    return 0;
}

void terminal_init(struct terminal *tp, struct serial *port)
{
    *tp = (struct terminal){
        .modes = first_modes, .size = {24, 80}, .wait_lock = SIMPLE_LOCK("terminal", wait_class), .port = port};
    lock_init(&tp->tty_lock, &tty_lock_class, "tty_lock");
}

void terminal_reset(struct terminal *tp)
{
    mutex_lock(&tp->tty_lock);
    flush_input(tp);
    stop_output(tp, false);
    set_modes(tp, &first_modes);
    mutex_unlock(&tp->tty_lock);
}
