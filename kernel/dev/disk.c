/* The disk controller's driver (disk.h). */
#include "dev/disk.h"

#include <errno.h>
#include <generated/disk_regs.h>
#include <generated/mem.h>
#include <stddef.h>
#include <string.h>

#include "arch/csr.h"
#include "lib/compiler.h"
#include "dev/clock.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "sync/pic.h"

static const uintptr_t base[] = {
    DISK0_BASE,
#ifdef DISK1_BASE
    DISK1_BASE,
#endif
};
#define UNITS (sizeof base / sizeof *base)

#define TAGS 16
_Static_assert(BOOT_MOST(kernel, disk_depth) <= TAGS, "each request has a tag");
/* More than there are tags, so that neither ring is ever full: a tag is free again only after its completion was
 * reaped, and its entry in the request ring was read before that. */
#define RING_LOG2 5
#define NEW_BEGINNING 0x80000000u /* in `unusual`, above the bits of tags */
#define RING (1u << RING_LOG2)
#define REG(d, name) ((d)->regs[DISK_##name / 4])

/* In the layout that the controller uses (hw/disk/README.md). */
struct request {
    uint8_t op, reserved0;
    uint16_t tag, count, reserved1;
    uint32_t lba, reserved2;
    uint32_t segments;
    uint16_t segment_count, reserved3;
    uint32_t own[2];
};
struct completion {
    uint32_t word; /* 15:0 tag, 23:16 status, 31 lap: all that a handler needs, in one load */
    uint16_t sectors, reserved;
};
_Static_assert(sizeof(struct request) == 32 && sizeof(struct completion) == 8, "hw/disk reads and writes them");

struct disk {
    /* All that a handler by DMA reads lies in one cache line, followed by the block device's queue. */
    volatile uint32_t *regs;
    volatile struct completion *completions;
    uint32_t seen; /* completions that the handler, its only writer, has seen */
    /*
     * Why the handler cannot leave the rest to biodone: bit t: the request of tag t has an event; NEW_BEGINNING:
     * the controller and its counters were reset. Written with the lock held.
     */
    volatile uint32_t unusual;
    struct block_device block;

    disk_watcher *watcher;

    bool dma, seeks;
    unsigned cluster;
    uint32_t spurious;

    /* DMA */
    uint32_t tail, head, free_tags; /* `head`: completions that were reported to the block device */
    struct block_io *io[TAGS];
    struct request *requests;

    /* programmed I/O: the request under way, and where its data continues */
    struct block_io *current;
    bool seeking;
    unsigned segment;
    uint32_t offset, left; /* bytes in the segment; sectors of the request */
    uint32_t late; /* STATUS of its end, if that came while data was being moved; else 0 */
};

static struct request disk_requests[2][RING] __attribute__((aligned(64)));
static struct completion completions[2][RING] __attribute__((aligned(64)));
static SIMPLE_LOCK_CLASS(disk_class, "disk", SPL_BIO);
static struct disk disk_table[2]
    __attribute__((aligned(64))) = {{.block = {.lock = SIMPLE_LOCK("disk0", disk_class), .name = "disk0"}},
                                    {.block = {.lock = SIMPLE_LOCK("disk1", disk_class), .name = "disk1"}}};

static struct disk *disk_of(struct block_device *b)
{
    return (struct disk *)((char *)b - offsetof(struct disk, block));
}

static void disk_over(struct disk *d, struct block_io *io, unsigned status)
{
    block_over(&d->block, io, status == DISK_STATUS_CODE_OK ? 0 : -EIO, status == DISK_STATUS_CODE_MEDIUM);
}

/* DMA -------------------------------------------------------------------------------------------------------------- */

static void start_dma(struct block_device *b, struct block_io *io)
{
    struct disk *d = disk_of(b);
    unsigned tag = (unsigned)__builtin_ctz(d->free_tags);
    d->free_tags &= ~(1u << tag);
    d->io[tag] = io;
    d->unusual |= (uint32_t)(io->event != 0) << tag;
    d->requests[d->tail++ % RING] = (struct request){.op = io->op,
                                                     .tag = (uint16_t)tag,
                                                     .count = (uint16_t)io->count,
                                                     .lba = io->lba,
                                                     .segments = (uintptr_t)io->segments,
                                                     .segment_count = (uint16_t)io->segment_count};
    io_fence();
    REG(d, SQ_TAIL) = d->tail;
}

