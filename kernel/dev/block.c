/* Block devices: the queue and its ends (block.h). */
#include "dev/block.h"

#include <errno.h>

#include "lib/bootargs.h"
#include "lib/panic.h"
#include "sched/ithread.h"
#include "sched/master.h"
#include "sched/sched.h"

#define MOST_DEVICES 2

static struct block_device *block_devices[MOST_DEVICES];
static unsigned device_count;

void block_init(struct block_device *d)
{
    if (device_count == MOST_DEVICES)
        panic("%s: there is room for %u block devices", d->name, MOST_DEVICES);
    TAILQ_INIT(&d->queue);
    TAILQ_INIT(&d->active);
    TAILQ_INIT(&d->posting);
    TAILQ_INIT(&d->finished);
    block_devices[device_count++] = d;
}

/* The elevator goes up: requests behind the position come when it begins again at the lowest. */
static struct block_io *take_next(struct block_device *d)
{
    struct block_io *io;
    TAILQ_FOREACH(io, &d->queue, link)
        if (io->lba >= d->position)
            break;
    if (!io)
        io = TAILQ_FIRST(&d->queue);
    if (io) {
        TAILQ_REMOVE(&d->queue, io, link);
        d->position = io->lba + 1; /* repeated requests for the same sector, or flushes, let others go first */
    }
    return io;
}

static void enqueue(struct block_device *d, struct block_io *io)
{
    struct block_io *behind;
    TAILQ_FOREACH(behind, &d->queue, link)
        if (behind->lba > io->lba)
            break;
    if (behind)
        TAILQ_INSERT_BEFORE(behind, io, link);
    else
        TAILQ_INSERT_TAIL(&d->queue, io, link);
}

static void watch(void *arg);

/* In ticks, the time allowed to the newest of the requests under way: it may wait for each of the others. */
static uint32_t patience_for(const struct block_list *list, uint32_t patience)
{
    uint32_t shares = 0;
    const struct block_io *active;
    TAILQ_FOREACH(active, list, link)
        shares += 1 + active->count / BLOCK_SHARE;
    return patience * shares;
}

static void dispatch(struct block_device *d)
{
    struct block_io *io;
    while (d->actives < d->depth && (io = take_next(d))) {
        TAILQ_INSERT_HEAD(&d->active, io, link);
        d->actives++;
        io->tries++;
        io->due = clock_ticks() + patience_for(&d->active, d->patience);
        d->start(d, io);
    }
    if (d->actives && d->patience && !d->watched) {
        d->watched = true;
        timeout_set(&d->watch, d->patience / 4 + 1, watch, d);
    }
}

static void remove_active(struct block_device *d, struct block_io *io)
{
    const struct block_io *active;
    TAILQ_FOREACH(active, &d->active, link)
        if (active == io)
            break;
    if (!active)
        panic("%s: a request ends that is not under way", d->name);
    TAILQ_REMOVE(&d->active, io, link);
    d->actives--;
}

void block_over(struct block_device *d, struct block_io *io, int error, bool again)
{
    remove_active(d, io);
    if (error && again && io->tries < BLOCK_TRIES && !io->once) {
        d->retried++;
        enqueue(d, io);
        return;
    }
    io->error = error;
    d->failed += error != 0;
    if (io->event)
        TAILQ_INSERT_HEAD(&d->posting, io, link);
    else
        TAILQ_INSERT_TAIL(&d->finished, io, link);
}

static void biodone_wake(void);

/* Starts waiting requests, releases the lock and posts events; returns whether biodone has requests to finish. */
static bool block_unlock(struct block_device *d, crit_t saved)
{
    while (dispatch(d), d->wants_data) {
        d->wants_data = false;
        saved = d->give_data(d, saved);
    }
    struct block_list posting = TAILQ_HEAD_INITIALIZER(posting);
    TAILQ_CONCAT(&posting, &d->posting, link);
    bool finished = !TAILQ_EMPTY(&d->finished);
    struct block_io *io, *next;
    TAILQ_FOREACH(io, &posting, link)
        d->told++;
    simple_lock_leave(&d->lock, saved);
    TAILQ_FOREACH_SAFE(io, &posting, link, next) /* after event_post its owner may free it */
        event_post(io->event);
    return finished;
}

void block_leave(struct block_device *d, crit_t saved)
{
    if (block_unlock(d, saved))
        biodone_wake();
}

static void block_reap(struct block_device *d)
{
    if (d->reap)
        d->reap(d);
}

static bool is_late(const struct block_io *io, uint32_t now)
{
    return (int32_t)(now - io->due) > 0;
}

/*
 * The drive is reset: a request that was not late itself does not count this try. Limited, as others may be late again
 * and again.
 */
