/* The buffer cache (buf.h). */
#include "fs/bio.h"

#include <errno.h>
#include <string.h>

#include "lib/compiler.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"
#include "mem/page.h"

#define BUFS_LEAST 8 /* as many as threads that hold one each, and one to take */
#define BUFS_MOST (PAGE_SIZE / sizeof(struct buf *))
_Static_assert(sizeof(struct buf *) > 4 || BOOT_MOST(kernel, bufs) <= BUFS_MOST,
               "they are found in a page"); /* not the host */
#define RUNS 16 /* in progress at once */
#define BUFS_OF_A_RUN 8 /* a run has at most this fraction of the cache */
#define CHAINS 32 /* at least; one for each BUFS_OF_A_CHAIN buffers where there is room: */
#define BUFS_OF_A_CHAIN 4
#define CHAINS_MOST (PAGE_SIZE / sizeof(struct bufchain))

MUTEX_CLASS(bufchain_class, "buffer hash");
#if BUFFERS_SHARED
static RW_LOCK_CLASS(buf_class, "buffer");
#else
static MUTEX_CLASS(buf_class, "buffer");
#endif
static SIMPLE_LOCK_CLASS(bufio_class, "buffer I/O", SPL_BIO);
DEFINE_MUTEX(settle_lock, "settle"); /* one call of bsettle at a time */
DEFINE_MUTEX(flush_lock, "flush");   /* a caller that finds nothing to flush has waited for the flush in progress */

struct bufstats bufstats;
struct bufchain *bufchains;
uint32_t bufchain_count;
static struct buf **bufs;
static uint32_t buf_count;
static struct bufrun bio_runs[RUNS];
static uint32_t runs_taken; /* a bit each */
static uint32_t bio_pinned;
/*
 * By bp->number: 0 if nothing of the buffer is delayed or being written, so that a search for such buffers reads a few
 * cache lines and not all buffers. Changed by the buffer's holder, or, after an asynchronous start, at the end of the
 * I/O.
 */
static uint8_t unwritten[BUFS_MOST] __attribute__((aligned(64)));

#define GROUP 32u /* sectors whose blocks share a chain, so that a run takes few chain locks */

static struct bufchain *bio_chain_of(const struct blockdev *device, uint32_t sector)
{
    uint32_t key = sector / GROUP + device->number * 7919;
    return &bufchains[(key * 2654435769u >> 16) & (bufchain_count - 1)];
}

/* The first buffer from number `i` on that may be delayed or being written; buf_count if there is none. */
static uint32_t next_unwritten(uint32_t i)
{
    for (; i < buf_count; i++) {
        for (const volatile uint32_t *at; i % 16 == 0 && i < buf_count; i += 16) {
            at = (const volatile uint32_t *)&unwritten[i];
            if (at[0] | at[1] | at[2] | at[3])
                break;
        }
        if (i < buf_count && __atomic_load_n(&unwritten[i], __ATOMIC_ACQUIRE))
            return i;
    }
    return buf_count;
}

static void set_unwritten_run(struct buf *const bps[], uint32_t count, bool it_is)
{
    __atomic_thread_fence(__ATOMIC_RELEASE); /* one for all of them: it costs more than the rest */
    for (uint32_t i = 0; i < count; i++)
        __atomic_store_n(&unwritten[bps[i]->number], it_is, __ATOMIC_RELAXED);
}

static void set_unwritten(const struct buf *bp, bool it_is)
{
    __atomic_store_n(&unwritten[bp->number], it_is, __ATOMIC_RELEASE);
}

/* Call with the chain's lock held. */
static struct buf *bio_find(struct bufchain *chain, const struct blockdev *device, uint32_t sector)
{
    cache_assert_held(&chain->lock);
    struct buf *bp;
    SLIST_FOREACH(bp, &chain->bufs, hashed)
        if (bp->device == device && bp->sector == sector)
            break;
    return bp;
}

/*
 * The same for `count` consecutive blocks that share the chain, null where a block is not cached, in one pass along the
 * chain instead of a search for each.
 */
static void find_row(struct bufchain *chain, const struct blockdev *device, uint32_t sector, uint32_t size,
                     uint32_t count, struct buf *bps[])
{
    cache_assert_held(&chain->lock);
    uint32_t each = size / SECTOR_SIZE;
    for (uint32_t i = 0; i < count; i++)
        bps[i] = 0;
    struct buf *bp;
    SLIST_FOREACH(bp, &chain->bufs, hashed) {
        uint32_t from = bp->sector - sector;
        if (bp->device == device && from < count * each && !(from & (each - 1)))
            bps[from / each] = bp;
    }
}

