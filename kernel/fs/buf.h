/*
 * The buffer cache: blocks of block devices in memory, with 4.3BSD's interface. The caller that gets a buffer has it
 * alone until it releases it; the lock that says so comes with the buffer, so that callers know nothing of it (paper
 * `mach`, section 3.2: "the buffer cache returns locked buffers").
 *
 *   struct buf *bp = bread(device, sector, size);
 *   if (!bp->error) { change bp->data; bdwrite(bp); } else brelse(bp);
 *
 * A buffer is named by its device and the number of its first sector, and has `size` bytes, a whole number of sectors
 * up to BUF_MOST. A block is always asked for with the same size.
 *
 * I/O is synchronous, and its end an event that is posted straight from interrupt level to the thread that waits, or
 * asynchronous (B_ASYNC): then a biodone_thread (dev/block.h) lets go of the buffer (section 2.2).
 *
 * Locking, in this order; against it only by conditional attempts:
 *
 *   buffer          a blocking lock: contents and the fields below `lock`; held across I/O, disowned across
 *                   asynchronous I/O
 *   hash chain      a blocking lock each: which buffers are on the chain, and what they are named
 *   free lists      mach: bfreelist_lock, one blocking lock; buckets and shared: each chain's lock guards a free list
 *                   of its own
 *
 * A thread that has a buffer and wants another may have to wait for one to become free: so it waits only while it has
 * none, and takes others beside that one conditionally (runs, below). A buffer on a free list is nobody's, but for a
 * moment: a caller that takes a buffer's lock then takes it off the list. One that is only read in the build
 * buffers=shared stays on its list: nobody can take it while its lock is held.
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
 * What a run has at most. A drive without a cache takes all that a request writes before it looks for the place: 104
 * KiB come in one turn of 5400 a minute over a bus of 10 MB/s, and with more than that a second turn would be lost.
 */
#define RUN_BYTES (104u << 10)
#define RUN_MOST 104u /* blocks */

struct buf;
struct bufrun;

/* What blocks are read from and written to. */
struct blockdev {
    const char *name;
    uint32_t sectors;
    uint32_t number; /* among devices: which chain a block is on does not depend on where this lies */
    /*
     * Begins the I/O that `bp` says. When it has ended, perhaps before this returns, it posts bp->done, or, with
     * B_ASYNC, calls biodone(bp) from a thread. Never fails: an error is in bp->error by then. May sleep.
     */
    void (*strategy)(struct blockdev *device, struct buf *bp);
    /*
     * Or 0. The same of all buffers of `run`, which is B_ASYNC, by one request. When that has ended it calls
     * biodone_run(run) from a thread, with run->error.
     */
    void (*strategy_run)(struct blockdev *device, struct bufrun *run);
    int (*finish)(struct buf *bp); /* or 0: called by who waited, gives the error */
    int (*flush)(
        struct blockdev *device); /* or 0: what has been written is on the medium when it returns. 0, or an error */
    /*
     * Or 0. `count` sectors to or from `data`, past the buffers, without memory of its own or a lock: 0, or an error.
     */
    int (*transfer)(struct blockdev *device, bool write, uint32_t sector, uint32_t count, void *data);
    void *private;
    uint32_t unflushed; /* 1: something has been written since the last flush */
    uint32_t settling, settled; /* calls of bsettle that have begun, and that are over, modulo 2^32 */
    uint32_t mounted; /* 1: a file system is on it */
    bool log_needed; /* what has a copy in a journal (B_LOGGED) could not be written to its place, and stays pinned, */
    bool log_alone_has; /* or, as too much was, is in the journal alone */
    int write_error; /* minus an error number: of a delayed or asynchronous write, until somebody is told (bsync) */
    /* How many of those, and of flushes, have failed: a caller that keeps the number sees that there are more. */
    uint32_t lost_writes;
};

#define B_READ 0x001 /* the I/O under way reads; else it writes */
#define B_VALID 0x002 /* the contents are the block's, or newer */
#define B_DELWRI 0x004 /* ... newer: to be written before the buffer is used for another block */
#define B_ASYNC 0x008 /* nobody waits for the end of the I/O */
#define B_AGE 0x010 /* not wanted again soon: first to be used for another block */
#define B_INVAL 0x020 /* holds no block */
#define B_WRITING 0x040 /* bwrite waits for its end: bsync does too, as it may hold what was delayed before */
#define B_PINNED 0x080 /* newer than the medium, and not to be written yet: on no list (bpin) */
#define B_LAST 0x200 /* delayed, and nothing waits for it: bsettle leaves it, so that it goes with what comes behind */
#define B_LOGGED 0x100 /* delayed, or being written, and a copy is in a journal on the medium: bsettle leaves it */

/*
 * Hash chains and free lists touch the first line of a cache alone, in an image that does not check locks: behind a
 * block that has been copied none of a buffer is in the data cache, and each line costs as much as a lock.
 */
struct buf {
    struct buf_lock lock;
    uint32_t sector;
    struct blockdev *device;
    SLIST_ENTRY(buf) hashed; /* of the chain's lock */
    struct bufchain *chain; /* whose it is: of its lock, and changed by who has the buffer too */
    TAILQ_ENTRY(buf) free;
    uint16_t flags;
    uint8_t on_list; /* 1 + which free list; of their lock */
    uint32_t size; /* bytes */
    uint8_t *data;
    int error; /* of the last I/O: 0 or minus an error number */
    uint16_t number; /* among all buffers */
    uint32_t after; /* not written before this many calls of bsettle are over (bpoints) */
    void (*iodone)(struct buf *bp); /* instead of letting go of it, at the end of asynchronous I/O; in a thread */
    void *arg; /* of whoever set iodone */
    struct event done;
    struct block_io io; /* of the device's driver */
} __attribute__((aligned(64)));