/* Whether the controller has written `word` as completion `n`: its first bit tells the lap. */
static inline bool is_of(uint32_t word, uint32_t n)
{
    return (int32_t)(word ^ n << (31 - RING_LOG2)) < 0;
}

/* Reports all completions in the ring to the block device. The lock is held. */
static void disk_reap(struct block_device *b)
{
    struct disk *d = disk_of(b);
    for (uint32_t word; word = d->completions[d->head % RING].word, is_of(word, d->head); d->head++) {
        unsigned tag = word & 0xffff;
        struct block_io *io = tag < TAGS ? d->io[tag] : 0;
        if (!io)
            panic("%s: an answer for tag %u, which no request has", d->block.name, tag);
        d->io[tag] = 0;
        d->free_tags |= 1u << tag;
        d->unusual &= ~(1u << tag);
        disk_over(d, io, word >> 16 & 0xff);
    }
}

/* The handler's slow path: finishes everything about the completed requests at once. */
static COLD void disk_work_off(struct disk *d, bool some)
{
    crit_t s = simple_lock_enter(&d->block.lock);
    disk_reap(&d->block);
    d->unusual &= ~NEW_BEGINNING;
    some |= d->seen != d->head;
    d->seen = d->head;
    REG(d, CQ_HEAD) = d->seen;
    d->spurious += !some;
    block_leave(&d->block, s);
}

/*
 * By DMA. Completions stay in their ring, which has more entries than there are tags, until biodone or another holder
 * of the lock reaps them: the handler acknowledges the interrupt and wakes biodone. It does all the work itself if a
 * request under way has an event, or if requests wait for these to complete (block_submit checks the ring after it
 * enters one: one of the two sees the other).
 *
 * No lock: only the handler writes `seen` and CQ_HEAD; it runs on one hart, and never twice at once. A reset by another
 * hart sets NEW_BEGINNING before it begins, so if the handler then writes a CQ_HEAD from before the reset, its check
 * after the write notices.
 */
static void dma_interrupt(void *arg)
{
    struct disk *d = arg;
    volatile uint32_t *regs = d->regs;
    uint32_t begin = d->seen, seen = begin + 1;
    uint32_t first = d->completions[begin % RING].word, next = d->completions[seen % RING].word;
    bool some = is_of(first, begin);
    if (likely(some)) {
        for (; unlikely(is_of(next, seen)); next = d->completions[seen % RING].word)
            seen++;
        d->seen = seen;
        regs[DISK_CQ_HEAD / 4] = seen;
        if (likely(!(d->unusual | (uintptr_t)TAILQ_FIRST(&d->block.queue)))) {
            biodone_post();
            return;
        }
    }
    disk_work_off(d, some);
}

/* The same, and reports to the watcher. */
static void watched_dma_interrupt(void *arg)
{
    uint32_t begin = cycles32();
    struct disk *d = arg;
    uint32_t spurious = d->spurious;
    dma_interrupt(d);
    disk_watcher *w = d->watcher;
    if (w)
        w(d->spurious == spurious ? DISK_FOR_DONE : DISK_FOR_NOTHING, cycles32() - begin);
}

/* Programmed I/O --------------------------------------------------------------------------------------------------- */

static void disk_copy(unsigned op, volatile uint32_t *data, uint32_t *p, const uint32_t *end)
{
    if (op == BLOCK_READ) {
        for (; p < end; p++) {
            uint32_t low = *data;
            *p = low | *data << 16;
        }
    } else {
        for (; p < end; p++) {
            *data = *p & 0xffff;
            *data = *p >> 16;
        }
    }
}

/*
 * Moves the next cluster between the controller's buffer and the request's memory segments. That takes longer than a
 * section may: the lock is released, with `moving` set, until the last word; after that word the drive continues, and
 * may interrupt. The request does not change meanwhile: no other is started, as the drive takes one at a time, and
 * none is given up.
 */
