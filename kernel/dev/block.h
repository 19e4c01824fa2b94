/*
 * Block devices: requests for sectors of 512 bytes, in a queue served by an elevator, with retries and time-outs.
 * The layer below, a driver, starts a request and reports its completion (disk.c); the layer above is notified once per
 * request, in one of two ways (paper `mach`, section 2.2): its event is posted straight from the interrupt, or its
 * `done` is called by `biodone_thread`, in as many threads as the boot argument biodone.threads says (1 to 4;
 * 1), or in the soft interrupt SPL_SOFTBIO in an image of the build option biodone=softint, or, in the serial kernel,
 * in the interrupt itself.
 *
 *   struct block_io io = {.op = BLOCK_READ, .lba = 8, .count = 2, .data = buffer, .done = filled};
 *   block_submit(&disk, &io);                    filled(&io) is called, io.error gives the result
 *   error = block_transfer(&disk, BLOCK_WRITE, 8, 2, buffer);      the same, and waits
 *
 * Overlapping requests that are under way at the same time are done in any order. A flush completes when all writes
 * that had completed before it are on the medium.
 *
 * Locking: the device's lock, level SPL_BIO, guards queue and driver. `done` is called without it. The request belongs
 * to the device from block_submit until its completion is reported.
 *
 * Errors, in `error`: -EIO, an error of the medium or the controller, or no answer (`timed_out` counts those), after
 * BLOCK_TRIES tries. A try that ends because the device is reset for another request does not count, up to BLOCK_TRIES
 * times. From block_submit, for an invalid request: -EINVAL, and nothing is reported later.
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

/* A piece of memory: both numbers are multiples of 8. The controller accesses it directly. */
struct block_segment {
    uint32_t address, bytes;
} __attribute__((aligned(8)));

struct block_io {
    uint8_t op;
    uint32_t lba, count; /* sectors */
    void *data;          /* `count` sectors, or 0: ... */
    const struct block_segment *segments; /* ... they are here, one after the other */
    unsigned segment_count;
    void (*done)(struct block_io *io); /* if there is no event */
    struct event *event;
    void *arg; /* for the caller's use */
    bool once; /* no second try: the caller has a fallback */
    int error; /* at completion: 0, or minus a number of <errno.h> */

    /* Used by the device. */
    TAILQ_ENTRY(block_io) link;
    uint16_t tries, spared; /* spared: tries that ended because the drive was reset for another request */
    uint32_t due; /* clock ticks */
    struct block_segment whole;
};

TAILQ_HEAD(block_list, block_io);

/* The time that a request may take: a share, and one more per so many sectors: a floppy moves 32 KiB in 0.8 s. */
#define BLOCK_SHARE 64u

struct block_device {
    struct block_list queue; /* by sector; first, next to the data that a driver's handler reads */
    struct simple_lock lock;
    const char *name;
    uint32_t sectors;
    unsigned depth;         /* requests that the driver accepts at once */
    uint32_t patience;      /* clock ticks for each share of those under way, until one is restarted; 0: never */
    /* The driver, with the lock held. Start a request: block_over reports its end. Forget all that were started. */
    void (*start)(struct block_device *d, struct block_io *io);
    void (*reset)(struct block_device *d);
    /*
     * For a driver whose handler leaves completions in place and calls biodone_post: block_over for each of them.
     * Else 0.
     */
    void (*reap)(struct block_device *d);
    /*
     * For programmed I/O: a started request needs its first data (`wants_data`, which `start` sets). Releases the
     * lock meanwhile, and returns the new state of its section.
     */
    crit_t (*give_data)(struct block_device *d, crit_t saved);
    bool wants_data;
    bool moving; /* a hart moves data, without the lock: no other hart touches requests under way */

    struct block_list active; /* requests that the driver has */
    struct block_list posting; /* over, to be reported when the lock is released */
    struct block_list finished; /* over, for biodone */
    unsigned actives;
    uint32_t position; /* of the elevator */
    bool watched;
    struct timeout watch;
    uint32_t submitted, told, retried, timed_out, failed;
};

/* Before anything else: initialises what the driver does not. */
void block_init(struct block_device *d);

int block_submit(struct block_device *d, struct block_io *io);
int block_transfer(struct block_device *d, unsigned op, uint32_t lba, uint32_t count, void *data); /* from a thread */

/* For the driver, with the lock held: a request has ended; `again`: a medium's error, worth another try. */
void block_over(struct block_device *d, struct block_io *io, int error, bool again);
/* The end of its handler: starts waiting requests, releases the lock and reports completions. */
void block_leave(struct block_device *d, crit_t saved);

/* biodone_thread, or the soft interrupt: once, when the first device is opened. `source` is a PIC source. */
void biodone_start(unsigned source);

/* From a driver's handler: a request has completed. Without a lock. */
#if BIODONE_SOFTINT
static inline void biodone_post(void)
{
    softint_mark(SPL_SOFTBIO); /* the return path of the handler checks for it */
}
#else
void biodone_post(void);
#endif
#endif