void buf_unhash(struct buf *bp)
{
    buf_assert_mine(&bp->lock);
    cache_assert_held(&bp->chain->lock);
    SLIST_REMOVE(&bp->chain->bufs, bp, buf, hashed);
    bp->device = 0;
    bp->flags = B_INVAL;
}

static void hash(struct buf *bp, struct bufchain *chain, struct blockdev *device, uint32_t sector)
{
    bp->chain = chain;
    SLIST_INSERT_HEAD(&chain->bufs, bp, hashed);
    bp->device = device;
    bp->sector = sector;
    bp->flags = 0;
    bp->after = device->settled;
    bp->error = 0;
    bp->iodone = 0;
}

/* Its holder releases it; it is on its free list. */
static void bio_leave(struct buf *bp)
{
    buf_unlock(&bp->lock);
    freelist_wake();
}

static COLD void set_another_size(struct buf *bp, uint32_t size)
{
    if (bp->flags & B_DELWRI)
        panic("buffer of %s, sector %lu: has %lu bytes that are not written, asked for with %lu", bp->device->name,
              (unsigned long)bp->sector, (unsigned long)bp->size, (unsigned long)size);
    bp->flags &= ~B_VALID;
    bp->size = size;
}

/* A block may be requested with another size after its device got another file system. */
static inline void set_size(struct buf *bp, uint32_t size)
{
    if (bp->size != size)
        set_another_size(bp, size);
}

/*
 * The slow path to a block's buffer; takes `chain`, the block's, locked, and unlocks it. `bp`: a buffer that another
 * thread holds, or null: there is none. Null: the caller must search again, or may not wait.
 */
static COLD struct buf *get_or_wait(struct bufchain *chain, struct buf *bp, struct blockdev *device, uint32_t sector,
                                    bool may_wait)
{
    if (!bp) {
        bp = freelist_take(chain, may_wait);
        if (bp) {
            hash(bp, chain, device, sector);
            cache_unlock(&chain->lock);
        }
        return bp;
    }
    cache_unlock(&chain->lock);
    if (!may_wait)
        return 0;
    buf_lock(&bp->lock);
    if (bp->device == device && bp->sector == sector) {
        freelist_remove(bp);
        return bp;
    }
    bio_leave(bp); /* it was reused for another block before its holder released it */
    return 0;
}

/* The block's buffer; null only if the caller may not wait, and would have to. */
static struct buf *bio_get(struct blockdev *device, uint32_t sector, uint32_t size, bool may_wait)
{
    assert(size && size <= BUF_MOST && size % SECTOR_SIZE == 0);
    struct bufchain *chain = bio_chain_of(device, sector);
    struct buf *bp;
    do {
        cache_lock(&chain->lock);
        bp = bio_find(chain, device, sector);
        if (bp && buf_try(&bp->lock)) {
            freelist_remove_on_chain(bp);
            cache_unlock(&chain->lock);
        } else {
            bp = get_or_wait(chain, bp, device, sector, may_wait);
        }
    } while (!bp && may_wait);
    if (bp)
        set_size(bp, size);
    return bp;
}

struct buf *getblk(struct blockdev *device, uint32_t sector, uint32_t size)
{
    return bio_get(device, sector, size, true);
}

bool incore(struct blockdev *device, uint32_t sector)
{
    struct bufchain *chain = bio_chain_of(device, sector);
    cache_lock(&chain->lock);
    bool found = bio_find(chain, device, sector) != 0;
    cache_unlock(&chain->lock);
    return found;
}

/* Begins the I/O that the flags describe. */
static void bio_begin(struct buf *bp)
{
    struct blockdev *device = bp->device;
    bp->error = 0;
    if (!(bp->flags & B_ASYNC))
        event_clear(&bp->done);
    if (bp->sector >= device->sectors || bp->size / SECTOR_SIZE > device->sectors - bp->sector) {
        bp->error = -EIO;
        if (bp->flags & B_ASYNC) {
            buf_disown(&bp->lock);
            biodone(bp);
        } else {
            event_post(&bp->done);
        }
        return;
    }
    bufstat_add(bp->flags & B_READ ? &bufstats.reads : &bufstats.writes);
    if (bp->flags & B_ASYNC)
        buf_disown(&bp->lock);
    device->strategy(device, bp);
}

/* Records a failed write whose data no thread waits for, or not for all of them. */
static void write_failed(struct blockdev *device, int error)
{
    __atomic_store_n(&device->write_error, error, __ATOMIC_RELAXED);
    __atomic_fetch_add(&device->lost_writes, 1, __ATOMIC_RELEASE);
}

/*
 * A block with a copy in a journal could not be written in place, where older data remain. It stays in memory until it
 * is forgotten, so that no thread reads those, unless less than a quarter of the buffers would be left.
 */
