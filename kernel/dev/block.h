/*
 * Block devices: requests for sectors of 512 bytes, in a queue that an elevator works off, with retries and time-outs.
 * What is below, a driver, starts a request and says when it is over (disk.c); what is above is told once of each
 * request, in one of two ways (paper `mach`, section 2.2): its event is posted straight from the interrupt, or its
 * `done` is called by `biodone_thread`, of which there are as many as the boot argument biodone.threads says (1 to 4;
 * 1), or in the soft interrupt SPL_SOFTBIO in an image of the build option biodone=softint, or, in the serial kernel,
 * in the interrupt itself.
 *
 *   struct block_io io = {.op = BLOCK_READ, .lba = 8, .count = 2, .data = buffer, .done = filled};
 *   block_submit(&disk, &io);                    filled(&io) is called, io.error says how it went
 *   error = block_transfer(&disk, BLOCK_WRITE, 8, 2, buffer);      the same, and waits
 *
 * Requests that overlap, and are under way at the same time, are done in any order. A flush is over when all writes
 * that were over before it are on the medium.
 *
 * Locking: the device's lock, level SPL_BIO, guards queue and driver. `done` is called without it. The request belongs
 * to the device from block_submit until it is told of.
 *
 * Errors, in `error`: -EIO, the medium or the controller, or no answer (`timed_out` counts those), after BLOCK_TRIES
 * tries, with what was tried. A try that ends as the device is reset for another request is none, up to BLOCK_TRIES
 * times. From block_submit, for a request that cannot be: -EINVAL, and nobody is told.
 */
#ifndef DEV_BLOCK_H
#define DEV_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lock/event.h"
#include "lock/simple_lock.h"
#include "sched/timeout.h"
#if BIODONE_SOFTINT
#include "intr/softint.h"
#endif

#define SECTOR_SIZE 512u
#define BLOCK_TRIES 4

enum { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_DISCARD }; /* as hw/disk numbers them */

/* A piece of memory: both numbers are multiples of 8. The controller reads it. */
struct block_segment {
    uint32_t address, bytes;
} __attribute__((aligned(8)));

struct block_io {
    uint8_t op;
    uint32_t lba, count; /* sectors */
    void *data;          /* `count` sectors, or 0: ... */
    const struct block_segment *segments; /* ... they are here, one behind the other */
    unsigned segment_count;
    void (*done)(struct block_io *io); /* if there is no event */
    struct event *event;
    void *arg; /* the caller's */
    bool once; /* no second try: the caller has another way */
    int error; /* when it is over: 0, or minus a number of <errno.h> */

    /* The device's. */
    TAILQ_ENTRY(block_io) link;
    uint16_t tries, spared; /* spared: tries that ended as the drive was reset for another request */
    uint32_t due; /* clock ticks */
    struct block_segment whole;
};

TAILQ_HEAD(block_list, block_io);

/* What a request may take: a share, and one more for as many sectors: a floppy moves 32 KiB in 0.8 s. */
#define BLOCK_SHARE 64u

struct block_device {
    struct block_list queue; /* by sector; first, beside what a driver's handler looks at */
    struct simple_lock lock;
    const char *name;
    uint32_t sectors;
    unsigned depth;         /* requests that the driver takes at once */
    uint32_t patience;      /* clock ticks for each share of those under way, until one is begun anew; 0: never */
    /* The driver, called with the lock held. Start it: block_over says how it went. Forget all that was started. */
    void (*start)(struct block_device *d, struct block_io *io);
    void (*reset)(struct block_device *d);
    /*
     * Of a driver whose handler leaves what is over where it is, and calls biodone_post: block_over for each of those.
     * Else 0.
     */
    void (*reap)(struct block_device *d);
    /*
     * By programmed I/O: a request that was started wants its first data (`wants_data`, which `start` sets). Lets the
     * lock go meanwhile, and gives the state of its section anew.
     */
    crit_t (*give_data)(struct block_device *d, crit_t saved);
    bool wants_data;
    bool moving; /* a hart moves data, without the lock: nobody else touches what is under way */

    struct block_list active; /* the driver has them */
    struct block_list posting; /* over, to be told of when the lock is let go */
    struct block_list finished; /* over, for biodone */
    unsigned actives;
    uint32_t position; /* of the elevator */
    bool watched;
    struct timeout watch;
    uint32_t submitted, told, retried, timed_out, failed;
};

/* Before anything else: fills in what is not the driver's. */
void block_init(struct block_device *d);

int block_submit(struct block_device *d, struct block_io *io);
int block_transfer(struct block_device *d, unsigned op, uint32_t lba, uint32_t count, void *data); /* from a thread */

/* For the driver, with the lock held: a request is over; a medium's error, and it is worth another try. */
void block_over(struct block_device *d, struct block_io *io, int error, bool again);
/* The end of its handler: starts what waits, lets the lock go and tells of what is over. */
void block_leave(struct block_device *d, crit_t saved);

/* biodone_thread, or the soft interrupt: once, by who opens the first device. `source` is of the PIC. */
void biodone_start(unsigned source);

/* From a driver's handler: something is over. Without a lock. */
#if BIODONE_SOFTINT
static inline void biodone_post(void)
{
    softint_mark(SPL_SOFTBIO); /* the way back from the handler looks for it */
}
#else
void biodone_post(void);
#endif
#endif
