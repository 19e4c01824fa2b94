/* 16550-class serial ports (serial.h). */
#include "dev/serial.h"

#include <errno.h>
#include <generated/serial_regs.h>
#include <generated/soc.h>

#include <generated/mem.h>
#include "intr/intr.h"
#include "intr/softint.h"
#include "lib/panic.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define REG(port, name) ((port)->regs[SERIAL_##name / 4])
#define IIR_ID(iir) ((iir) & SERIAL_IIR_ID_MASK)

#define SLOW_BAUD 1200

static SIMPLE_LOCK_CLASS(console_port_class, "console port", SPL_HIGH);
static SIMPLE_LOCK_CLASS(data_port_class, "data port", SPL_TTY);
struct serial serial_console = SERIAL(UART0_BASE, PIC_SOURCE_UART0, "console port", console_port_class);
struct serial serial_data = SERIAL(UART1_BASE, PIC_SOURCE_UART1, "data port", data_port_class);

static struct serial *const serial_ports[] = {&serial_console, &serial_data};

void serial_configure(struct serial *p, uint32_t baud)
{
    uint32_t bit_cycles = baud ? (CONFIG_CLOCK_FREQUENCY + baud / 2) / baud : 0;
    if (bit_cycles < 4 || bit_cycles >= 1u << 20)
        panic("%s: a clock of %lu Hz cannot make %lu bit/s", p->name, (unsigned long)CONFIG_CLOCK_FREQUENCY,
              (unsigned long)baud);
    REG(p, IER) = 0;
    REG(p, LCR) = SERIAL_LCR_DLAB_MASK;
    REG(p, DLL) = bit_cycles >> 4 & 0xff;
    REG(p, DLM) = bit_cycles >> 12;
    REG(p, LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
    REG(p, DLF) = bit_cycles & 0xf;
    REG(p, FCR) = SERIAL_FCR_ENABLE_MASK | SERIAL_FCR_RX_RESET_MASK | SERIAL_FCR_TX_RESET_MASK |
                  (baud <= SLOW_BAUD ? SERIAL_FCR_TRIGGER_1 : SERIAL_FCR_TRIGGER_HALF) << SERIAL_FCR_TRIGGER_SHIFT;
}

void serial_flow(struct serial *p, enum serial_flow flow)
{
    uint8_t mcr = flow == SERIAL_FLOW_NONE     ? 0
                  : flow == SERIAL_FLOW_DRIVER ? SERIAL_MCR_RTS_MASK
                                               : SERIAL_MCR_RTS_MASK | SERIAL_MCR_AFE_MASK;
    p->flow = flow == SERIAL_FLOW_PORT ? 0 : mcr;
    p->held = 0;
    REG(p, MCR) = mcr;
}

/* Tells the far end to wait for `reason`, or to go on if no other reason is left. The caller holds the lock. */
static void serial_hold(struct serial *p, enum serial_hold reason, bool on)
{
    uint8_t held = on ? p->held | reason : p->held & ~reason;
    if (p->flow && !held != !p->held)
        REG(p, MCR) = held ? 0 : p->flow;
    p->held = held;
}

void serial_block(struct serial *p, bool on)
{
    crit_t s = simple_lock_enter(&p->lock);
    serial_hold(p, SERIAL_HOLD_READER, on);
    simple_lock_leave(&p->lock, s);
}

/* Move what fits from the ring to the FIFO, which is empty when THRE is set. */
static void serial_transmit(struct serial *p)
{
    if (p->stopped || !(REG(p, LSR) & SERIAL_LSR_THRE_MASK))
        return;
    for (unsigned room = REG(p, DEPTH); room && p->tx_tail != p->tx_head; room--)
        REG(p, THR) = p->tx[p->tx_tail++ % SERIAL_TX_RING];
}

/* Sets the interrupt enable register for what there is to do; it is written only when it changes. */
static void enable(struct serial *p)
{
    uint32_t ier = p->input || p->arrived ? SERIAL_IER_RX_MASK : 0;
    if (!p->stopped && (p->tx_tail != p->tx_head || p->waiting))
        ier |= SERIAL_IER_TX_MASK;
    if (ier != p->ier)
        REG(p, IER) = p->ier = ier;
}

static void serial_receive(struct serial *p)
{
    while (REG(p, LSR) & SERIAL_LSR_DR_MASK) {
        uint8_t c = REG(p, RBR);
        if (p->rx_head - p->rx_tail == SERIAL_RX_RING)
            p->dropped++;
        else
            p->rx[p->rx_head++ % SERIAL_RX_RING] = c;
        if (p->rx_head - p->rx_tail >= SERIAL_RX_RING * 3 / 4)
            serial_hold(p, SERIAL_HOLD_RING, true);
    }
}

/* Returns whether to wake the threads that wait for the ring to empty, and clears `waiting` if so. */
static bool ends_waiting(struct serial *p)
{
    bool wake = p->waiting && p->tx_head - p->tx_tail <= p->wake_at;
    if (wake)
        p->waiting = false;
    return wake;
}

static void interrupt_of(void *arg)
{
    struct serial *p = arg;
    bool received = false, wake = false;
    crit_t s = simple_lock_enter(&p->lock);
    p->interrupts++;
    for (uint32_t id; (id = IIR_ID(REG(p, IIR))) != SERIAL_IIR_ID_NONE;) {
        if (id == SERIAL_IIR_ID_THRE) {
            serial_transmit(p);
            wake |= ends_waiting(p);
            enable(p);
        } else {
            serial_receive(p);
            received = true;
        }
    }
    simple_lock_leave(&p->lock, s);
    if (received && p->arrived)
        p->arrived(p->arg);
    else if (received)
        softint_schedule(SPL_SOFTTTY);
    if (wake)
        thread_wakeup(&p->waiting);
}

/* The next received character, or -1. */
static int next_character(struct serial *p)
{
    crit_t s = simple_lock_enter(&p->lock);
    int c = p->rx_tail == p->rx_head ? -1 : p->rx[p->rx_tail++ % SERIAL_RX_RING];
    if (p->held && p->rx_head - p->rx_tail <= SERIAL_RX_RING / 4)
        serial_hold(p, SERIAL_HOLD_RING, false);
    simple_lock_leave(&p->lock, s);
    return c;
}

uint32_t serial_take(struct serial *p, uint8_t *to, uint32_t n)
{
    uint32_t taken = 0;
    for (int c; taken < n && (c = next_character(p)) >= 0;)
        to[taken++] = (uint8_t)c;
    return taken;
}

/* Only a port's own hart takes its characters: two harts that take turns could pass them on in another order. */
static void softtty(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < sizeof serial_ports / sizeof *serial_ports; i++)
        if (serial_ports[i]->input && serial_ports[i]->hart == curhart->id &&
            serial_ports[i]->rx_tail != serial_ports[i]->rx_head)
            for (int c; (c = next_character(serial_ports[i])) >= 0;)
                serial_ports[i]->input(serial_ports[i]->arg, c);
}