static crit_t move_cluster(struct disk *d, crit_t saved)
{
    struct block_io *io = d->current;
    volatile uint32_t *data = &REG(d, DATA);
    uint32_t sectors = MIN(d->left, d->cluster), bytes = sectors * SECTOR_SIZE;
    d->left -= sectors;
    d->block.moving = true;
    simple_lock_leave(&d->block.lock, saved);
    for (bool last = false; !last;) {
        const struct block_segment *s = &io->segments[d->segment];
        uint32_t n = MIN(s->bytes - d->offset, bytes);
        last = n == bytes;
        uint32_t *p = (uint32_t *)(uintptr_t)(s->address + d->offset), *end = p + n / 4;
        disk_copy(io->op, data, p, end - last);
        if (last) {
            saved = simple_lock_enter(&d->block.lock);
            disk_copy(io->op, data, end - 1, end);
        }
        bytes -= n;
        d->offset += n;
        if (d->offset == s->bytes) {
            d->segment++;
            d->offset = 0;
        }
    }
    d->block.moving = false;
    return saved;
}

static void begin_transfer(struct disk *d)
{
    struct block_io *io = d->current;
    d->seeking = false;
    d->segment = d->offset = 0;
    d->left = io->op == BLOCK_READ || io->op == BLOCK_WRITE ? io->count : 0;
    REG(d, LBA) = io->lba;
    REG(d, COUNT) = io->count;
    REG(d, COMMAND) = io->op;
    if (io->op != BLOCK_WRITE)
        return;
    /* There is room for the first cluster as soon as the drive has the command. */
    for (unsigned i = 0; d->left && i < 100 && !d->block.wants_data; i++)
        d->block.wants_data = REG(d, STATUS) & DISK_STATUS_DRQ_MASK;
}

static unsigned code_of(uint32_t status)
{
    return (status & DISK_STATUS_CODE_MASK) >> DISK_STATUS_CODE_SHIFT;
}

static void pio_over(struct disk *d, uint32_t status)
{
    struct block_io *io = d->current;
    d->current = 0;
    d->late = 0;
    disk_over(d, io, code_of(status));
}

/* The first cluster of a write. */
static crit_t give_data(struct block_device *b, crit_t saved)
{
    struct disk *d = disk_of(b);
    saved = move_cluster(d, saved);
    if (d->late)
        pio_over(d, d->late);
    return saved;
}

static void start_pio(struct block_device *b, struct block_io *io)
{
    struct disk *d = disk_of(b);
    d->current = io;
    if (d->seeks && io->count && (io->op == BLOCK_READ || io->op == BLOCK_WRITE)) {
        d->seeking = true;
        REG(d, LBA) = io->lba;
        REG(d, COMMAND) = DISK_COMMAND_OP_SEEK;
        return;
    }
    begin_transfer(d);
}

static enum disk_cause disk_serve(struct disk *d, crit_t *saved)
{
    uint32_t status = REG(d, STATUS); /* clears DONE */
    enum disk_cause cause = DISK_FOR_NOTHING;
    if (!d->current)
        return cause;
    if (d->block.moving) { /* the request ends early: the hart that moves data handles that */
        d->late = status & DISK_STATUS_DONE_MASK ? status : d->late;
        return cause;
    }
    if (d->seeking) {
        if (!(status & DISK_STATUS_DONE_MASK))
            return cause;
        if (code_of(status) == DISK_STATUS_CODE_OK) {
            begin_transfer(d);
            return DISK_FOR_SEEK;
        }
    }
    if (status & DISK_STATUS_DATA_MASK) {
        *saved = move_cluster(d, *saved);
        cause = DISK_FOR_DATA;
        status = d->late ? d->late : status;
    }
    if (status & DISK_STATUS_DONE_MASK) {
        pio_over(d, status);
        cause = cause == DISK_FOR_DATA ? DISK_FOR_DATA : DISK_FOR_DONE;
    }
    return cause;
}

/* Both ------------------------------------------------------------------------------------------------------------- */

