/*
 * The duplicate request cache (Juszczak, *Improving the Performance and Correctness of an NFS Server*, USENIX 1989): a
 * client that gets no answer repeats its call, which the server may have executed already. The answers of calls that
 * are not idempotent are kept here; a repetition that arrives while the call is still executed is dropped. Calls are
 * identified by sender, number, procedure and a sum of their bytes.
 */
#include "nfs/server.h"

#include "lock/simple_lock.h"

#define NFS_CACHE_CALLS 64u
#define NFS_CACHE_BYTES 384u /* the longest answer that is kept: of CREATE, with two sets of attributes and a handle */

static struct nfs_cache_entry {
    struct nfs_cached of;
    bool used, busy;
    uint32_t when, length; /* 0: too long to be kept */
    uint8_t reply[NFS_CACHE_BYTES];
} nfs_cache[NFS_CACHE_CALLS];
DEFINE_SIMPLE_LOCK(nfs_cache_lock, "nfs cache", SPL_SOFTPREEMPT);
static uint32_t nfs_cache_now;

static struct nfs_cache_entry *nfs_cache_find(const struct nfs_cached *of)
{
    for (struct nfs_cache_entry *e = nfs_cache; e < nfs_cache + NFS_CACHE_CALLS; e++)
        if (e->used && !memcmp(&e->of, of, sizeof *of))
            return e;
    return 0;
}

/* The oldest kept answer; null: all entries are being executed. */
static struct nfs_cache_entry *nfs_cache_oldest(void)
{
    struct nfs_cache_entry *oldest = 0;
    for (struct nfs_cache_entry *e = nfs_cache; e < nfs_cache + NFS_CACHE_CALLS; e++) {
        if (!e->used)
            return e;
        if (!e->busy && (!oldest || (int32_t)(e->when - oldest->when) < 0))
            oldest = e;
    }
    return oldest;
}

enum nfs_cache_is nfs_cache_begin(const struct nfs_cached *of, uint8_t *reply, uint32_t *length)
{
    enum nfs_cache_is is = NFS_CACHE_NEW;
    crit_t s = simple_lock_enter(&nfs_cache_lock);
    struct nfs_cache_entry *e = nfs_cache_find(of);
    if (e && !e->busy && e->length) {
        memcpy(reply, e->reply, e->length);
        *length = e->length;
        is = NFS_CACHE_ANSWERED;
    } else if (e && e->busy) {
        is = NFS_CACHE_BUSY;
    } else if (e || (e = nfs_cache_oldest())) {
        e->of = *of;
        e->used = e->busy = true;
    } else {
        is = NFS_CACHE_BUSY; /* the client sends it again */
    }
    simple_lock_leave(&nfs_cache_lock, s);
    return is;
}

void nfs_cache_end(const struct nfs_cached *of, const uint8_t *reply, uint32_t length)
{
    crit_t s = simple_lock_enter(&nfs_cache_lock);
    struct nfs_cache_entry *e = nfs_cache_find(of);
    if (e) {
        e->busy = false;
        e->when = nfs_cache_now++;
        e->length = length <= NFS_CACHE_BYTES ? length : 0;
        memcpy(e->reply, reply, e->length);
    }
    simple_lock_leave(&nfs_cache_lock, s);
}

void nfs_cache_clear(void)
{
    crit_t s = simple_lock_enter(&nfs_cache_lock);
    memset(nfs_cache, 0, sizeof nfs_cache);
    simple_lock_leave(&nfs_cache_lock, s);
}