static COLD void bio_keep_logged(struct buf *bp)
{
    __atomic_store_n(&bp->device->log_needed, true, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&bio_pinned, 1, __ATOMIC_RELAXED) <= buf_count / 4 * 3) {
        bp->flags |= B_PINNED;
        bp->error = 0;
    } else {
        __atomic_fetch_sub(&bio_pinned, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&bp->device->log_alone_has, true, __ATOMIC_RELAXED);
    }
}

static void bio_end(struct buf *bp)
{
    if (!(bp->flags & B_READ)) {
        __atomic_store_n(&bp->device->unflushed, 1, __ATOMIC_RELAXED);
        if (bp->error && bp->flags & B_LOGGED)
            bio_keep_logged(bp);
        bp->flags &= ~(B_LOGGED | B_LAST);
        if (!(bp->flags & B_WRITING))
            set_unwritten(bp, false);
    }
    if (bp->error)
        bp->flags &= ~B_VALID;
    else
        bp->flags |= B_VALID;
    bp->flags &= ~B_READ;
}

void biodone(struct buf *bp)
{
    buf_adopt(&bp->lock);
    if (bp->error && !(bp->flags & B_READ))
        write_failed(bp->device, bp->error);
    bio_end(bp);
    if (bp->iodone)
        bp->iodone(bp);
    else
        brelse(bp);
}

int biowait(struct buf *bp)
{
    event_wait(&bp->done);
    if (bp->device->finish && !bp->error)
        bp->error = bp->device->finish(bp);
    bio_end(bp);
    return bp->error;
}

static int read_now(struct buf *bp)
{
    bp->flags |= B_READ;
    bio_begin(bp);
    return biowait(bp);
}

struct buf *bread(struct blockdev *device, uint32_t sector, uint32_t size)
{
    struct buf *bp = getblk(device, sector, size);
    bufstat_add(bp->flags & B_VALID ? &bufstats.hits : &bufstats.misses);
    if (!(bp->flags & B_VALID))
        read_now(bp);
    return bp;
}

/* Whether `bp` belongs, or belonged a moment ago, to `device` (0: any) with one of `flags` set. */
static bool looks_like(const struct buf *bp, const struct blockdev *device, uint32_t flags)
{
    const struct blockdev *of = __atomic_load_n(&bp->device, __ATOMIC_RELAXED);
    return of && (!device || of == device) && __atomic_load_n(&bp->flags, __ATOMIC_RELAXED) & flags;
}

/* Runs ------------------------------------------------------------------------------------------------------------- */

/* The most blocks that one request carries. */
static uint32_t request_most(uint32_t size)
{
    return MIN(RUN_BYTES / size, RUN_MOST);
}

uint32_t buf_run_most(uint32_t size)
{
    uint32_t most = buf_count / BUFS_OF_A_RUN, long_enough = request_most(size);
    return MIN(most, long_enough);
}

