/*
 * The buffer cache: blocks of block devices in memory, with 4.3BSD's interface. A caller that gets a buffer owns it
 * exclusively until it releases it; the lock comes with the buffer, so callers need not take one (paper `mach`, section
 * 3.2: "the buffer cache returns locked buffers").
 *
 *   struct buf *bp = bread(device, sector, size);
 *   if (!bp->error) { change bp->data; bdwrite(bp); } else brelse(bp);
 *
 * A buffer is named by its device and the number of its first sector, and has `size` bytes, a whole number of sectors
 * up to BUF_MOST. A block is always requested with the same size.
 *
 * Synchronous I/O ends with an event that interrupt level posts directly to the waiting thread; after asynchronous I/O
 * (B_ASYNC) a biodone_thread (dev/block.h) releases the buffer (section 2.2).
 *
 * Locking, in this order; attempts against it are conditional only:
 *
 *   buffer          a blocking lock: contents and the fields below `lock`; held across I/O, disowned across
 *                   asynchronous I/O
 *   hash chain      a blocking lock each: which buffers are on the chain, and their device and sector
 *   free lists      mach: bfreelist_lock, one blocking lock; buckets and shared: each chain's lock guards a free list
 *                   of its own
 *
 * A thread may have to wait for a buffer to become free: it does so only while it holds none, and takes further buffers
 * conditionally (runs, below). A buffer on a free list is held by no thread, except for a moment: a caller that takes
 * its lock then removes it from the list. In the build buffers=shared a buffer that is only read stays on its list: it
 * cannot be reused while its lock is held.
 */
#ifndef FS_BUF_H
#define FS_BUF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "dev/block.h"
#include "fs/unix_lock.h"
#include "lock/event.h"

#define BUF_MOST 4096u /* bytes of one buffer */

/*
 * The most that a run has. A drive without a cache takes all data of a request before it seeks the sector: 104 KiB
 * arrive within one turn at 5400 per minute over a bus of 10 MB/s; more would lose a second turn.
 */
#define RUN_BYTES (104u << 10)
#define RUN_MOST 104u /* blocks */

struct buf;
struct bufrun;

/* The device that blocks are read from and written to. */
struct blockdev {
    const char *name;
    uint32_t sectors;
    uint32_t number; /* among all devices: a block's chain does not depend on where this structure lies */
    /*
     * Begins the I/O that `bp` describes. When it has ended, perhaps before this returns, it posts bp->done, or, with
     * B_ASYNC, calls biodone(bp) from a thread. Never fails: an error is in bp->error then. May sleep.
     */
    void (*strategy)(struct blockdev *device, struct buf *bp);
    /*
     * Or 0. The same for all buffers of `run`, which are B_ASYNC, by one request. When that has ended it calls
     * biodone_run(run) from a thread, with run->error.
     */
    void (*strategy_run)(struct blockdev *device, struct bufrun *run);
    int (*finish)(struct buf *bp); /* or 0: called by the thread that waited, returns the error */
    int (*flush)(
        struct blockdev *device); /* or 0: puts all written data on the medium before it returns: 0, or an error */
    /*
     * Or 0. Moves `count` sectors to or from `data` past the buffers, without allocation or a lock: 0, or an error.
     */
    int (*transfer)(struct blockdev *device, bool write, uint32_t sector, uint32_t count, void *data);
    void *private;
    uint32_t unflushed; /* 1: something has been written since the last flush */
    uint32_t settling, settled; /* calls of bsettle that have begun, and that have ended, modulo 2^32 */
    uint32_t mounted; /* 1: a file system is mounted on it */
    bool log_needed; /* blocks with a copy in a journal (B_LOGGED) could not be written in place and stay pinned, */
    bool log_alone_has; /* or, as there were too many, are in the journal alone */
    int write_error; /* minus an error number: of a delayed or asynchronous write, until it is reported (bsync) */
    /* How many such writes, and flushes, have failed: a caller that keeps the number can tell that there are more. */
    uint32_t lost_writes;
};

