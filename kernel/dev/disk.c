/* The disk controller's driver (disk.h). */
#include "dev/disk.h"

#include <errno.h>
#include <generated/disk_regs.h>
#include <generated/mem.h>
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
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
#define RING_LOG2 5 /* more than there are tags: no ring is ever full */
#define RING (1u << RING_LOG2)
#define REG(d, name) ((d)->regs[DISK_##name / 4])

/* As the controller reads and writes them (hw/disk/README.md). */
struct request {
    uint8_t op, reserved0;
    uint16_t tag, count, reserved1;
    uint32_t lba, reserved2;
    uint32_t segments;
    uint16_t segment_count, reserved3;
    uint32_t own[2];
};
struct completion {
    uint16_t tag;
    uint8_t status, lap; /* bit 7 */
    uint16_t sectors, reserved;
};
_Static_assert(sizeof(struct request) == 32 && sizeof(struct completion) == 8, "hw/disk reads and writes them");

struct disk {
    struct block_device block; /* first */
    volatile uint32_t *regs;
    bool dma, seeks;
    unsigned cluster;
    uint32_t spurious;

    /* DMA */
    uint32_t tail, head, free_tags;
    struct block_io *io[TAGS];
    struct request *requests;
    volatile struct completion *completions;

    /* programmed I/O: the request under way, and where its data goes on */
    struct block_io *current;
    bool seeking;
    unsigned segment;
    uint32_t offset, left; /* bytes in the segment; sectors of the request */
    uint32_t late;         /* STATUS with its end, if that came while data was moved; else 0 */
};

static struct request requests[2][RING] __attribute__((aligned(64)));
static struct completion completions[2][RING] __attribute__((aligned(64)));
static SIMPLE_LOCK_CLASS(disk_class, "disk", SPL_BIO);
static struct disk disks[2] = {{.block = {.lock = SIMPLE_LOCK("disk0", disk_class), .name = "disk0"}},
                               {.block = {.lock = SIMPLE_LOCK("disk1", disk_class), .name = "disk1"}}};
static disk_watcher *watcher;

static void over(struct disk *d, struct block_io *io, unsigned status)
{
    block_over(&d->block, io, status == DISK_STATUS_CODE_OK ? 0 : -EIO, status == DISK_STATUS_CODE_MEDIUM);
}

/* DMA ------------------------------------------------------------------------------------------------------------------ */

static void start_dma(struct block_device *b, struct block_io *io)
{
    struct disk *d = (struct disk *)b;
    unsigned tag = (unsigned)__builtin_ctz(d->free_tags);
    d->free_tags &= ~(1u << tag);
    d->io[tag] = io;
    d->requests[d->tail++ % RING] = (struct request){.op = io->op,
                                                     .tag = (uint16_t)tag,
                                                     .count = (uint16_t)io->count,
                                                     .lba = io->lba,
                                                     .segments = (uintptr_t)io->segments,
                                                     .segment_count = (uint16_t)io->segment_count};
    io_fence();
    REG(d, SQ_TAIL) = d->tail;
}

static enum disk_cause complete(struct disk *d)
{
    uint32_t first = d->head;
    volatile struct completion *c;
    while (c = &d->completions[d->head % RING], c->lap >> 7 != (d->head >> RING_LOG2 & 1)) {
        unsigned tag = c->tag;
        struct block_io *io = tag < TAGS ? d->io[tag] : 0;
        if (!io)
            panic("%s: an answer for tag %u, which no request has", d->block.name, tag);
        d->io[tag] = 0;
        d->free_tags |= 1u << tag;
        d->head++;
        over(d, io, c->status);
    }
    if (d->head == first)
        return DISK_FOR_NOTHING;
    REG(d, CQ_HEAD) = d->head;
    return DISK_FOR_DONE;
}

/* Programmed I/O ------------------------------------------------------------------------------------------------------- */

static void copy(unsigned op, volatile uint32_t *data, uint32_t *p, const uint32_t *end)
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
 * The next cluster, between the controller's buffer and the request's pieces of memory. That takes longer than a section may:
 * the lock is let go, with `moving` set, until the last word; with that the drive goes on, and may interrupt. The request
 * stays what it is meanwhile: none is started, as the drive takes one at a time, and none is given up.
 */