void serial_init(void)
{
    softint_establish(SPL_SOFTTTY, softtty, 0);
}

void serial_start(struct serial *p, unsigned hart, void (*input)(void *arg, int c), void *arg)
{
    if (hart == PIC_ANY_HART)
        panic("%s: name the hart that is to take its interrupts", p->name);
    p->input = input;
    p->arg = arg;
    intr_establish(p->source, SPL_TTY, INTR_LEVEL, hart, interrupt_of, p, p->name);
    crit_t s = simple_lock_enter(&p->lock);
    p->hart = intr_route(p->source); /* the route may be confined to the master */
    p->started = true;
    enable(p);
    simple_lock_leave(&p->lock, s);
}

void serial_listen(struct serial *p, void (*arrived)(void *arg), void *arg)
{
    crit_t s = simple_lock_enter(&p->lock);
    p->arrived = arrived;
    p->arg = arg;
    enable(p);
    simple_lock_leave(&p->lock, s);
}

void serial_stop(struct serial *p)
{
    p->started = p->stopped = false;
    REG(p, IER) = 0;
}

/* Empty the ring into the port without interrupts. */
static void drain(struct serial *p)
{
    while (p->tx_tail != p->tx_head)
        serial_transmit(p);
}

/* Puts `n` characters, and optionally the end of a line, into the ring; false if they do not all fit. */
static bool serial_put(struct serial *p, const char *text, unsigned n, bool ends_line)
{
    if (SERIAL_TX_RING - (p->tx_head - p->tx_tail) < n + 2 * ends_line)
        return false;
    uint32_t head = p->tx_head;
    for (unsigned i = 0; i < n; i++)
        p->tx[head++ % SERIAL_TX_RING] = text[i];
    if (ends_line) {
        p->tx[head++ % SERIAL_TX_RING] = '\r';
        p->tx[head++ % SERIAL_TX_RING] = '\n';
    }
    p->tx_head = head;
    return true;
}

/* Sleep until the ring holds no more than `fill`; others may wait for another fill. The caller holds the lock. */
static int serial_wait_for(struct serial *p, uint32_t fill)
{
    p->wake_at = p->waiting && p->wake_at > fill ? p->wake_at : fill;
    p->waiting = true;
    enable(p);
    return thread_sleep_interruptibly(&p->waiting, &p->lock);
}

static void serial_release(struct serial *p)
{
    p->stopped = false;
    serial_transmit(p);
    enable(p);
}

/* The same for the kernel's own output, which cannot be stopped meanwhile: otherwise it would wait for a program. */
static void wait_for_surely(struct serial *p, uint32_t fill)
{
    p->urgent++;
    serial_release(p);
    p->wake_at = p->waiting && p->wake_at > fill ? p->wake_at : fill;
    p->waiting = true;
    enable(p);
    thread_sleep(&p->waiting, &p->lock);
    p->urgent--;
}

