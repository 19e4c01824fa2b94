/*
 * Buffers that no thread holds, oldest first, in two builds (option `buffers`): `mach`, all under the one
 * bfreelist_lock that paper `mach`, section 3.3.3, blames; `buckets` and `shared`, a list for each hash chain under the
 * chain's lock, as in illumos's bio.c.
 *
 * Each list consists of two: B_AGE and empty buffers, which are reused first, and the others in order of last use.
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

/* The exclusive holder of `bp` puts it on its list, or removes it from the list if it is on one. */
void freelist_put(struct buf *bp);
void freelist_remove(struct buf *bp);
/* The same with the lock of bp->chain held. */
void freelist_remove_on_chain(struct buf *bp);
/*
 * Moves a listed buffer to the end of its list, so that it is reused last. With the lock of bp->chain held; free lists
 * by bucket only.
 */
void freelist_used_on_chain(struct buf *bp);

/* Removes buffers that the caller holds from their lists, if they are on one; with their chain's lock held. */
void freelist_remove_run_on_chain(struct buf *bps[], uint32_t count);
/* Puts buffers that the caller holds at the end of their lists, listed or not; clears B_AGE. */
void freelist_put_run(struct buf *bps[], uint32_t count);

/* Wakes a thread that waits for a buffer: one has been released, whether it is on a list or not. */
void freelist_wake(void);

/*
 * Takes a buffer for a block of `chain`, whose lock the caller holds: held by no other thread, off its list and its
 * chain, locked. Null: the chain's lock was released, and the caller must search again; what blocked it has been waited
 * for, if the caller may wait, or is being written.
 */
struct buf *freelist_take(struct bufchain *chain, bool may_wait);
/*
 * The same for several blocks of `chain`, without waiting: up to `most` buffers, as many as precede one that is
 * delayed. Returns how many. The lock of `chain` stays held.
 */
uint32_t freelist_take_run(struct bufchain *chain, struct buf *bps[], uint32_t most);

/* Puts a new buffer on its first list. */
void freelist_init(struct buf *bp, uint32_t number);
#endif