/* Null if all are in progress: then blocks are transferred one by one. */
static struct bufrun *run_take(const struct blockdev *device)
{
    uint32_t taken = __atomic_load_n(&runs_taken, __ATOMIC_RELAXED), bit;
    if (!device->strategy_run)
        return 0;
    do {
        if (taken == (1u << RUNS) - 1)
            return 0;
        bit = ~taken & (taken + 1); /* the lowest clear bit */
    } while (!__atomic_compare_exchange_n(&runs_taken, &taken, taken | bit, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    struct bufrun *run = bio_runs;
    for (; bit > 1; bit >>= 1)
        run++;
    run->count = 0;
    return run;
}

static void run_free(struct bufrun *run)
{
    __atomic_fetch_and(&runs_taken, ~(1u << (run - bio_runs)), __ATOMIC_RELEASE);
}

/* The flags of its buffers say what to do with them. */
static void start_run(struct blockdev *device, struct bufrun *run, bool write)
{
    run->device = device;
    run->write = write;
    run->error = 0;
    __atomic_fetch_add(write ? &bufstats.writes : &bufstats.reads, run->count, __ATOMIC_RELAXED);
    bufstat_add(&bufstats.runs);
    for (uint32_t i = 0; i < run->count; i++) {
        run->buf[i]->error = 0;
        buf_disown(&run->buf[i]->lock);
    }
    device->strategy_run(device, run);
}

/* One bad sector may have failed the whole request: each block is tried alone. */
static void split(struct bufrun *run)
{
    bufstat_add(&bufstats.split);
    for (uint32_t i = 0; i < run->count; i++)
        run->device->strategy(run->device, run->buf[i]);
    run_free(run);
}

void biodone_run(struct bufrun *run)
{
    if (run->error) {
        split(run);
        return;
    }
    /* As bio_end, put_back and brelse, for all at once; no other thread changes them before their locks are free. */
    if (run->write)
        __atomic_store_n(&run->device->unflushed, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < run->count; i++) {
        struct buf *bp = run->buf[i];
        assert(!(bp->flags & (B_PINNED | B_INVAL | B_WRITING)) && !bp->error && !bp->iodone);
        bp->flags = (bp->flags & ~(run->write ? B_ASYNC | B_LOGGED | B_LAST : B_ASYNC | B_READ)) | B_VALID;
    }
    if (run->write)
        set_unwritten_run(run->buf, run->count, false);
    freelist_put_run(run->buf, run->count);
    for (uint32_t i = 0; i < run->count; i++)
        buf_unlock_disowned(&run->buf[i]->lock);
    run_free(run);
    freelist_wake();
}

/* How many of `count` blocks from `sector` on share its chain. */
static uint32_t on_its_chain(uint32_t sector, uint32_t size, uint32_t count)
{
    uint32_t each = size / SECTOR_SIZE, n = (GROUP - sector % GROUP + each - 1) / each;
    return MIN(n, count);
}

/* How many of these blocks, which share a chain, precede the first that is cached. */
static uint32_t absent(struct bufchain *chain, const struct blockdev *device, uint32_t sector, uint32_t size,
                       uint32_t count)
{
    cache_assert_held(&chain->lock);
    uint32_t each = size / SECTOR_SIZE;
    const struct buf *bp;
    SLIST_FOREACH(bp, &chain->bufs, hashed)
        if (bp->device == device && bp->sector - sector < count * each)
            count = (bp->sector - sector) / each;
    return count;
}

/* Gets buffers for the first of these blocks that are not cached, without waiting. Returns how many. */
static uint32_t get_absent(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, struct buf *bps[])
{
    uint32_t n = 0, wanted, got;
    do {
        struct bufchain *chain = bio_chain_of(device, sector);
        wanted = on_its_chain(sector, size, count - n);
        cache_lock(&chain->lock);
        got = absent(chain, device, sector, size, wanted);
        if (got)
            got = freelist_take_run(chain, bps + n, got);
        for (uint32_t i = 0; i < got; i++, n++, sector += size / SECTOR_SIZE) {
            hash(bps[n], chain, device, sector);
            bps[n]->size = size;
        }
        cache_unlock(&chain->lock);
    } while (n < count && got == wanted);
    return n;
}

uint32_t getblk_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, struct buf *bps[])
{
    uint32_t most = buf_run_most(size), n;
    count = count < most ? count : most ? most : 1;
    n = get_absent(device, sector, size, count, bps);
    if (!n)
        bps[n++] = getblk(device, sector, size);
    for (; n < count; n++)
        if (!(bps[n] = bio_get(device, sector + n * (size / SECTOR_SIZE), size, false)))
            break;
    return n;
}

void bdwrite_run(struct buf *bps[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bps[i]->error = 0;
        bps[i]->flags = (bps[i]->flags & ~B_INVAL) | B_DELWRI | B_VALID;
    }
    set_unwritten_run(bps, count, true);
    brelse_run(bps, count);
}

uint32_t breadahead(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count)
{
    uint32_t most = buf_run_most(size), each = size / SECTOR_SIZE;
    if (sector >= device->sectors)
        return 0;
    uint32_t room = (device->sectors - sector) / each;
    count = MIN(count, room);
    count = MIN(count, most);
    struct bufrun *run = count > 1 ? run_take(device) : 0;
    struct buf *one, **bps = run ? run->buf : &one;
    uint32_t n = count ? get_absent(device, sector, size, run ? count : 1, bps) : 0;
    if (count && !n && !incore(device, sector) && (*bps = bio_get(device, sector, size, false))) {
        n = !((*bps)->flags & B_VALID);
        if (!n)
            brelse(*bps);
    }
    for (uint32_t i = 0; i < n; i++)
        bps[i]->flags = B_READ | B_ASYNC;
    __atomic_fetch_add(&bufstats.read_ahead, n, __ATOMIC_RELAXED);
    if (run && n > 1) {
        run->count = n;
        start_run(device, run, false);
        return n;
    }
    one = *bps;
    if (run)
        run_free(run);
    if (n)
        bio_begin(one);
    return n;
}

/*
 * Takes the buffers of the first of these blocks that are delayed, may be written, have none of the flags `but`, and
 * are not held; removes them from their lists. Returns how many.
 */
static uint32_t take_delayed(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, uint32_t but,
                             struct buf *bps[])
{
    uint32_t n = 0, settled = __atomic_load_n(&device->settled, __ATOMIC_ACQUIRE);
    for (bool good = true; good && n < count;) {
        uint32_t wanted = on_its_chain(sector, size, count - n), first = n;
        struct bufchain *chain = bio_chain_of(device, sector);
        struct buf *bp = 0;
        cache_lock(&chain->lock);
        find_row(chain, device, sector, size, wanted, bps + first);
        for (sector += wanted * (size / SECTOR_SIZE); good && n - first < wanted;) {
            bp = bps[n];
            if (bp && (!looks_like(bp, device, B_DELWRI) || !buf_try(&bp->lock)))
                bp = 0;
            good = bp && (bp->flags & (B_DELWRI | B_PINNED | B_INVAL)) == B_DELWRI && !(bp->flags & but) &&
                   bp->size == size && !bp->iodone && (int32_t)(bp->after - settled) <= 0;
            n += good;
        }
        freelist_remove_run_on_chain(bps + first, n - first);
        cache_unlock(&chain->lock);
        if (bp && !good)
            bio_leave(bp);
    }
    return n;
}

static void write_run(struct blockdev *device, struct bufrun *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        run->buf[i]->flags = (run->buf[i]->flags & ~(B_READ | B_DELWRI)) | B_ASYNC;
    if (run->count > 1) {
        start_run(device, run, true);
        return;
    }
    struct buf *bp = run->count ? run->buf[0] : 0;
    run_free(run);
    if (bp)
        bio_begin(bp);
}

void bawrite_around(struct buf *bp, uint32_t but)
{
    struct blockdev *device = bp->device;
    struct bufrun *run = buf_may_be_written(bp) && !bp->iodone ? run_take(device) : 0;
    if (!run) {
        bawrite(bp);
        return;
    }
    uint32_t before = 0, sector = bp->sector, size = bp->size, each = size / SECTOR_SIZE;
    uint32_t most = request_most(size);
    while (before + 1 < most && sector >= (before + 1) * each &&
           take_delayed(device, sector - (before + 1) * each, size, 1, but, &run->buf[RUN_MOST - 1 - before]))
        before++;
    for (uint32_t i = 0; i < before; i++)
        run->buf[i] = run->buf[RUN_MOST - before + i];
    set_unwritten(bp, true);
    run->buf[before] = bp;
    run->count = before + 1;
    run->count += take_delayed(device, sector + each, size, most - run->count, but, run->buf + run->count);
    write_run(device, run);
}

void bawrite_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count)
{
    struct buf *bp;
    uint32_t most = request_most(size);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = sector + n * (size / SECTOR_SIZE);
        most = MIN(count - n, most);
        struct bufrun *run = run_take(device);
        if (run) {
            run->count = take_delayed(device, at, size, most, 0, run->buf);
            n += run->count ? run->count - 1 : 0;
            write_run(device, run);
        } else if (take_delayed(device, at, size, 1, 0, &bp)) {
            bawrite(bp);
        }
    }
}

