/*
 * Driver of the Ethernet core (hw/ether): its rings, and nothing of what is in a frame. Whoever uses it
 * (net/if_ether.h) gives it empty buffers with an owner each, and gets them back with frames in them; likewise full
 * ones to send.
 *
 * Locking: none here. Each receive queue, and the transmit ring, has one user at a time: the caller's lock sees to
 * that.
 */
#ifndef DEV_ETHER_H
#define DEV_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/atomic.h"
#include "sync/dispatch.h"

#define ETHER_QUEUES 2
#define ETHER_RING 64  /* descriptors, a power of two: one less can be in use */
#define ETHER_PAD \
    2    /* bytes that the core leaves free before a received frame, so that what is behind its header is aligned */
#define ETHER_MOST 1514 /* bytes of a frame without FCS */

/* Causes of interrupts, as bits. */
#define ETHER_RX(queue) (1u << (queue))
#define ETHER_TX (1u << ETHER_QUEUES)
#define ETHER_LINK (2u << ETHER_QUEUES)

struct ether_frame {
    void *owner;
    uint32_t length; /* bytes */
    uint32_t stamp;  /* cycles32() at its last bit */
};

/* Empties the rings, sets the address (6 bytes) and the speed (10, 100 or 1000 Mbit/s); nothing moves yet. */
void ether_reset(const uint8_t *address, unsigned mbits);
void ether_start(void);
void ether_stop_receiving(void); /* waits until what has come is in the rings */
void ether_stop(void);           /* waits until no buffer is touched any more */

/* `fn` is called for a queue's interrupts at SPL_NET; `queue` may be ETHER_QUEUES: what is sent, and the link. */
void ether_establish(unsigned queue, unsigned hart, intr_fn *fn, void *arg, const char *name);
void ether_enable(uint32_t causes, bool on);
void ether_acknowledge(uint32_t causes); /* first: what comes from here on interrupts again */
void ether_moderate(unsigned frames, uint32_t cycles);

/*
 * An empty buffer of `size` bytes at `buffer`, a multiple of 8. The core may use it after ether_rx_publish. Panics if
 * the ring is full.
 */
void ether_rx_give(unsigned queue, void *owner, uint8_t *buffer, uint32_t size);
void ether_rx_publish(unsigned queue);
bool ether_rx_take(unsigned queue, struct ether_frame *frame); /* false: no frame is there */
bool ether_rx_waits(unsigned queue);
/* After ether_stop, when no frame is left to be taken: a buffer that the core had, given or exchanged; 0: no more. */
uint32_t ether_rx_take_back(unsigned queue);

/*
 * Another way to receive, in which handler and who works frames off need no lock: each place of a ring in memory holds
 * a buffer, an empty one or one with a frame in it. The handler exchanges what the core has filled for what is in the
 * next place, and posts SPL_SOFTNET, which puts an empty one in its stead.
 *
 * The handler, of which there is one at a time, alone writes all but `tail` and `limit`; these and the places from
 * `tail` up to `head` are of who works off, one at a time. A place is written before the number that passes it on: a
 * hart's stores reach memory in order, and its loads are done in order (hw/cpu/README.md), so on any number of harts
 * nobody sees a number without what belongs to it.
 */
struct ether_place {
    uint32_t buffer; /* its address */
    uint32_t status; /* of the frame, as in the descriptor: 15:0 its length */
} __attribute__((aligned(8)));

struct ether_exchange {
    volatile uint32_t head,
        limit; /* frames put into places; as far as that may go: `tail` and `most`. They run freely. */
    volatile uint32_t tail; /* frames worked off: with `limit`, of who does that */
    uint32_t most; /* frames that may wait */
    uint32_t mask; /* places, a power of two, less one */
    struct ether_place *place;
    volatile uint32_t full; /* frames dropped, as so many waited; the core has their buffers again */
    /* ether_exchange_begin's */
    struct ether_descriptor *filled; /* the next one that the core fills */
    volatile uint32_t *tail_register;
    uint32_t cause;
} __attribute__((aligned(64)));

/* Whoever works off is through with the place at `tail`, where an empty buffer is now. */
static inline void ether_exchange_done(struct ether_exchange *x)
{
    fence_release();
    x->tail++;
    x->limit = x->tail + x->most;
}

/* The queue's ring has been filled by ether_rx_give, each place has a buffer as large. */
void ether_exchange_begin(struct ether_exchange *x, unsigned queue);
/* When no handler comes any more: ether_rx_take_back has the ring's buffers, and the places keep theirs. */
void ether_exchange_end(struct ether_exchange *x, unsigned queue);
/* The handler, whose argument is the exchange: takes the cause back and exchanges all that has come. */
void ether_exchange_interrupt(void *exchange);

/*
 * Enters a frame, which begins at an even address; false: the ring is full, or not open. The buffer is the core's until
 * it is reclaimed.
 */
bool ether_tx_put(void *owner, const uint8_t *data, uint32_t length, bool interrupt);
void *ether_tx_reclaim(void); /* the owner of the next one that has been read, or 0 */
bool ether_tx_waits(void); /* there are some that have not been reclaimed */
void ether_tx_open(bool open); /* from now on it takes frames, or none any more; none at first */
bool ether_tx_is_open(void);

/* All counters of the core as `@ether name=value ...`. */
void ether_print_results(void);
#endif
