/*
 * run=test-disk: the whole disk is read, in requests of random lengths of which many are under way at
 * once; then threads write, read and compare at random, each in its own part of the disk, some waiting for each
 * request and some not, with pieces of memory at any address; then the disk is flushed and read once more. Each request
 * is answered once. Errors that the drive is made to have are counted; with faults=0, the default, there must be none.
 *
 *   @test name=disk sectors=... requests=... told=... errors=... retried=... timed_out=... crc_in=... crc=...
 *
 * crc_in is of the disk at the beginning, crc at the end, to compare with the image. Boot arguments:
 * rounds (of each thread, 40), sectors (all; at most 2048), faults.
 */
#include <errno.h>
#include <string.h>

#include "dev/disk.h"
#include "lib/minmax.h"
#include "test/test.h"

#define MOST_SECTORS BOOT_MOST(test_disk, sectors)
#define AT_ONCE 12
#define MOST_COUNT 24u
#define MOST_THREADS 8

static uint8_t model[MOST_SECTORS * SECTOR_SIZE] __attribute__((aligned(64), section(".noinit")));
static uint8_t scratch[MOST_THREADS][AT_ONCE][MOST_COUNT * SECTOR_SIZE]
    __attribute__((aligned(64), section(".noinit")));
static bool spoiled[MOST_SECTORS]; /* a write of it failed: it may hold anything */
static struct block_device *disk;
static uint32_t sectors, rounds, test_disk_faults, errors, requests;

/* CRC-32 of ISO 3309, as zip has it. */
static uint32_t test_disk_crc32(const uint8_t *bytes, uint32_t n)
{
    static uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    uint32_t crc = ~0u;
    while (n--)
        crc = crc >> 8 ^ table[(crc ^ *bytes++) & 0xff];
    return ~crc;
}

/* One thread's requests under way. */
struct flight {
    struct block_io io[AT_ONCE];
    struct block_segment segment[AT_ONCE][3];
    uint32_t told[AT_ONCE];
    uint32_t under_way;
    struct simple_lock lock;
};
static SIMPLE_LOCK_CLASS(flight_class, "disk test", SPL_BIO);
static struct flight flights[MOST_THREADS];

static void test_disk_landed(struct block_io *io)
{
    struct flight *f = io->arg;
    crit_t s = simple_lock_enter(&f->lock);
    f->told[io - f->io]++;
    f->under_way--;
    simple_lock_leave(&f->lock, s);
    thread_wakeup(f);
}

static void wait_all(struct flight *f)
{
    crit_t s = simple_lock_enter(&f->lock);
    while (f->under_way)
        thread_sleep(f, &f->lock);
    simple_lock_leave(&f->lock, s);
}

static void launch(struct flight *f, unsigned n, unsigned op, uint32_t lba, uint32_t count, uint8_t *data,
                   struct random *r)
{
    struct block_io *io = &f->io[n];
    *io = (struct block_io){.op = (uint8_t)op, .lba = lba, .count = count, .done = test_disk_landed, .arg = f};
    if (random_below(r, 2)) {
        uint32_t bytes = count * SECTOR_SIZE, a = 8 * random_below(r, bytes / 8 + 1);
        uint32_t b = a + 8 * random_below(r, (bytes - a) / 8 + 1);
        f->segment[n][0] = (struct block_segment){(uintptr_t)data, a};
        f->segment[n][1] = (struct block_segment){(uintptr_t)data + a, b - a};
        f->segment[n][2] = (struct block_segment){(uintptr_t)data + b, bytes - b};
        io->segments = f->segment[n];
        io->segment_count = 3;
    } else {
        io->data = data;
    }
    crit_t s = simple_lock_enter(&f->lock);
    f->told[n] = 0;
    f->under_way++;
    simple_lock_leave(&f->lock, s);
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
    int error = block_submit(disk, io);
    if (error)
        panic("a request of %lu sectors at %lu is refused: %d", (unsigned long)count, (unsigned long)lba, error);
}

/* Counts the request's error; whether its data can be trusted. */
static bool good(int error)
{
    if (!error)
        return true;
    if (!test_disk_faults)
        panic("a request failed with %d", error);
    __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
    return false;
}

/* Word by word: comparing bytes took half of the test's time. */
static bool same(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    uint32_t differ = 0;
    for (unsigned i = 0; i < SECTOR_SIZE / sizeof *x; i += 4)
        differ |= (x[i] ^ y[i]) | (x[i + 1] ^ y[i + 1]) | (x[i + 2] ^ y[i + 2]) | (x[i + 3] ^ y[i + 3]);
    return !differ;
}

static void check_read(uint32_t lba, uint32_t count, const uint8_t *data)
{
    for (uint32_t i = 0; i < count; i++)
        if (!spoiled[lba + i] && !same(data + i * SECTOR_SIZE, model + (lba + i) * SECTOR_SIZE))
            panic("sector %lu is not what was written", (unsigned long)(lba + i));
}

/* Reads the whole disk into `to`, many requests at once. */
static void test_disk_read_all(uint8_t *to, struct random *r)
{
    struct flight *f = &flights[0];
    for (uint32_t lba = 0; lba < sectors;) {
        unsigned n = 0;
        for (; n < AT_ONCE && lba < sectors; n++) {
            uint32_t count = 1 + random_below(r, MOST_COUNT);
            count = MIN(count, sectors - lba);
            launch(f, n, BLOCK_READ, lba, count, to + lba * SECTOR_SIZE, r);
            lba += count;
        }
        wait_all(f);
        while (n--) {
            assert(f->told[n] == 1);
            if (!good(f->io[n].error))
                memset(spoiled + f->io[n].lba, true, f->io[n].count);
        }
    }
}