#define B_READ 0x001 /* the I/O under way reads; else it writes */
#define B_VALID 0x002 /* the contents are the block's, or newer */
#define B_DELWRI 0x004 /* ... newer: to be written before the buffer is reused for another block */
#define B_ASYNC 0x008 /* no thread waits for the end of the I/O */
#define B_AGE 0x010 /* not needed again soon: first to be reused for another block */
#define B_INVAL 0x020 /* holds no block */
#define B_WRITING 0x040 /* bwrite waits for its end: bsync does too, as it may hold changes that were delayed before */
#define B_PINNED 0x080 /* newer than the medium, and must not be written yet: on no list (bpin) */
#define B_LAST 0x200 /* delayed, and nothing waits for it: bsettle leaves it, so that later writes take it along */
#define B_LOGGED 0x100 /* delayed, or being written, with a copy in a journal on the medium: bsettle leaves it */

/*
 * Hash chains and free lists touch only the first cache line, in an image that does not check locks: after a block has
 * been copied, no part of a buffer is in the data cache, and each line costs as much as a lock.
 */
struct buf {
    struct buf_lock lock;
    uint32_t sector;
    struct blockdev *device;
    SLIST_ENTRY(buf) hashed; /* guarded by the chain's lock */
    struct bufchain *chain; /* its hash chain; changed with the chain's lock and the buffer held */
    TAILQ_ENTRY(buf) free;
    uint16_t flags;
    uint8_t on_list; /* 1 + index of its free list; guarded by the list's lock */
    uint32_t size; /* bytes */
    uint8_t *data;
    int error; /* of the last I/O: 0 or minus an error number */
    uint16_t number; /* among all buffers */
    uint32_t after; /* not written before this many calls of bsettle have ended (bpoints) */
    void (*iodone)(struct buf *bp); /* or 0; called at the end of asynchronous I/O, in a thread, instead of brelse */
    void *arg; /* for the owner of iodone */
    struct event done;
    struct block_io io; /* for the device's driver */
} __attribute__((aligned(64)));

/*
 * A run: consecutive blocks of the device that are read or written by one request, 4.4BSD's cluster (vfs_cluster.c).
 * Their buffers are disowned until it ends. The driver owns it from strategy_run to biodone_run.
 */
struct bufrun {
    struct blockdev *device;
    uint32_t count;
    bool write;
    int error; /* of the request as a whole: then each block is tried alone */
    struct buf *buf[RUN_MOST];
    struct block_segment segment[RUN_MOST]; /* for the device's driver, as is `io` */
    struct block_io io;
};

struct bufstats { /* counts modulo 2^32; exact when no thread uses the cache */
    uint32_t hits, misses;
    uint32_t reads, writes, read_ahead, delayed; /* reads, writes: begun; delayed: written to reuse the buffer */
    uint32_t conflicts; /* conditional attempts that failed: another buffer was looked for */
    uint32_t waits; /* for a buffer to become free */
    uint32_t runs; /* requests for several blocks */
    uint32_t split; /* those of them that failed: their blocks were tried alone */
};
extern struct bufstats bufstats;

/*
 * `count` buffers with `chains` hash chains (a power of two). Boot arguments bufs, bufchains. Panics if memory is out.
 * Called before any other call.
 */
void bio_init(void);
void bio_start(uint32_t count, uint32_t chains);

/* The block's buffer, with whatever contents it has. */
struct buf *getblk(struct blockdev *device, uint32_t sector, uint32_t size);
/* With the block's contents, or an error in bp->error. */
struct buf *bread(struct blockdev *device, uint32_t sector, uint32_t size);
/* The same, and begins to read block `ahead`, unless that is -1 or cached. */
struct buf *breada(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead);
/*
 * The same for a reader, which in the build buffers=shared shares the buffer with other readers (section 3.3.4); only
 * brelse may end it. `ahead` may be UINT32_MAX. In the other builds it is breada.
 */
