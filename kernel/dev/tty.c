/* The terminal line discipline (tty.h). */
#include "dev/tty.h"

#include "sched/sched.h"

static void tty_input(void *arg, int c)
{
    struct tty *tp = arg;
    crit_t s = simple_lock_enter(&tp->lock);
    if (tp->head - tp->tail == TTY_QUEUE)
        tp->dropped++;
    else
        tp->queue[tp->head++ % TTY_QUEUE] = (uint8_t)c;
    bool wake = tp->waiting;
    tp->waiting = false;
    simple_lock_leave(&tp->lock, s);
    if (wake)
        thread_wakeup(tp);
}

static void waited_too_long(void *arg)
{
    struct tty *tp = arg;
    crit_t s = simple_lock_enter(&tp->lock);
    tp->expired = true;
    simple_lock_leave(&tp->lock, s);
    thread_wakeup(tp);
}

/* Sleep until a character arrives or `ticks` are over. The caller holds the lock, in its section. */
static void tty_wait(struct tty *tp, uint32_t ticks)
{
    tp->expired = false;
    if (ticks)
        timeout_set(&tp->limit, ticks, waited_too_long, tp);
    while (tp->head == tp->tail && !tp->expired) {
        tp->waiting = true;
        thread_sleep(tp, &tp->lock);
    }
    if (ticks)
        timeout_cancel(&tp->limit);
}

/* The next character, or -1 if none came in time. */
static int tty_getc(struct tty *tp, uint32_t ticks)
{
    crit_t s = simple_lock_enter(&tp->lock);
    bool empty = tp->head == tp->tail;
    if (empty)
        tty_wait(tp, ticks);
    int c = tp->head == tp->tail ? -1 : tp->queue[tp->tail++ % TTY_QUEUE];
    simple_lock_leave(&tp->lock, s);
    if (empty && ticks)
        timeout_drain(&tp->limit);
    return c;
}

uint32_t ttread(struct tty *tp, uint8_t *to, uint32_t n, uint32_t ticks)
{
    for (uint32_t i = 0; i < n; i++) {
        int c = tty_getc(tp, ticks);
        if (c < 0)
            return i;
        to[i] = (uint8_t)c;
    }
    return n;
}

static SIMPLE_LOCK_CLASS(tty_class, "tty", SPL_TTY);

void tty_attach(struct tty *tp, struct serial *port, unsigned hart)
{
    if (tp->port)
        simple_lock_destroy(&tp->lock); /* attached before: releases the lock's resources */
    *tp = (struct tty){.lock = SIMPLE_LOCK("tty", tty_class), .port = port};
    serial_start(port, hart, tty_input, tp);
}

void tty_open(struct tty *tp, struct serial *port, uint32_t baud, unsigned hart)
{
    serial_configure(port, baud);
    tty_attach(tp, port, hart);
}