static crit_t move_cluster(struct disk *d, crit_t saved)
{
    struct block_io *io = d->current;
    volatile uint32_t *data = &REG(d, DATA);
    uint32_t sectors = d->left < d->cluster ? d->left : d->cluster, bytes = sectors * SECTOR_SIZE;
    d->left -= sectors;
    d->block.moving = true;
    simple_lock_leave(&d->block.lock, saved);
    for (bool last = false; !last;) {
        const struct block_segment *s = &io->segments[d->segment];
        uint32_t n = s->bytes - d->offset < bytes ? s->bytes - d->offset : bytes;
        last = n == bytes;
        uint32_t *p = (uint32_t *)(uintptr_t)(s->address + d->offset), *end = p + n / 4;
        copy(io->op, data, p, end - last);
        if (last) {
            saved = simple_lock_enter(&d->block.lock);
            copy(io->op, data, end - 1, end);
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
    /* There is room for the first cluster as soon as the drive has been told. */
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
    over(d, io, code_of(status));
}

/* The first cluster of a write. */
static crit_t give_data(struct block_device *b, crit_t saved)
{
    struct disk *d = (struct disk *)b;
    saved = move_cluster(d, saved);
    if (d->late)
        pio_over(d, d->late);
    return saved;
}

static void start_pio(struct block_device *b, struct block_io *io)
{
    struct disk *d = (struct disk *)b;
    d->current = io;
    if (d->seeks && io->count && (io->op == BLOCK_READ || io->op == BLOCK_WRITE)) {
        d->seeking = true;
        REG(d, LBA) = io->lba;
        REG(d, COMMAND) = DISK_COMMAND_OP_SEEK;
        return;
    }
    begin_transfer(d);
}

static enum disk_cause serve(struct disk *d, crit_t *saved)
{
    uint32_t status = REG(d, STATUS); /* takes DONE back */
    enum disk_cause cause = DISK_FOR_NOTHING;
    if (!d->current)
        return cause;
    if (d->block.moving) { /* the request ends before its time: who moves data sees to that */
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

/* Both ------------------------------------------------------------------------------------------------------------------ */

static void interrupt(void *arg)
{
    uint32_t begin = cycles32();
    struct disk *d = arg;
    crit_t s = simple_lock_enter(&d->block.lock);
    enum disk_cause cause = d->dma ? complete(d) : serve(d, &s);
    d->spurious += cause == DISK_FOR_NOTHING;
    block_leave(&d->block, s);
    if (watcher)
        watcher(cause, cycles32() - begin);
}

static void reset(struct block_device *b)
{
    struct disk *d = (struct disk *)b;
    REG(d, CONTROL) = DISK_CONTROL_RESET_MASK;
    while (REG(d, CONTROL) & DISK_CONTROL_RESET_MASK)
        ;
    d->current = 0;
    d->seeking = d->block.wants_data = false;
    d->late = 0;
    d->tail = d->head = 0;
    d->free_tags = (1u << TAGS) - 1;
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
    struct disk *d = &disks[unit];
    d->regs = (volatile uint32_t *)base[unit];
    if (!REG(d, SECTORS))
        return 0;
    if (d->block.start)
        return &d->block;
    const char *mode = bootargs_string("disk.mode", text, sizeof text, "dma");
    d->dma = !strcmp(mode, "dma");
    if (!d->dma && strcmp(mode, "pio"))
        panic("boot argument disk.mode=%s: give dma or pio", mode);
    d->requests = requests[unit];
    d->completions = completions[unit];
    d->cluster = bootargs_number("disk.cluster", 16, 16);
    d->seeks = bootargs_number("disk.seek", 0, 1);
    uint32_t depth = bootargs_number("disk.depth", 8, TAGS), hart = bootargs_number("disk.hart", 0, hart_count - 1);
    if (!d->cluster || !depth)
        panic("boot arguments disk.cluster and disk.depth: give 1 at least");
    d->block.sectors = REG(d, SECTORS);
    d->block.depth = d->dma ? depth : 1;
    d->block.patience = (uint32_t)((uint64_t)bootargs_number("disk.patience", 2000, 1000000) * clock_hz() / 1000);
    d->block.start = d->dma ? start_dma : start_pio;
    d->block.reset = reset;
    d->block.give_data = give_data;
    block_init(&d->block);
    REG(d, CLUSTER) = d->cluster;
    REG(d, DATA_CYCLES) = bootargs_number("disk.data_cycles", 2, 255);
    reset(&d->block);
    if (!biodone)
        biodone_start(PIC_SOURCE_DISK(unit));
    biodone = true;
    intr_establish(PIC_SOURCE_DISK(unit), SPL_BIO, INTR_LEVEL, hart, interrupt, d, d->block.name);
    return &d->block;
}

void disk_watch(disk_watcher *w)
{
    watcher = w;
}

uint32_t disk_spurious(const struct block_device *d)
{
    return ((const struct disk *)d)->spurious;
}