static void spare(struct block_io *io, uint32_t now)
{
    if (is_late(io, now) || io->spared == BLOCK_TRIES)
        return;
    io->spared++;
    io->tries--;
}

/* The driver got no answer in time: it starts anew, and the requests under way are retried. */
static void watch(void *arg)
{
    struct block_device *d = arg;
    crit_t s = simple_lock_enter(&d->lock);
    block_reap(d);
    bool late = false;
    uint32_t now = clock_ticks();
    struct block_io *io, *next;
    TAILQ_FOREACH(io, &d->active, link)
        late |= is_late(io, now);
    if (late && !d->moving) {
        d->timed_out++;
        d->reset(d);
        TAILQ_FOREACH_SAFE(io, &d->active, link, next) {
            spare(io, now);
            block_over(d, io, -EIO, true); /* the waiter need not know why the drive has failed */
        }
    }
    d->watched = false;
    block_leave(d, s);
}

int block_submit(struct block_device *d, struct block_io *io)
{
    uint32_t bytes = 0;
    if (io->op > BLOCK_DISCARD || io->lba > d->sectors || io->count > d->sectors - io->lba || io->count > UINT16_MAX ||
        (!io->event && !io->done))
        return -EINVAL;
    if (io->op == BLOCK_READ || io->op == BLOCK_WRITE) {
        if (io->data) {
            io->whole = (struct block_segment){(uintptr_t)io->data, io->count * SECTOR_SIZE};
            io->segments = &io->whole;
            io->segment_count = 1;
        }
        for (unsigned i = 0; i < io->segment_count; i++) {
            bytes += io->segments[i].bytes;
            if (io->segments[i].address % 8 || io->segments[i].bytes % 8)
                return -EINVAL;
        }
        if (bytes < io->count * SECTOR_SIZE)
            return -EINVAL;
    }
    io->tries = io->spared = 0;
    io->error = 0;
    crit_t s = simple_lock_enter(&d->lock);
    d->submitted++;
    enqueue(d, io);
    if (d->actives == d->depth) { /* a handler that does not see this request has left completions that this sees */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        block_reap(d);
    }
    block_leave(d, s);
    return 0;
}

static SIMPLE_LOCK_CLASS(transfer_class, "block transfer", SPL_BIO);

int block_transfer(struct block_device *d, unsigned op, uint32_t lba, uint32_t count, void *data)
{
    struct event over = EVENT("block transfer", transfer_class);
    struct block_io io = {.op = (uint8_t)op, .lba = lba, .count = count, .data = data, .event = &over};
    int error = block_submit(d, &io);
    if (!error) {
        event_wait(&over);
        error = io.error;
    }
    event_destroy(&over);
    return error;
}

/* Finishes completed requests, in order, of all devices. */
static void block_biodone(void)
{
    for (unsigned i = 0; i < device_count; i++)
        for (;;) {
            struct block_device *d = block_devices[i];
            crit_t s = simple_lock_enter(&d->lock);
            block_reap(d);
            struct block_io *io = TAILQ_FIRST(&d->finished);
            if (io) {
                TAILQ_REMOVE(&d->finished, io, link);
                d->told++;
            }
            block_unlock(d, s);
            if (!io)
                break;
            io->done(io);
        }
}

#if BIODONE_SOFTINT
static void softbio(void *arg)
{
    (void)arg;
    block_biodone();
}

static void biodone_wake(void)
{
    softint_schedule(SPL_SOFTBIO);
}

void biodone_start(unsigned source)
{
    (void)source;
    softint_establish(SPL_SOFTBIO, softbio, 0);
}
#else
DEFINE_ITHREAD(biodone_thread, "biodone", SPL_BIO);

static void biodone_work(void *arg, uint32_t word)
{
    (void)arg;
    (void)word;
    unix_enter();
    block_biodone();
    unix_leave();
}

/* A word that finds the queue full may be lost: for each word in it the thread finishes all completed requests. */
static void biodone_wake(void)
{
#if UNIX_SERIAL
    if (curhart->id == MASTER_HART && (sync_hart()->intr_depth | sync_hart()->in_softint)) {
        block_biodone(); /* as 4.3BSD does; the thread is for a driver that gives up elsewhere */
        return;
    }
#endif
    ithread_wake(&biodone_thread, 0);
}

void biodone_post(void)
{
    biodone_wake();
}

void biodone_start(unsigned source)
{
    _Static_assert(BOOT_MOST(kernel, biodone_threads) <= ITHREAD_MOST, "a source has so many");
    uint32_t threads = bootargs_number(BOOT(kernel, biodone_threads));
    if (!threads)
        panic("boot argument biodone.threads: give 1 to %u", ITHREAD_MOST);
    ithread_start(&biodone_thread, source, biodone_work, 0, PRI_INTERRUPT, threads, ANY_HART);
}
#endif