/*
 * The ring is full: a thread sleeps until the transmitter's interrupt has emptied half of it; in a section or a handler
 * the hart empties it itself, and releases the lock meanwhile, so that receiving continues. The caller holds the lock.
 */
static crit_t make_room(struct serial *p, crit_t saved)
{
    if (thread_may_sleep(saved)) {
        wait_for_surely(p, SERIAL_TX_RING / 2);
        return saved;
    }
    serial_release(p);
    simple_lock_leave(&p->lock, saved);
    panic_stop_if_other();
    return simple_lock_enter(&p->lock);
}

static void write_at_once(struct serial *p, const char *text, unsigned n, bool ends_line)
{
    if (!p->started) {
        while (!serial_put(p, text, n, ends_line))
            serial_transmit(p);
        drain(p);
        return;
    }
    crit_t s = simple_lock_enter(&p->lock);
    while (!serial_put(p, text, n, ends_line))
        s = make_room(p, s);
    serial_transmit(p);
    enable(p);
    simple_lock_leave(&p->lock, s);
}

static void serial_put_text(struct serial *p, const char *text, unsigned n, bool ends_line)
{
    for (; n > SERIAL_AT_ONCE; text += SERIAL_AT_ONCE, n -= SERIAL_AT_ONCE)
        write_at_once(p, text, SERIAL_AT_ONCE, false);
    write_at_once(p, text, n, ends_line);
}

void serial_write(struct serial *p, const char *text, unsigned n)
{
    serial_put_text(p, text, n, false);
}

void serial_write_line(struct serial *p, const char *text, unsigned n)
{
    serial_put_text(p, text, n, true);
}

bool serial_try_write(struct serial *p, const char *text, unsigned n)
{
    crit_t s = simple_lock_enter(&p->lock);
    bool fits = serial_put(p, text, n, false);
    serial_transmit(p);
    enable(p);
    simple_lock_leave(&p->lock, s);
    return fits;
}

int serial_write_interruptibly(struct serial *p, const char *text, unsigned n)
{
    int error = 0;
    crit_t s = simple_lock_enter(&p->lock);
    while (!error && !serial_put(p, text, n, false))
        error = serial_wait_for(p, SERIAL_TX_RING / 2);
    serial_transmit(p);
    enable(p);
    simple_lock_leave(&p->lock, s);
    return error;
}

void serial_stop_output(struct serial *p, bool stop)
{
    crit_t s = simple_lock_enter(&p->lock);
    if (stop && !p->urgent) {
        p->stopped = true;
        enable(p);
    } else {
        serial_release(p);
    }
    simple_lock_leave(&p->lock, s);
}

uint32_t serial_unsent(const struct serial *p)
{
    return p->tx_head - p->tx_tail;
}

/* The lock is held. */
static bool fifo_is_empty(struct serial *p)
{
    return p->tx_head == p->tx_tail && REG(p, LSR) & SERIAL_LSR_THRE_MASK;
}

int serial_drain_interruptibly(struct serial *p)
{
    int error = 0;
    crit_t s = simple_lock_enter(&p->lock);
    while (!error && !fifo_is_empty(p))
        error = serial_wait_for(p, 0);
    simple_lock_leave(&p->lock, s);
    return error;
}

static bool all_sent(struct serial *p)
{
    return REG(p, LSR) & SERIAL_LSR_TEMT_MASK;
}

/* Whether the ring's characters up to `end` have left the chip; others may follow them without a pause. */
static bool has_left(struct serial *p, uint32_t end)
{
    uint32_t beyond = p->tx_tail - end;
    return (int32_t)beyond >= 0 && (beyond > REG(p, DEPTH) || all_sent(p));
}

/* Releases the lock repeatedly: no thread is blocked for as long as sending takes. */
void serial_flush(struct serial *p)
{
    if (!p->started) {
        drain(p);
        while (!all_sent(p))
            ;
        return;
    }
    crit_t s = simple_lock_enter(&p->lock);
    uint32_t end = p->tx_head;
    for (;;) {
        if (p->stopped)
            serial_release(p);
        serial_transmit(p);
        if (has_left(p, end))
            break;
        bool may_sleep = thread_may_sleep(s);
        if (may_sleep && !fifo_is_empty(p)) {
            wait_for_surely(p, p->tx_head - end);
            continue;
        }
        simple_lock_leave(&p->lock, s);
        panic_stop_if_other();
        if (may_sleep)
            thread_yield();
        s = simple_lock_enter(&p->lock);
    }
    simple_lock_leave(&p->lock, s);
}

uint32_t serial_depth(struct serial *p)
{
    return REG(p, DEPTH);
}

void serial_set_depth(struct serial *p, uint32_t depth)
{
    if (!depth || depth > REG(p, BUILT))
        panic("%s: the FIFOs have room for 1 to %lu characters, not %lu", p->name, (unsigned long)REG(p, BUILT),
              (unsigned long)depth);
    REG(p, DEPTH) = depth;
}

uint32_t serial_overruns(struct serial *p)
{
    return REG(p, OVERRUNS);
}
