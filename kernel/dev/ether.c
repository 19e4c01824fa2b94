/* The Ethernet core's rings (ether.h). */
#include "dev/ether.h"

#include <generated/csr.h>

#include "arch/csr.h"
#include "lib/compiler.h"
#include "intr/intr.h"
#include "intr/softint.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/simple_lock.h"
#include "sync/pic.h"

#define MASK (ETHER_RING - 1)
#define DONE 0x80000000u
#define LENGTH 0xffffu
#define TX_INTERRUPT 0x80000000u

/* In the layout that the core uses (hw/ether/README.md). */
struct ether_descriptor {
    uint32_t address, size; /* to send: its length, and TX_INTERRUPT */
    volatile uint32_t status, stamp;
};

static struct ring {
    struct ether_descriptor descriptor[ETHER_RING] __attribute__((aligned(2048))); /* twice its size: see `after` */
    void *owner[ETHER_RING];
    uint32_t given, taken; /* modulo ETHER_RING: the next to give to the core, and the next to take from it */
    uint32_t end; /* of tx: an earlier `taken`, or, unless it is open, one past `given`: nothing is put there */
    bool open;
} rx[ETHER_QUEUES], tx;

#define RING_BYTES (ETHER_RING * sizeof(struct ether_descriptor))
_Static_assert(RING_BYTES == 1024, "the alignment above");

/* The next in a ring, and the previous: aligned to twice the ring's size, an address has one bit that is always 0. */
static inline struct ether_descriptor *after(struct ether_descriptor *d)
{
    return (struct ether_descriptor *)((uintptr_t)(d + 1) & ~RING_BYTES);
}

static inline struct ether_descriptor *before(struct ether_descriptor *d)
{
    return (struct ether_descriptor *)((uintptr_t)(d + MASK) & ~RING_BYTES);
}

static void tail_is(unsigned queue, uint32_t value)
{
    queue ? ether_rx1_tail_write(value) : ether_rx0_tail_write(value);
}

void ether_reset(const uint8_t *address, unsigned mbits)
{
    ether_stop();
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        rx[q].given = rx[q].taken = 0;
        tail_is(q, 0);
    }
    tx.given = tx.taken = 0;
    ether_tx_open(false);
    ether_tx_tail_write(0);
    ether_rx0_base_write((uint32_t)rx[0].descriptor);
    ether_rx1_base_write((uint32_t)rx[1].descriptor);
    ether_tx_base_write((uint32_t)tx.descriptor);
    ether_rx_mask_write(MASK);
    ether_tx_mask_write(MASK);
    ether_mac_first_write(address[0] | address[1] << 8);
    ether_mac_rest_write(address[2] | address[3] << 8 | address[4] << 16 | (uint32_t)address[5] << 24);
    unsigned speed = mbits == 10 ? 0 : mbits == 100 ? 1 : 2;
    ether_control_write(speed << CSR_ETHER_CONTROL_SPEED_OFFSET);
    ether_enable_write(0);
    ether_acknowledge(~0u);
}

void ether_start(void)
{
    ether_control_write(ether_control_read() | 1 << CSR_ETHER_CONTROL_RECEIVE_OFFSET |
                        1 << CSR_ETHER_CONTROL_TRANSMIT_OFFSET);
}

void ether_stop_receiving(void)
{
    ether_control_write(ether_control_read() & ~(1u << CSR_ETHER_CONTROL_RECEIVE_OFFSET));
    while (ether_status_read() & 1 << CSR_ETHER_STATUS_RECEIVING_OFFSET)
        ;
}

void ether_stop(void)
{
    ether_control_write(ether_control_read() &
                        ~(1u << CSR_ETHER_CONTROL_RECEIVE_OFFSET | 1u << CSR_ETHER_CONTROL_TRANSMIT_OFFSET));
    while (ether_status_read() & (1 << CSR_ETHER_STATUS_RECEIVING_OFFSET | 1 << CSR_ETHER_STATUS_SENDING_OFFSET))
        ;
}

void ether_establish(unsigned queue, unsigned hart, intr_fn *fn, void *arg, const char *name)
{
    intr_establish(PIC_SOURCE_ETHER(queue), SPL_NET, INTR_LEVEL, hart, fn, arg, name);
}

static SIMPLE_LOCK_CLASS(enable_class, "ether enable", SPL_NET);
static struct simple_lock enable_lock = SIMPLE_LOCK("ether enable", enable_class);

void ether_enable(uint32_t causes, bool on)
{
    crit_t s = simple_lock_enter(&enable_lock);
    uint32_t enabled = ether_enable_read();
    ether_enable_write(on ? enabled | causes : enabled & ~causes);
    simple_lock_leave(&enable_lock, s);
}

void ether_acknowledge(uint32_t causes)
{
    ether_acknowledge_write(causes);
}

void ether_moderate(unsigned frames, uint32_t cycles)
{
    ether_moderate_frames_write(frames);
    ether_moderate_cycles_write(cycles);
}

void ether_rx_give(unsigned queue, void *owner, uint8_t *buffer, uint32_t size)
{
    struct ring *r = &rx[queue];
    if (((r->given + 1) & MASK) == r->taken)
        panic("ether: receive queue %u has no room for another buffer", queue);
    struct ether_descriptor *d = &r->descriptor[r->given];
    d->address = (uint32_t)buffer;
    d->size = size;
    d->status = 0;
    r->owner[r->given] = owner;
    r->given = (r->given + 1) & MASK;
}

void ether_rx_publish(unsigned queue)
{
    io_fence();
    tail_is(queue, rx[queue].given);
}