/* Gives up rather than wait: the caller holds a buffer, and no thread needs this one yet. */
static void bio_read_ahead(struct blockdev *device, uint32_t sector, uint32_t size)
{
    breadahead(device, sector, size, 1);
}

struct buf *breada(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead)
{
    struct buf *bp = getblk(device, sector, size);
    bool valid = bp->flags & B_VALID;
    bufstat_add(valid ? &bufstats.hits : &bufstats.misses);
    if (!valid) {
        bp->flags |= B_READ;
        bio_begin(bp);
    }
    if (ahead != UINT32_MAX)
        bio_read_ahead(device, ahead, size);
    if (!valid)
        biowait(bp);
    return bp;
}

static COLD void bio_forget(struct buf *bp)
{
    struct bufchain *chain = bp->chain;
    if (bp->device) {
        cache_lock(&chain->lock);
        buf_unhash(bp);
        cache_unlock(&chain->lock);
    }
    set_unwritten(bp, false);
}

/* Puts it on its list, with its contents; it stays locked. */
static void put_back(struct buf *bp)
{
    bp->flags &= ~(B_ASYNC | B_READ);
    if (!(bp->flags & B_PINNED))
        freelist_put(bp);
    bp->flags &= ~B_AGE;
}

void brelse(struct buf *bp)
{
#if BUFFERS_SHARED
    if (!lock_write_held(&bp->lock.lock)) { /* it was only read, and is on its list */
        bio_leave(bp);
        return;
    }
#endif
    buf_assert_mine(&bp->lock);
    if (bp->flags & B_INVAL || (bp->error && !(bp->flags & (B_DELWRI | B_PINNED))))
        bio_forget(bp);
    put_back(bp);
    bio_leave(bp);
}

