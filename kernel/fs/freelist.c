/* Free lists of buffers (freelist.h), both builds. */
#include "fs/freelist.h"

#include "fs/bio.h"
#include "lib/panic.h"
#include "sched/sched.h"

enum { FIRST, BY_USE }; /* the two lists */

DEFINE_EVENT(available, "buffer free", SPL_BIO);
static volatile bool freelist_wanted; /* a thread waits for a buffer, or is about to */

/* Call with the lists' lock held. */
static void freelist_put_locked(struct buflist *lists, struct buf *bp)
{
    assert(!bp->on_list);
    unsigned which = bp->flags & (B_AGE | B_INVAL) ? FIRST : BY_USE;
    TAILQ_INSERT_TAIL(&lists[which], bp, free);
    bp->on_list = 1 + which;
}

static void freelist_take_off(struct buflist *lists, struct buf *bp)
{
    if (bp->on_list)
        TAILQ_REMOVE(&lists[bp->on_list - 1], bp, free);
    bp->on_list = 0;
}

/* Puts it at the end of its list, and clears B_AGE. */
static void put_anew(struct buflist *lists, struct buf *bp)
{
    freelist_take_off(lists, bp);
    freelist_put_locked(lists, bp);
    bp->flags &= ~B_AGE;
}

/* Called when a waiting thread may find a buffer now, or soon. */
void freelist_wake(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (freelist_wanted) {
        freelist_wanted = false;
        event_post(&available);
    }
}