bool ether_rx_waits(unsigned queue)
{
    struct ring *r = &rx[queue];
    return r->taken != r->given && r->descriptor[r->taken].status & DONE;
}

bool ether_rx_take(unsigned queue, struct ether_frame *frame)
{
    struct ring *r = &rx[queue];
    if (!ether_rx_waits(queue))
        return false;
    struct ether_descriptor *d = &r->descriptor[r->taken];
    *frame = (struct ether_frame){r->owner[r->taken], d->status & LENGTH, d->stamp};
    r->taken = (r->taken + 1) & MASK;
    return true;
}

uint32_t ether_rx_take_back(unsigned queue)
{
    struct ring *r = &rx[queue];
    if (r->taken == r->given)
        return 0;
    uint32_t buffer = r->descriptor[r->taken].address;
    r->taken = (r->taken + 1) & MASK;
    return buffer;
}

void ether_exchange_begin(struct ether_exchange *x, unsigned queue)
{
    struct ring *r = &rx[queue];
    if (((r->given + 1) & MASK) != r->taken)
        panic("ether_exchange_begin: receive queue %u is not full", queue);
    x->limit = x->tail + x->most;
    r->descriptor[r->given].size = r->descriptor[r->taken].size; /* it has had no buffer yet */
    x->filled = &r->descriptor[r->taken];
    x->tail_register = (volatile uint32_t *)(queue ? CSR_ETHER_RX1_TAIL_ADDR : CSR_ETHER_RX0_TAIL_ADDR);
    x->cause = ETHER_RX(queue);
}

void ether_exchange_end(struct ether_exchange *x, unsigned queue)
{
    struct ring *r = &rx[queue];
    r->taken = (uint32_t)(x->filled - r->descriptor);
    r->given = (uint32_t)(before(x->filled) - r->descriptor);
}

/*
 * The core has all descriptors except the one before that which it fills next: that one gets the next buffer, with the
 * `size` of all. A frame's buffer goes into the next place, whose own goes to the core; if none is free, the frame's.
 */
void ether_exchange_interrupt(void *exchange)
{
    struct ether_exchange *x = exchange;
    struct ether_descriptor *filled = x->filled, *free = before(filled);
    ether_acknowledge_write(x->cause); /* frames that arrive after these interrupt again */
    uint32_t status = filled->status;
    if (likely(status & DONE)) {
        uint32_t head = x->head;
        do {
            uint32_t buffer = filled->address;
            if (likely(head != x->limit)) {
                struct ether_place *p = &x->place[head++ & x->mask];
                uint32_t empty = p->buffer;
                *p = (struct ether_place){buffer, status};
                buffer = empty;
            } else {
                x->full++;
            }
            free->address = buffer;
            free->status = 0;
            free = filled;
            filled = after(filled);
            status = filled->status;
        } while (status & DONE);
        x->filled = filled;
        x->head = head;
    }
    io_fence(); /* also for the next handler, which may be on another hart */
    *x->tail_register = (uintptr_t)free / sizeof *free & MASK;
    softint_mark(SPL_SOFTNET);
}

/* Makes descriptors taken meanwhile usable again; returns whether there are any. */
static COLD bool more_room(uint32_t next)
{
    if (tx.open)
        tx.end = tx.taken;
    return next != tx.end;
}

bool ether_tx_put(void *owner, const uint8_t *data, uint32_t length, bool interrupt)
{
    uint32_t next = (tx.given + 1) & MASK;
    if (unlikely(next == tx.end) && !more_room(next))
        return false;
    struct ether_descriptor *d = &tx.descriptor[tx.given];
    d->address = (uint32_t)data;
    d->size = length | (interrupt ? TX_INTERRUPT : 0);
    d->status = 0;
    tx.owner[tx.given] = owner;
    tx.given = next;
    io_fence();
    ether_tx_tail_write(next);
    return true;
}

void *ether_tx_reclaim(void)
{
    if (tx.taken == tx.given || !(tx.descriptor[tx.taken].status & DONE))
        return 0;
    void *owner = tx.owner[tx.taken];
    tx.taken = (tx.taken + 1) & MASK;
    return owner;
}

bool ether_tx_waits(void)
{
    return tx.taken != tx.given;
}

void ether_tx_open(bool open)
{
    tx.open = open;
    tx.end = open ? tx.taken : (tx.given + 1) & MASK;
}

bool ether_tx_is_open(void)
{
    return tx.open;
}

void ether_print_results(void)
{
    kprintf("@ether rx_frames=%lu rx_no_descriptor=%lu rx_short_buffer=%lu rx_overrun=%lu rx_crc=%lu rx_runt=%lu "
            "rx_oversize=%lu rx_filtered=%lu rx_preamble=%lu rx_off=%lu tx_frames=%lu tx_no_link=%lu tx_bad=%lu\n",
            (unsigned long)ether_rx_frames_read(), (unsigned long)ether_rx_no_descriptor_read(),
            (unsigned long)ether_rx_short_buffer_read(), (unsigned long)ether_rx_overrun_read(),
            (unsigned long)ether_rx_crc_read(), (unsigned long)ether_rx_runt_read(),
            (unsigned long)ether_rx_oversize_read(), (unsigned long)ether_rx_filtered_read(),
            (unsigned long)ether_rx_preamble_read(), (unsigned long)ether_rx_off_read(),
            (unsigned long)ether_tx_frames_read(), (unsigned long)ether_tx_no_link_read(),
            (unsigned long)ether_tx_bad_read());
}