/* Puts buffers that hold their blocks, listed or not, at the end of their lists, with one acquisition of their lock. */
void brelse_run(struct buf *bps[], uint32_t count)
{
#if BUFFERS_SHARED
    if (count && !lock_write_held(&bps[0]->lock.lock)) {
        for (uint32_t i = 0; i < count; i++)
            buf_unlock(&bps[i]->lock);
        freelist_wake();
        return;
    }
#endif
    for (uint32_t i = 0, n; i < count; i += n) {
        for (n = 0; i + n < count && !(bps[i + n]->flags & (B_PINNED | B_INVAL)) && !bps[i + n]->error; n++)
            ;
        if (n)
            freelist_put_run(bps + i, n);
        for (uint32_t k = i; k < i + n; k++)
            buf_unlock(&bps[k]->lock);
        if (i + n < count)
            brelse(bps[i + n++]);
    }
    freelist_wake();
}

int bfailed(struct buf *bp)
{
    int error = bp->error;
    if (error)
        brelse(bp);
    return error;
}

static bool holds(const struct buf *bp, const struct blockdev *device, uint32_t sector, uint32_t size)
{
    return bp->device == device && bp->sector == sector && bp->size == size && bp->flags & B_VALID && !bp->error;
}

/*
 * The block's buffer for reading only, listed or not as before: in the build buffers=shared other readers may share it.
 * Null if the block must be read from the device first.
 */
static struct buf *find_valid(struct blockdev *device, uint32_t sector, uint32_t size)
{
    struct bufchain *chain = bio_chain_of(device, sector);
    cache_lock(&chain->lock);
    struct buf *bp = bio_find(chain, device, sector);
#if BUFFERS_SHARED
    bool taken = bp && lock_try_read(&bp->lock.lock);
    if (taken && !(bp->flags & B_PINNED))
        freelist_used_on_chain(bp);
#else
    bool taken = bp && buf_try(&bp->lock);
#endif
    cache_unlock(&chain->lock);
    if (!bp)
        return 0;
#if BUFFERS_SHARED
    if (!taken)
        lock_read(&bp->lock.lock);
#else
    if (!taken)
        buf_lock(&bp->lock);
#endif
    if (holds(bp, device, sector, size)) /* it may have been reused for another block */
        return bp;
    bio_leave(bp);
    return 0;
}

uint32_t bread_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, struct buf *bps[])
{
    uint32_t n = 0;
    for (bool good = true; good && n < count;) {
        uint32_t wanted = on_its_chain(sector, size, count - n);
        struct bufchain *chain = bio_chain_of(device, sector);
        struct buf *bp = 0;
        cache_lock(&chain->lock);
        find_row(chain, device, sector, size, wanted, bps + n);
        for (; good && wanted--; sector += size / SECTOR_SIZE) {
            bp = bps[n];
#if BUFFERS_SHARED
            if (bp && !lock_try_read(&bp->lock.lock))
                bp = 0;
            good = bp && holds(bp, device, sector, size);
            if (good && !(bp->flags & B_PINNED))
                freelist_used_on_chain(bp);
#else
            if (bp && !buf_try(&bp->lock))
                bp = 0;
            good = bp && holds(bp, device, sector, size);
#endif
            n += good;
        }
        cache_unlock(&chain->lock);
        if (bp && !good)
            bio_leave(bp);
        if (!good && !n && (bps[0] = find_valid(device, sector - size / SECTOR_SIZE, size))) {
            good = true; /* it had to be waited for; the blocks behind it were read with it */
            n = 1;
        }
    }
    __atomic_fetch_add(&bufstats.hits, n, __ATOMIC_RELAXED);
    return n;
}

#if BUFFERS_SHARED
struct buf *bread_shared(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead)
{
    struct buf *bp = find_valid(device, sector, size);
    if (bp) {
        bufstat_add(&bufstats.hits);
        if (ahead != UINT32_MAX)
            bio_read_ahead(device, ahead, size);
        return bp;
    }
    bp = breada(device, sector, size, ahead);
    if (!bp->error) {
        put_back(bp);
        lock_write_to_read(&bp->lock.lock);
        freelist_wake();
    }
    return bp;
}
#else
struct buf *bread_shared(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead)
{
    return breada(device, sector, size, ahead);
}
#endif

bool buf_may_be_written(const struct buf *bp)
{
    return (int32_t)(bp->after - __atomic_load_n(&bp->device->settled, __ATOMIC_ACQUIRE)) <= 0;
}

void bpoints(struct buf *bp)
{
    buf_assert_mine(&bp->lock);
    bp->after = __atomic_load_n(&bp->device->settling, __ATOMIC_SEQ_CST) + 1;
}

