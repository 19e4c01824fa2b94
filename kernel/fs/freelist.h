/*
 * Buffers that nobody has, oldest first, in two builds (option `buffers`): `mach`, all under the one bfreelist_lock
 * that paper `mach`, section 3.3.3, blames; `buckets` and `shared`, a list for each hash chain under the chain's lock,
 * as in illumos's bio.c.
 *
 * A list is two: B_AGE and empty buffers, which go first, and the others by when they were used last.
 */
#ifndef FS_FREELIST_H
#define FS_FREELIST_H

#include "fs/buf.h"

TAILQ_HEAD(buflist, buf);

struct bufchain {
    struct cache_lock lock;
    SLIST_HEAD(, buf) bufs;
#if BUFFERS_BUCKETS
    struct buflist list[2];
#endif
} __attribute__((aligned(64)));

extern struct bufchain *bufchains;
extern uint32_t bufchain_count;
extern struct lock_class bufchain_class;

/* Who has `bp` alone puts it on its list, or takes it off if it is on one. */
void freelist_put(struct buf *bp);
void freelist_remove(struct buf *bp);
/* The same with the lock of bp->chain held. */
void freelist_remove_on_chain(struct buf *bp);
/*
 * It is on its list, and the last to be taken from there now. With the lock of bp->chain held; free lists by bucket
 * only.
 */
void freelist_used_on_chain(struct buf *bp);

/* Who has them takes them off their lists, if they are on one; with their chain's lock held. */
void freelist_remove_run_on_chain(struct buf *bps[], uint32_t count);
/* Who has them puts each at the end of its list, whether it is on one or not; B_AGE is over with that. */
void freelist_put_run(struct buf *bps[], uint32_t count);

/* A buffer that somebody might wait for is nobody's any more, whether on a list or taken off it. */
void freelist_wake(void);

/*
 * A buffer for a block that is to be on `chain`, whose lock the caller has: nobody's, off its list and off its chain,
 * its lock held. Null: the chain's lock was let go of, and all is to be looked at again; what was in the way has been
 * waited for, if the caller may wait, or is being written.
 */
struct buf *freelist_take(struct bufchain *chain, bool may_wait);
/*
 * The same for several blocks on `chain`, without waiting for anything: `most` buffers, or as many as come before one
 * that is delayed. How many. The lock of `chain` is held all the time.
 */
uint32_t freelist_take_run(struct bufchain *chain, struct buf *bps[], uint32_t most);

/* A buffer's first place. */
void freelist_init(struct buf *bp, uint32_t number);
#endif