struct buf *bread_shared(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead);
/*
 * Runs, of `count` consecutive blocks of `size` bytes from `sector` on.
 *
 * breadahead: begins to read, by one request, the first blocks up to one that is in the cache already or that cannot
 * get a buffer without waiting. Returns how many.
 * bread_run: puts buffers of the first blocks that are cached, with contents, for reading only, into `bps`, which has
 * room for all. Waits for the first block if it is being read, and for no other. Returns how many: 0 if the first is
 * not cached. brelse_run releases them.
 * getblk_run: getblk for the first block, and for as many of the next ones as can be had without waiting. Returns how
 * many, at least 1.
 * bdwrite_run: bdwrite for each.
 * bawrite_run: begins to write the blocks that are delayed.
 * bawrite_around: as bawrite; delayed neighbours of the buffer that have none of the flags `but` are written with it.
 * buf_run_most: how many blocks are worth requesting at once, given the number of buffers.
 */
uint32_t breadahead(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count);
uint32_t bread_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, struct buf *bps[]);
void brelse_run(struct buf *bps[], uint32_t count);
uint32_t getblk_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count, struct buf *bps[]);
void bdwrite_run(struct buf *bps[], uint32_t count);
void bawrite_run(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t count);
void bawrite_around(struct buf *bp, uint32_t but);
uint32_t buf_run_most(uint32_t size);
/* Whether the block is in the cache; it may be gone the next moment. */
bool incore(struct blockdev *device, uint32_t sector);

/* Releases the buffer, as do the calls below. */
void brelse(struct buf *bp);

/* The error that a buffer was returned with, in which case the buffer is released; or 0. */
int bfailed(struct buf *bp);
int bwrite(struct buf *bp); /* writes, and waits for it: 0, or minus an error number */
int bwrite_kept(
    struct buf *bp); /* the same, but a block that could not be written becomes a delayed write: it is not lost yet */
void bawrite(struct buf *bp); /* begins to write */
void bdwrite(struct buf *bp); /* the buffer is written some time later */

/*
 * The order of writes to the medium. A drive with a cache writes acknowledged data in any order, or loses it at a power
 * cut; only a flush separates earlier writes from later ones.
 *
 * bpoints: the buffer, which the caller holds, now points to blocks whose contents are delayed: it is written after
 * these and a flush.
 * bsettle: writes delayed contents, except buffers that wait for others, are B_LAST or have a copy in a journal, and
 * flushes: 0 or the flush's error. bflush_write: flushes what has been written. The calling thread of either holds no
 * buffer.
 */
void bpoints(struct buf *bp);
int bsettle(struct blockdev *device);
int bflush_write(struct blockdev *device);

/*
 * For a journal (ext2_transaction.c). bpin releases the buffer: it stays in memory, and is not written. bunpin: from
 * now on it is a delayed write, with its copy in the journal; with `drop` it is forgotten.
 */
void bpin(struct buf *bp);
void bunpin(struct buf *bp, bool drop);
void bforget(struct buf *bp); /* releases it: it holds no block, whatever it held */
void bwait(struct blockdev *device); /* until no write of `device` (0: of any) by another thread is under way */
uint32_t bio_count(void); /* buffers */

/*
 * For drivers: asynchronous I/O has ended. From a thread, but in the serial kernel from the interrupt, on the master.
 */
void biodone(struct buf *bp);
void biodone_run(struct bufrun *run);

/* For callers that start I/O by hand. */
int biowait(struct buf *bp);

/* Writes all that is delayed of `device`, or of all (0), and waits: 0, or the first error since the last call. */
int bsync(struct blockdev *device);
/* The same, and what has been written survives a power cut. */
int bflush_cache(struct blockdev *device);
/* Begins to write all that is delayed. */
void bflush(struct blockdev *device);
/* Forgets all blocks of `device`, written or not. */
void binval(struct blockdev *device);

uint32_t bio_busy(void); /* buffers held by a thread, when none is being taken: not 0 if one was not released */
#endif