/* The same buffer, once all that it points to is on the medium. No thread may hold a buffer meanwhile. */
static struct buf *settled(struct buf *bp)
{
    while (!bp->error && !buf_may_be_written(bp)) {
        struct blockdev *device = bp->device;
        uint32_t sector = bp->sector, size = bp->size;
        bdwrite(bp);
        bsettle(device);
        bp = bread(device, sector, size);
    }
    return bp;
}

static int write_and_wait(struct buf *bp, bool keep)
{
    bp->error = 0;
    bp = settled(bp);
    int error = bfailed(bp);
    if (error)
        return error;
    struct blockdev *device = bp->device;
    bool delayed = bp->flags & B_DELWRI;
    bp->flags = (bp->flags & ~(B_READ | B_DELWRI | B_ASYNC)) | B_WRITING;
    set_unwritten(bp, true);
    bio_begin(bp);
    error = biowait(bp);
    bp->flags &= ~B_WRITING;
    if (error && keep) {
        bdwrite(bp);
        return error;
    }
    if (error && delayed) /* another thread's changes are lost too */
        write_failed(device, error);
    set_unwritten(bp, false); /* only now: so that a thread that waits for it (bsync) gets the error, too */
    brelse(bp);
    return error;
}

int bwrite(struct buf *bp)
{
    return write_and_wait(bp, false);
}

int bwrite_kept(struct buf *bp)
{
    return write_and_wait(bp, true);
}

void bawrite(struct buf *bp)
{
    if (!buf_may_be_written(bp)) {
        bdwrite(bp);
        return;
    }
    bp->flags = (bp->flags & ~(B_READ | B_DELWRI)) | B_ASYNC;
    set_unwritten(bp, true);
    bio_begin(bp);
}

void bdwrite(struct buf *bp)
{
    bp->error = 0;
    bp->flags |= B_DELWRI | B_VALID;
    set_unwritten(bp, true);
    brelse(bp);
}

/* Begins to write it and its neighbours, if it is still delayed, may be written, and has none of `but`. */
static void write_delayed(struct buf *bp, const struct blockdev *device, uint32_t but)
{
    buf_lock(&bp->lock);
    if (looks_like(bp, device, B_DELWRI) && !(bp->flags & but) && buf_may_be_written(bp)) {
        freelist_remove(bp);
        bawrite_around(bp, but);
    } else {
        bio_leave(bp);
    }
}

int bsettle(struct blockdev *device)
{
    mutex_lock(&settle_lock);
    uint32_t number = __atomic_add_fetch(&device->settling, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; (i = next_unwritten(i)) < buf_count; i++)
        if (looks_like(bufs[i], device, B_DELWRI) && !looks_like(bufs[i], device, B_LOGGED | B_LAST))
            write_delayed(bufs[i], device, B_LOGGED | B_LAST);
    bwait(device);
    int error = bflush_write(device);
    __atomic_store_n(&device->settled, number, __ATOMIC_RELEASE);
    mutex_unlock(&settle_lock);
    return error;
}

int bflush_write(struct blockdev *device)
{
    int error = 0;
    if (!device->flush)
        return 0;
    mutex_lock(&flush_lock);
    if (__atomic_exchange_n(&device->unflushed, 0, __ATOMIC_ACQ_REL)) {
        error = device->flush(device);
        if (error) { /* data in the drive's cache may be lost, of any file; and must be flushed yet */
            device->unflushed = 1;
            __atomic_fetch_add(&device->lost_writes, 1, __ATOMIC_RELEASE);
        }
    }
    mutex_unlock(&flush_lock);
    return error;
}

void bflush(struct blockdev *device)
{
    for (uint32_t i = 0; (i = next_unwritten(i)) < buf_count; i++) {
        struct blockdev *of = __atomic_load_n(&bufs[i]->device, __ATOMIC_RELAXED);
        if (of && looks_like(bufs[i], device, B_DELWRI) && !buf_may_be_written(bufs[i]))
            bsettle(of); /* writes what it waits for first, so that the rest is written together */
    }
    for (uint32_t i = 0; (i = next_unwritten(i)) < buf_count; i++) {
        struct buf *bp = bufs[i];
        while (looks_like(bp, device, B_DELWRI)) {
            struct blockdev *of = __atomic_load_n(&bp->device, __ATOMIC_RELAXED);
            write_delayed(bp, device, 0);
            if (of && looks_like(bp, of, B_DELWRI))
                bsettle(of); /* it waits for others */
        }
    }
}