/*
 * A run: blocks one behind the other on the device that are read or written by one request, 4.4BSD's cluster
 * (vfs_cluster.c). Their buffers are disowned until it is over. The driver's from strategy_run to biodone_run.
 */
struct bufrun {
    struct blockdev *device;
    uint32_t count;
    bool write;
    int error; /* of the request as a whole: each block is tried alone then */
    struct buf *buf[RUN_MOST];
    struct block_segment segment[RUN_MOST]; /* of the device's driver, as is `io` */
    struct block_io io;
};

struct bufstats { /* counts modulo 2^32; exact when nobody uses the cache */
    uint32_t hits, misses;
    uint32_t reads, writes, read_ahead, delayed; /* reads and writes begun; delayed: written as the buffer was wanted */
    uint32_t conflicts; /* a conditional attempt that failed: another buffer was looked for */
    uint32_t waits; /* for a buffer to become free */
    uint32_t runs; /* requests for several blocks */
    uint32_t split; /* those of them that failed: their blocks were tried alone */
};
extern struct bufstats bufstats;

/*
 * `count` buffers with `chains` hash chains (a power of two). Boot arguments bufs, bufchains. Panics if memory is out.
 * Before any other call.
 */
void bio_init(void);
void bio_start(uint32_t count, uint32_t chains);

/* The block's buffer, with whatever is in it. */
struct buf *getblk(struct blockdev *device, uint32_t sector, uint32_t size);
/* With the block's contents, or an error in bp->error. */
struct buf *bread(struct blockdev *device, uint32_t sector, uint32_t size);
/* The same, and reading of `ahead` begins, if that is not -1 and not here. */
struct buf *breada(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead);
/*
 * The same for who only looks at the contents, in the build buffers=shared together with others who do (section 3.3.4);
 * brelse ends it, and nothing else. `ahead` may be UINT32_MAX. In the other builds it is breada.
 */
struct buf *bread_shared(struct blockdev *device, uint32_t sector, uint32_t size, uint32_t ahead);
/*
 * Runs. All of `count` blocks of `size` bytes one behind the other, from `sector` on.
 *
 * breadahead: reading begins, by one request, of the first of them up to one that is in the cache already, or for which
 * there is no buffer without waiting. Gives how many.
 * bread_run: the first of them that are in the cache, with their contents, to be looked at only, in `bps`, which has
 * room for all. Waits for the first one, if it is being read, and for no other. Gives how many: 0 if the first is not
 * there. brelse_run lets go of them.
 * getblk_run: as getblk, of the first of them, and of as many behind it as can be had without waiting. Gives how many,
 * 1 at least.
 * bdwrite_run: as bdwrite, of each.
 * bawrite_run: writing begins of those of them that are delayed.
 * bawrite_around: as bawrite; delayed blocks beside the buffer's, that have none of the flags `but`, go along.
 * buf_run_most: blocks that are worth to be had at once, with as many buffers as there are.
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

/* Each lets go of the buffer. */
void brelse(struct buf *bp);

/* The error with which a buffer came, which is released then; or 0. */
int bfailed(struct buf *bp);
int bwrite(struct buf *bp); /* writes, and waits for it: 0, or minus an error number */
int bwrite_kept(
    struct buf *bp); /* the same, but what could not be written is a delayed write then: it is not lost yet */
void bawrite(struct buf *bp); /* begins to write */
void bdwrite(struct buf *bp); /* is written some time later */

/*
 * The order of what reaches the medium. A drive with a cache writes what it has told the end of in any order, or loses
 * it with the power; only a flush is a line between before and behind.
 *
 * bpoints: the buffer, which the caller has, leads now to blocks whose contents are delayed: it is written behind them
 * and a flush.
 * bsettle: contents that are delayed are written, but for those that wait for others, are B_LAST or have a copy in a
 * journal, and flushed: 0 or the flush's error. bflush_write: what has been written is flushed. Both from a thread that
 * has no buffer.
 */
void bpoints(struct buf *bp);
int bsettle(struct blockdev *device);
int bflush_write(struct blockdev *device);

/*
 * A journal's (ext2_transaction.c). bpin lets go of the buffer: it stays in memory, and is not written. bunpin: from
 * now on it is a delayed write, with its copy in the journal, or, `drop`, it is forgotten.
 */
void bpin(struct buf *bp);
void bunpin(struct buf *bp, bool drop);
void bforget(struct buf *bp); /* lets go of it: it holds no block, whatever it was */
void bwait(struct blockdev *device); /* until no write of `device` (0: of any) that somebody else began is under way */
uint32_t bio_count(void); /* buffers */

/*
 * For drivers: asynchronous I/O has ended. From a thread, but in the serial kernel from the interrupt, on the master.
 */
void biodone(struct buf *bp);
void biodone_run(struct bufrun *run);

/* For who starts I/O by hand. */
int biowait(struct buf *bp);

/* Write all that is delayed of `device`, or of all (0), and wait for it: 0, or the first error since the last call. */
int bsync(struct blockdev *device);
/* The same, and what has been written outlives a loss of power. */
int bflush_cache(struct blockdev *device);
/* Begin to write all that is delayed. */
void bflush(struct blockdev *device);
/* Forget all blocks of `device`, written or not. */
void binval(struct blockdev *device);

uint32_t bio_busy(void); /* buffers that somebody has, when nobody takes any: 0, else one was not let go of */
#endif