static void test_disk_worker(void *arg)
{
    unsigned me = (uintptr_t)arg, of = test_harts() * 2;
    of = MIN(of, MOST_THREADS);
    uint32_t share = sectors / of, first = me * share;
    struct flight *f = &flights[me];
    struct random r = random_from(run_seed, 900 + me);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t count = 1 + random_below(&r, MIN(MOST_COUNT, share));
        uint32_t lba = first + random_below(&r, share - count + 1);
        uint8_t *data = scratch[me][0];
        switch (random_below(&r, 4)) {
        case 0: /* one, waited for */
            __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
            if (good(block_transfer(disk, BLOCK_READ, lba, count, data)))
                check_read(lba, count, data);
            break;
        case 1:
            for (uint32_t i = 0; i < count * SECTOR_SIZE / 4; i++)
                ((uint32_t *)data)[i] = random_next(&r);
            __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
            bool written = good(block_transfer(disk, BLOCK_WRITE, lba, count, data));
            memcpy(model + lba * SECTOR_SIZE, data, count * SECTOR_SIZE);
            memset(spoiled + lba, !written, count);
            break;
        default: { /* several, each in its own part of the share */
            unsigned n = 1 + random_below(&r, AT_ONCE);
            bool writes = random_below(&r, 2);
            uint32_t part = share / n, most = MIN(part, MOST_COUNT);
            if (!most)
                break;
            for (unsigned i = 0; i < n; i++) {
                uint32_t c = 1 + random_below(&r, most), at = first + i * part + random_below(&r, part - c + 1);
                uint32_t *words = (uint32_t *)scratch[me][i];
                for (uint32_t w = 0; writes && w < c * SECTOR_SIZE / 4; w++)
                    words[w] = random_next(&r);
                launch(f, i, writes ? BLOCK_WRITE : BLOCK_READ, at, c, scratch[me][i], &r);
            }
            wait_all(f);
            for (unsigned i = 0; i < n; i++) {
                struct block_io *io = &f->io[i];
                assert(f->told[i] == 1);
                bool ok = good(io->error);
                if (writes) {
                    memcpy(model + io->lba * SECTOR_SIZE, scratch[me][i], io->count * SECTOR_SIZE);
                    memset(spoiled + io->lba, !ok, io->count);
                } else if (ok) {
                    check_read(io->lba, io->count, scratch[me][i]);
                }
            }
        }
        }
    }
}

static int test_disk(void)
{
    static struct thread *threads[MOST_THREADS];
    disk = disk_open(0);
    if (!disk)
        panic("run=test-disk: there is no drive: build the machine with disks=1 and give --disk IMAGE");
    sectors = bootargs_number(BOOT_OR(test_disk, sectors, MIN(disk->sectors, MOST_SECTORS)));
    rounds = bootargs_number(BOOT(test_disk, rounds));
    test_disk_faults = bootargs_number(BOOT(test_disk, faults));
    struct random r = random_from(run_seed, 899);
    for (unsigned i = 0; i < MOST_THREADS; i++)
        flights[i].lock = (struct simple_lock)SIMPLE_LOCK("disk test", flight_class);

    /* impossible requests */
    struct event never = EVENT("never", flight_class);
    struct block_io wrong[] = {{.op = BLOCK_READ, .lba = disk->sectors, .count = 1, .data = model, .event = &never},
                               {.op = BLOCK_READ, .lba = UINT32_MAX, .count = 2, .data = model, .event = &never},
                               {.op = BLOCK_WRITE, .count = 1, .data = model + 4, .event = &never},
                               {.op = BLOCK_WRITE, .count = 2, .event = &never},
                               {.op = 9, .event = &never},
                               {.op = BLOCK_READ, .count = 1, .data = model}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert(block_submit(disk, &wrong[i]) == -EINVAL);

    test_disk_read_all(model, &r);
    uint32_t crc_in = test_disk_crc32(model, sectors * SECTOR_SIZE);
    unsigned n = MIN(test_harts() * 2, MOST_THREADS);
    for (unsigned i = 0; i < n; i++)
        threads[i] =
            thread_create(test_disk_worker, (void *)(uintptr_t)i, PRI_NORMAL, (int)(i % test_harts()), "disk test");
    for (unsigned i = 0; i < n; i++)
        thread_join(threads[i]);
    requests++;
    good(block_transfer(disk, BLOCK_FLUSH, 0, 0, 0));
    uint32_t crc = test_disk_crc32(model, sectors * SECTOR_SIZE);
    for (uint32_t lba = 0; lba < sectors; lba += MOST_COUNT) {
        uint32_t count = MIN(sectors - lba, MOST_COUNT);
        requests++;
        if (good(block_transfer(disk, BLOCK_READ, lba, count, scratch[0][0])))
            check_read(lba, count, scratch[0][0]);
    }
    crit_t s = simple_lock_enter(&disk->lock);
    assert(!disk->actives && TAILQ_EMPTY(&disk->queue) && disk->submitted == requests && disk->told == requests);
    simple_lock_leave(&disk->lock, s);
    kprintf("@test name=disk sectors=%lu requests=%lu told=%lu errors=%lu retried=%lu timed_out=%lu crc_in=%08lx "
            "crc=%08lx\n",
            (unsigned long)sectors, (unsigned long)requests, (unsigned long)disk->told, (unsigned long)errors,
            (unsigned long)disk->retried, (unsigned long)disk->timed_out, (unsigned long)crc_in, (unsigned long)crc);
    return 0;
}

RUN("test-disk", "a disk is read, written and compared, faults are retried or reported", test_disk);
