/*
 * Driver of the Ethernet core (hw/ether): its rings, independent of what frames contain. Its user
 * (net/if_ether.h) gives it empty buffers, each with an owner, and gets them back with frames in them; likewise full
 * ones to send.
 *
 * Locking: none here. Each receive queue, and the transmit ring, has one user at a time: the caller's lock ensures
 * that.
 */
#ifndef DEV_ETHER_H
#define DEV_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/atomic.h"
#include "sync/dispatch.h"

#define ETHER_QUEUES 2
#define ETHER_RING 64  /* descriptors, a power of two: at most one less is in use */
#define ETHER_PAD \
    2    /* bytes that the core leaves free before a received frame, so that the data after its header is aligned */
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

/* Empties the rings, sets the address (6 bytes) and the speed (10, 100 or 1000 Mbit/s); nothing is transferred yet. */
void ether_reset(const uint8_t *address, unsigned mbits);
void ether_start(void);
void ether_stop_receiving(void); /* waits until all that has arrived is in the rings */
void ether_stop(void);           /* waits until the core touches no buffer any more */

/* `fn` is called for a queue's interrupts at SPL_NET; `queue` may be ETHER_QUEUES: sent frames, and the link. */
void ether_establish(unsigned queue, unsigned hart, intr_fn *fn, void *arg, const char *name);
void ether_enable(uint32_t causes, bool on);
void ether_acknowledge(uint32_t causes); /* first: frames that arrive from here on interrupt again */
void ether_moderate(unsigned frames, uint32_t cycles);

/*
 * An empty buffer of `size` bytes at `buffer`, a multiple of 8. The core may use it after ether_rx_publish. Panics if
 * the ring is full.
 */
void ether_rx_give(unsigned queue, void *owner, uint8_t *buffer, uint32_t size);
void ether_rx_publish(unsigned queue);
bool ether_rx_take(unsigned queue, struct ether_frame *frame); /* false: no frame is there */
bool ether_rx_waits(unsigned queue);
/* After ether_stop, when all frames are taken: returns a buffer that the core had, given or exchanged; 0: no more. */
uint32_t ether_rx_take_back(unsigned queue);

/*
 * Another way to receive, in which the handler and the consumer need no lock: each place of a ring in memory holds
 * a buffer, either empty or with a frame in it. The handler exchanges the buffer that the core has filled for the one
 * in the next place, and posts SPL_SOFTNET, which consumes the frame and puts an empty buffer in its place.
 *
 * The handler, one at a time, is the only writer of all but `tail` and `limit`; these and the places from
 * `tail` up to `head` belong to the consumer, one at a time. A place is written before the number that passes it on: a
 * hart's stores reach memory in order, and its loads are done in order (hw/cpu/README.md), so on any number of harts
 * no hart sees a number without the data that belongs to it.
 */
struct ether_place {
    uint32_t buffer; /* its address */
    uint32_t status; /* of the frame, as in the descriptor: 15:0 its length */
} __attribute__((aligned(8)));

struct ether_exchange {
    volatile uint32_t head,
        limit; /* frames put into places; the most that `head` may reach, `tail` + `most`. They run freely. */
    volatile uint32_t tail; /* frames consumed: written by the consumer, as `limit` */
    uint32_t most; /* frames that may wait */
    uint32_t mask; /* places, a power of two, less one */
    struct ether_place *place;
    volatile uint32_t full; /* frames dropped because so many waited; the core has their buffers again */
    /* ether_exchange_begin's */
    struct ether_descriptor *filled; /* the next descriptor that the core fills */
    volatile uint32_t *tail_register;
    uint32_t cause;
} __attribute__((aligned(64)));

/* The consumer is done with the place at `tail`, which now holds an empty buffer. */
static inline void ether_exchange_done(struct ether_exchange *x)
{
    fence_release();
    x->tail++;
    x->limit = x->tail + x->most;
}

/* The queue's ring is full (ether_rx_give), and each place has a buffer of the same size. */
void ether_exchange_begin(struct ether_exchange *x, unsigned queue);
/* When no handler runs any more: ether_rx_take_back returns the ring's buffers, and the places keep theirs. */
void ether_exchange_end(struct ether_exchange *x, unsigned queue);
/* The handler, whose argument is the exchange: acknowledges the cause and exchanges all received frames. */
void ether_exchange_interrupt(void *exchange);

/*
 * Enters a frame, which begins at an even address; false: the ring is full, or not open. The core owns the buffer until
 * it is reclaimed.
 */
bool ether_tx_put(void *owner, const uint8_t *data, uint32_t length, bool interrupt);
void *ether_tx_reclaim(void); /* the owner of the next buffer that the core has read, or 0 */
bool ether_tx_waits(void); /* whether some have not been reclaimed */
void ether_tx_open(bool open); /* from now on it accepts frames, or refuses them; closed at first */
bool ether_tx_is_open(void);

/* Prints all counters of the core as `@ether name=value ...`. */
void ether_print_results(void);
#endif