/* From here on the next freelist_wake counts; called before the caller's last look. */
static void about_to_wait(void)
{
    event_clear(&available);
    freelist_wanted = true;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Begins to write a buffer that is delayed; it can be taken once that is done. If other blocks must be written before
 * it, a caller that may wait writes these, and finds the buffer later, too.
 */
static void write_out(struct buf *bp, bool may_wait)
{
    struct blockdev *device = bp->device;
    bool waits = !buf_may_be_written(bp);
    bufstat_add(&bufstats.delayed);
    bp->flags |= B_AGE;
    bawrite_around(bp, 0);
    if (waits && may_wait)
        bsettle(device);
}

/* The result of a search of the lists; IN_THE_WAY: a chain was locked, and not searched. */
enum found { NONE, IN_THE_WAY, FOUND };

#if !BUFFERS_BUCKETS

DEFINE_CACHE_LOCK(bfreelist_lock, "bfreelist");
static struct buflist freelist_all[2] = {TAILQ_HEAD_INITIALIZER(freelist_all[0]),
                                         TAILQ_HEAD_INITIALIZER(freelist_all[1])};

void freelist_init(struct buf *bp, uint32_t number)
{
    bp->chain = &bufchains[number % bufchain_count];
    freelist_put_locked(freelist_all, bp);
}

void freelist_put(struct buf *bp)
{
    cache_lock(&bfreelist_lock);
    freelist_put_locked(freelist_all, bp);
    cache_unlock(&bfreelist_lock);
}

void freelist_remove(struct buf *bp)
{
    cache_lock(&bfreelist_lock);
    freelist_take_off(freelist_all, bp);
    cache_unlock(&bfreelist_lock);
}

void freelist_remove_on_chain(struct buf *bp)
{
    freelist_remove(bp);
}

void freelist_put_run(struct buf *bps[], uint32_t count)
{
    cache_lock(&bfreelist_lock);
    for (uint32_t i = 0; i < count; i++)
        put_anew(freelist_all, bps[i]);
    cache_unlock(&bfreelist_lock);
}

/* Takes it off its hash chain, if that needs no wait; the caller holds the lock of `chain`. */
static bool unhash_conditionally(struct buf *bp, struct bufchain *chain)
{
    struct bufchain *old = bp->chain;
    if (bp->device && old != chain && !cache_try(&old->lock))
        return false;
    if (bp->device) {
        buf_unhash(bp);
        if (old != chain)
            cache_unlock(&old->lock);
    }
    return true;
}

void freelist_remove_run_on_chain(struct buf *bps[], uint32_t count)
{
    if (!count)
        return;
    cache_lock(&bfreelist_lock);
    for (uint32_t i = 0; i < count; i++)
        freelist_take_off(freelist_all, bps[i]);
    cache_unlock(&bfreelist_lock);
}

/* Consecutive blocks share chains: the lock of the last one taken is kept for the next. */
uint32_t freelist_take_run(struct bufchain *chain, struct buf *bps[], uint32_t most)
{
    struct bufchain *old = 0;
    uint32_t n = 0;
    struct buf *bp, *next;
    cache_lock(&bfreelist_lock);
    for (unsigned which = FIRST; which <= BY_USE; which++)
        TAILQ_FOREACH_SAFE(bp, &freelist_all[which], free, next) {
            if (n >= most)
                break;
            if (!buf_try(&bp->lock)) {
                bufstat_add(&bufstats.conflicts);
                continue;
            }
            if (bp->flags & B_DELWRI) {
                buf_unlock(&bp->lock);
                most = n;
                break;
            }
            if (bp->device && bp->chain != chain && bp->chain != old) {
                if (old)
                    cache_unlock(&old->lock);
                old = cache_try(&bp->chain->lock) ? bp->chain : 0;
                if (!old) {
                    bufstat_add(&bufstats.conflicts);
                    buf_unlock(&bp->lock);
                    continue;
                }
            }
            if (bp->device)
                buf_unhash(bp);
            freelist_take_off(freelist_all, bp);
            bps[n++] = bp;
        }
    if (old)
        cache_unlock(&old->lock);
    cache_unlock(&bfreelist_lock);
    return n;
}

static enum found freelist_look(struct bufchain *chain, struct buf **found)
{
    struct buf *bp;
    cache_lock(&bfreelist_lock);
    for (unsigned which = FIRST; which <= BY_USE; which++)
        TAILQ_FOREACH(bp, &freelist_all[which], free) {
            if (!buf_try(&bp->lock)) { /* its holder is about to remove it from the list */
                bufstat_add(&bufstats.conflicts);
                continue;
            }
            if (bp->flags & B_DELWRI || unhash_conditionally(bp, chain)) {
                freelist_take_off(freelist_all, bp);
                cache_unlock(&bfreelist_lock);
                *found = bp;
                return FOUND;
            }
            bufstat_add(&bufstats.conflicts);
            buf_unlock(&bp->lock);
        }
    cache_unlock(&bfreelist_lock);
    return NONE;
}

#else

static uint32_t next_chain; /* the search begins here: each chain in turn */

void freelist_init(struct buf *bp, uint32_t number)
{
    bp->chain = &bufchains[number % bufchain_count];
    freelist_put_locked(bp->chain->list, bp);
}

void freelist_put(struct buf *bp)
{
    cache_lock(&bp->chain->lock);
    freelist_put_locked(bp->chain->list, bp);
    cache_unlock(&bp->chain->lock);
}

void freelist_remove(struct buf *bp)
{
    cache_lock(&bp->chain->lock);
    freelist_take_off(bp->chain->list, bp);
    cache_unlock(&bp->chain->lock);
}

void freelist_remove_on_chain(struct buf *bp)
{
    freelist_take_off(bp->chain->list, bp);
}

void freelist_put_run(struct buf *bps[], uint32_t count)
{
    for (uint32_t i = 0; i < count;) { /* consecutive blocks share chains */
        struct bufchain *chain = bps[i]->chain;
        cache_lock(&chain->lock);
        do
            put_anew(chain->list, bps[i]);
        while (++i < count && bps[i]->chain == chain);
        cache_unlock(&chain->lock);
    }
}

void freelist_used_on_chain(struct buf *bp)
{
    freelist_take_off(bp->chain->list, bp);
    freelist_put_locked(bp->chain->list, bp);
}

void freelist_remove_run_on_chain(struct buf *bps[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        freelist_take_off(bps[i]->chain->list, bps[i]);
}

/* Searches the chains in turn, as freelist_look, but takes all that a chain has: consecutive blocks share one. */
uint32_t freelist_take_run(struct bufchain *chain, struct buf *bps[], uint32_t most)
{
    uint32_t begin = __atomic_fetch_add(&next_chain, 1, __ATOMIC_RELAXED), n = 0;
    for (uint32_t i = 0; i < bufchain_count && n < most; i++) {
        struct bufchain *from = &bufchains[(begin + i) & (bufchain_count - 1)];
        if (from != chain && !cache_try(&from->lock)) {
            bufstat_add(&bufstats.conflicts);
            continue;
        }
        struct buf *bp, *next;
        for (unsigned which = FIRST; which <= BY_USE; which++)
            TAILQ_FOREACH_SAFE(bp, &from->list[which], free, next) {
                if (n >= most)
                    break;
                if (!buf_try(&bp->lock))
                    continue;
                if (bp->flags & B_DELWRI) {
                    buf_unlock(&bp->lock);
                    break;
                }
                if (bp->device)
                    buf_unhash(bp);
                freelist_take_off(from->list, bp);
                bps[n++] = bp;
            }
        if (from != chain)
            cache_unlock(&from->lock);
    }
    return n;
}

/* The first buffer of `from`, whose lock is held, that no thread holds: locked, and removed from the list. */
static struct buf *freelist_first_of(struct bufchain *from)
{
    struct buf *bp;
    for (unsigned which = FIRST; which <= BY_USE; which++)
        TAILQ_FOREACH(bp, &from->list[which], free) {
            if (buf_try(&bp->lock)) {
                freelist_take_off(from->list, bp);
                return bp;
            }
            bufstat_add(&bufstats.conflicts);
        }
    return 0;
}

static enum found freelist_look(struct bufchain *chain, struct buf **found)
{
    uint32_t begin = __atomic_fetch_add(&next_chain, 1, __ATOMIC_RELAXED);
    enum found result = NONE;
    for (uint32_t i = 0; i < bufchain_count; i++) {
        struct bufchain *from = &bufchains[(begin + i) & (bufchain_count - 1)];
        if (from != chain && !cache_try(&from->lock)) {
            bufstat_add(&bufstats.conflicts);
            result = IN_THE_WAY;
            continue;
        }
        struct buf *bp = freelist_first_of(from);
        if (bp && bp->device && !(bp->flags & B_DELWRI))
            buf_unhash(bp);
        if (from != chain)
            cache_unlock(&from->lock);
        if (bp) {
            *found = bp;
            return FOUND;
        }
    }
    return result;
}

#endif

struct buf *freelist_take(struct bufchain *chain, bool may_wait)
{
    struct buf *bp = 0;
    enum found found = freelist_look(chain, &bp);
    if (found == NONE && may_wait) {
        about_to_wait();
        found = freelist_look(chain, &bp);
    }
    if (found == FOUND && !(bp->flags & B_DELWRI))
        return bp;
    cache_unlock(&chain->lock);
    if (found == FOUND)
        write_out(bp, may_wait);
    else if (found == IN_THE_WAY && may_wait)
        thread_yield(); /* a chain's lock is held for a moment only */
    else if (may_wait) {
        bufstat_add(&bufstats.waits);
        event_wait(&available);
    }
    return 0;
}