void bwait(struct blockdev *device)
{
    for (uint32_t i = 0; (i = next_unwritten(i)) < buf_count; i++)
        if (looks_like(bufs[i], device, B_ASYNC | B_WRITING)) { /* its lock is free once it has been written */
            buf_lock(&bufs[i]->lock);
            bio_leave(bufs[i]);
        }
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* an error that their ends have left is seen */
}

int bsync(struct blockdev *device)
{
    bflush(device);
    bwait(device);
    return device ? __atomic_exchange_n(&device->write_error, 0, __ATOMIC_RELAXED) : 0;
}

void bpin(struct buf *bp)
{
    bp->error = 0;
    if (!(bp->flags & B_PINNED))
        __atomic_fetch_add(&bio_pinned, 1, __ATOMIC_RELAXED);
    bp->flags = (bp->flags & ~(B_DELWRI | B_LOGGED)) | B_VALID | B_PINNED;
    brelse(bp);
}

static void bio_unpin(struct buf *bp)
{
    if (bp->flags & B_PINNED)
        __atomic_fetch_sub(&bio_pinned, 1, __ATOMIC_RELAXED);
    bp->flags &= ~B_PINNED;
}

void bforget(struct buf *bp)
{
    bio_unpin(bp);
    bp->flags = (bp->flags & ~(B_DELWRI | B_LOGGED)) | B_INVAL;
    brelse(bp);
}

void bunpin(struct buf *bp, bool drop)
{
    buf_lock(&bp->lock);
    if (drop) {
        bforget(bp);
        return;
    }
    bio_unpin(bp);
    bp->flags |= B_DELWRI | B_LOGGED;
    set_unwritten(bp, true);
    brelse(bp);
}

int bflush_cache(struct blockdev *device)
{
    int error = bsync(device), e = bflush_write(device);
    return error ? error : e;
}

void binval(struct blockdev *device)
{
    for (uint32_t i = 0; i < buf_count; i++) {
        struct buf *bp = bufs[i];
        if (__atomic_load_n(&bp->device, __ATOMIC_RELAXED) != device)
            continue;
        buf_lock(&bp->lock);
        if (bp->device == device) {
            freelist_remove(bp);
            bforget(bp);
        } else {
            bio_leave(bp);
        }
    }
}

uint32_t bio_busy(void)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < buf_count; i++)
        if (!bufs[i]->on_list || !buf_try(&bufs[i]->lock))
            busy++;
        else
            buf_unlock(&bufs[i]->lock);
    return busy;
}

uint32_t bio_count(void)
{
    return buf_count;
}

/* A zeroed page that is never freed. */
static void *page_for_ever(void)
{
    uint32_t page = page_alloc();
    if (!page)
        panic("no memory for the buffer cache: give fewer bufs=");
    return page_pointer(page);
}

static void chain_init(struct bufchain *chain)
{
    cache_lock_init(&chain->lock, &bufchain_class, "buffer hash");
    SLIST_INIT(&chain->bufs);
#if BUFFERS_BUCKETS
    for (unsigned i = 0; i < 2; i++)
        TAILQ_INIT(&chain->list[i]);
#endif
}

void bio_start(uint32_t count, uint32_t chains)
{
    assert(count && count <= BUFS_MOST && chains && chains <= CHAINS_MOST && !(chains & (chains - 1)));
    bufchains = page_for_ever();
    bufchain_count = chains;
    for (uint32_t i = 0; i < chains; i++)
        chain_init(&bufchains[i]);
    bufs = page_for_ever();
    memset(unwritten, 0, sizeof unwritten);
    buf_count = count;
    struct buf *room = 0;
    for (uint32_t i = 0, left = 0; i < count; i++, left--, room++) {
        if (!left) {
            room = page_for_ever();
            left = PAGE_SIZE / sizeof(struct buf);
        }
        *room = (struct buf){
            .flags = B_INVAL, .number = (uint16_t)i, .data = page_for_ever(), .done = EVENT("buffer I/O", bufio_class)};
        buf_lock_init(&room->lock, &buf_class, "buffer");
        freelist_init(room, i);
        bufs[i] = room;
    }
}

void bio_init(void)
{
    uint32_t count = bootargs_number(BOOT(kernel, bufs)), otherwise = CHAINS;
    while (2 * otherwise <= CHAINS_MOST && otherwise * BUFS_OF_A_CHAIN < count)
        otherwise *= 2;
    uint32_t chains = bootargs_number(BOOT_WITHIN(kernel, bufchains, otherwise, CHAINS_MOST));
    if (!chains || chains & (chains - 1))
        panic("boot argument bufchains=%lu: give a power of two", (unsigned long)chains);
    if (count < BUFS_LEAST)
        panic("boot argument bufs=%lu: give %u at least", (unsigned long)count, BUFS_LEAST);
    bio_start(count, chains);
}