static void pio_interrupt(void *arg)
{
    uint32_t begin = cycles32();
    struct disk *d = arg;
    crit_t s = simple_lock_enter(&d->block.lock);
    enum disk_cause cause = disk_serve(d, &s);
    d->spurious += cause == DISK_FOR_NOTHING;
    block_leave(&d->block, s);
    if (d->watcher)
        d->watcher(cause, cycles32() - begin);
}

static void reset(struct block_device *b)
{
    struct disk *d = disk_of(b);
    d->unusual |= NEW_BEGINNING;
    io_fence();
    REG(d, CONTROL) = DISK_CONTROL_RESET_MASK;
    while (REG(d, CONTROL) & DISK_CONTROL_RESET_MASK)
        ;
    d->current = 0;
    d->seeking = d->block.wants_data = false;
    d->late = 0;
    d->tail = d->head = 0;
    d->free_tags = (1u << TAGS) - 1;
    d->unusual = NEW_BEGINNING;
    memset(d->io, 0, sizeof d->io);
    memset((void *)d->completions, 0, sizeof completions[0]);
    io_fence();
    REG(d, SQ_BASE) = (uintptr_t)d->requests;
    REG(d, CQ_BASE) = (uintptr_t)d->completions;
    REG(d, ENTRIES) = RING_LOG2;
    REG(d, CONTROL) = d->dma ? DISK_CONTROL_RING_MASK : DISK_CONTROL_DATA_MASK | DISK_CONTROL_DONE_MASK;
}

struct block_device *disk_open(unsigned unit)
{
    static bool biodone;
    char text[8];
    if (unit >= UNITS)
        return 0;
    struct disk *d = &disk_table[unit];
    d->regs = (volatile uint32_t *)base[unit];
    if (!REG(d, SECTORS))
        return 0;
    if (d->block.start)
        return &d->block;
    const char *mode = bootargs_string(BOOT(kernel, disk_mode), text, sizeof text);
    d->dma = !strcmp(mode, "dma");
    if (!d->dma && strcmp(mode, "pio"))
        panic("boot argument disk.mode=%s: give dma or pio", mode);
    d->requests = disk_requests[unit];
    d->completions = completions[unit];
    d->cluster = bootargs_number(BOOT(kernel, disk_cluster));
    d->seeks = bootargs_number(BOOT(kernel, disk_seek));
    uint32_t depth = bootargs_number(BOOT(kernel, disk_depth)),
             hart = bootargs_number(BOOT_WITHIN(kernel, disk_hart, 0, hart_count - 1));
    if (!d->cluster || !depth)
        panic("boot arguments disk.cluster and disk.depth: give 1 at least");
    d->block.sectors = REG(d, SECTORS);
    d->block.depth = d->dma ? depth : 1;
    uint64_t patience = bootargs_number(BOOT(kernel, disk_patience)); /* ms; rounded up to ticks */
    d->block.patience = (uint32_t)((patience * clock_hz() + 999) / 1000);
    d->block.start = d->dma ? start_dma : start_pio;
    d->block.reset = reset;
    d->block.reap = d->dma ? disk_reap : 0;
    d->block.give_data = give_data;
    block_init(&d->block);
    REG(d, CLUSTER) = d->cluster;
    REG(d, DATA_CYCLES) = bootargs_number(BOOT(kernel, disk_data_cycles));
    reset(&d->block);
    d->unusual = 0; /* no handler has run before it */
    if (!biodone)
        biodone_start(PIC_SOURCE_DISK(unit));
    biodone = true;
    intr_establish(PIC_SOURCE_DISK(unit), SPL_BIO, INTR_LEVEL, hart,
                   d->dma ? d->watcher ? watched_dma_interrupt : dma_interrupt : pio_interrupt, d, d->block.name);
    return &d->block;
}

void disk_watch(disk_watcher *w)
{
    for (unsigned unit = 0; unit < UNITS; unit++) {
        struct disk *d = &disk_table[unit];
        struct intr_vector was, is = {w ? watched_dma_interrupt : dma_interrupt, d};
        if (d->watcher == w)
            continue;
        d->watcher = w;
        if (d->dma && d->block.start)
            intr_exchange(PIC_SOURCE_DISK(unit), is, &was);
    }
}

uint32_t disk_spurious(const struct block_device *d)
{
    return disk_of((struct block_device *)d)->spurious;
}
