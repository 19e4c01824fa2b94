/* Block devices and memory under the buffer cache (device.h). */
#include "fs/device.h"

#include <string.h>

#include "lib/panic.h"
#if BIODONE_SOFTINT
#include "sched/ithread.h"
#include "sched/sched.h"
#endif

/* A run's request has its data in pieces. */
static void tell(struct block_io *io)
{
    if (io->data) {
        struct buf *bp = io->arg;
        bp->error = io->error;
        biodone(bp);
    } else {
        struct bufrun *run = io->arg;
        run->error = io->error;
        biodone_run(run);
    }
}

#if BIODONE_SOFTINT

/* A soft interrupt reports the end of a request; threads release the buffers. */
DEFINE_ITHREAD(bufdone_thread, "bufdone", SPL_BIO);
static SIMPLE_LOCK_CLASS(ended_class, "bufdone", SPL_BIO);
static struct simple_lock ended_lock = SIMPLE_LOCK("bufdone", ended_class);
static struct block_list device_ended = TAILQ_HEAD_INITIALIZER(device_ended); /* the last one first */

static void device_let_go(void *arg, uint32_t word)
{
    (void)arg, (void)word;
    struct block_list all = TAILQ_HEAD_INITIALIZER(all);
    crit_t s = simple_lock_enter(&ended_lock);
    TAILQ_CONCAT(&all, &device_ended, link);
    simple_lock_leave(&ended_lock, s);
    struct block_io *io, *next;
    TAILQ_FOREACH_SAFE(io, &all, link, next)
        tell(io);
}

static void device_over(struct block_io *io)
{
    crit_t s = simple_lock_enter(&ended_lock);
    TAILQ_INSERT_HEAD(&device_ended, io, link);
    simple_lock_leave(&ended_lock, s);
    ithread_wake(&bufdone_thread, 0);
}

static void start_threads(void)
{
    static bool started;
    if (!started)
        ithread_start(&bufdone_thread, 0, device_let_go, 0, PRI_INTERRUPT, 1, ANY_HART);
    started = true;
}
#else
static void device_over(struct block_io *io)
{
    tell(io);
}

static void start_threads(void) {}
#endif

static void device_begin(struct blockdev *device, struct buf *bp)
{
    bool wait = !(bp->flags & B_ASYNC);
    bp->io = (struct block_io){.op = bp->flags & B_READ ? BLOCK_READ : BLOCK_WRITE,
                               .lba = bp->sector,
                               .count = bp->size / SECTOR_SIZE,
                               .data = bp->data,
                               .done = device_over,
                               .event = wait ? &bp->done : 0,
                               .arg = bp};
    int error = block_submit(device->private, &bp->io);
    if (error)
        panic("%s: request for sector %lu is refused: %d", device->name, (unsigned long)bp->sector, error);
}

static void begin_run(struct blockdev *device, struct bufrun *run)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        run->segment[i] = (struct block_segment){(uintptr_t)run->buf[i]->data, run->buf[i]->size};
        bytes += run->buf[i]->size;
    }
    run->io = (struct block_io){.op = run->write ? BLOCK_WRITE : BLOCK_READ,
                                .lba = run->buf[0]->sector,
                                .count = bytes / SECTOR_SIZE,
                                .segments = run->segment,
                                .segment_count = run->count,
                                .done = device_over,
                                .once = true,
                                .arg = run};
    int error = block_submit(device->private, &run->io);
    if (error)
        panic("%s: request for %lu blocks from sector %lu on is refused: %d", device->name, (unsigned long)run->count,
              (unsigned long)run->buf[0]->sector, error);
}

static int finish(struct buf *bp)
{
    return bp->io.error;
}

static int device_flush(struct blockdev *device)
{
    return block_transfer(device->private, BLOCK_FLUSH, 0, 0, 0);
}

static int device_transfer(struct blockdev *device, bool write, uint32_t sector, uint32_t count, void *data)
{
    return block_transfer(device->private, write ? BLOCK_WRITE : BLOCK_READ, sector, count, data);
}

static uint32_t device_numbers; /* how many have a number */

void blockdev_of(struct blockdev *to, struct block_device *d)
{
    *to = (struct blockdev){.name = d->name,
                            .sectors = d->sectors,
                            .number = device_numbers++,
                            .strategy = device_begin,
                            .strategy_run = begin_run,
                            .finish = finish,
                            .flush = device_flush,
                            .transfer = device_transfer,
                            .private = d};
    start_threads();
}

static void device_move(struct blockdev *device, struct buf *bp)
{
    uint8_t *at = (uint8_t *)device->private + (size_t)bp->sector * SECTOR_SIZE;
    if (bp->flags & B_READ)
        memcpy(bp->data, at, bp->size);
    else
        memcpy(at, bp->data, bp->size);
    if (bp->flags & B_ASYNC)
        biodone(bp);
    else
        event_post(&bp->done);
}

void blockdev_in_memory(struct blockdev *to, const char *name, void *at, uint32_t sectors)
{
    *to = (struct blockdev){
        .name = name, .sectors = sectors, .number = device_numbers++, .strategy = device_move, .private = at};
}
