/*
 * ext2: the table of inodes in memory (ext2.h), as 4.3BSD's: hash chains with a lock each, and a list
 * of those that nobody refers to, from which room for another inode comes. Those are written by then, so taking one
 * means no I/O.
 *
 * Locks: chain, then inode_free_lock; another chain's only if that does not mean to wait. The first reference comes
 * with the chain locked; from then on whoever has one makes others of it, and lets go of them, by atomic instructions
 * alone. The last one goes with the chain locked if something is to be done then, which REFERENCES_LAST says: the inode
 * is to be written, or removed, or is not on the list. One that is referred to again stays on the list until somebody
 * looks for room: he takes those that were not used since they came there, or since he was here last (second chance),
 * so that looking up a name and letting go of what it names moves nothing.
 */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "fs/namecache.h"
#include "lib/compiler.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"

#define CHAINS 64
#define REFERENCES_LAST 0x80000000u /* with the number of references: the last one goes with the chain locked */
#define REFERENCES (~REFERENCES_LAST)
#define IS_HANDLE(which) (NFS && (which) == HANDLE)

static MUTEX_CLASS(inode_chain_class, "inode hash");
#if INODES_SHARED
static LOCK_TREE_CLASS(inode_class, "inode", LOCK_RW);
#else
static LOCK_TREE_CLASS(inode_class, "inode", LOCK_MUTEX);
#endif
static MUTEX_CLASS(reading_class, "inode read");
DEFINE_TABLE_LOCK(inode_free_lock, "inode free list");
DEFINE_ZONE(inode_zone, "inode", sizeof(struct inode), 8, SPL_SOFTPREEMPT, 0);

struct chain {
    struct table_lock lock;
    SLIST_HEAD(, inode) inodes;
};

static struct chain inode_chains[CHAINS];
static TAILQ_HEAD(, inode) free_inodes = TAILQ_HEAD_INITIALIZER(free_inodes);
static uint32_t inode_count, inode_most;

void inodes_init(uint32_t most)
{
    inode_most = most;
    for (unsigned i = 0; i < CHAINS; i++)
        table_lock_init(&inode_chains[i].lock, &inode_chain_class, "inode hash");
}

static struct chain *ext2_inode_chain_of(const struct ext2 *fs, uint32_t number)
{
    return &inode_chains[(number + (uint32_t)((uintptr_t)fs >> 6)) % CHAINS];
}

/* The next two with inode_free_lock and the inode's chain held. */
static void list_append(struct inode *ip)
{
    ip->listed = true;
    TAILQ_INSERT_TAIL(&free_inodes, ip, free);
}

static void list_remove(struct inode *ip)
{
    ip->listed = false;
    TAILQ_REMOVE(&free_inodes, ip, free);
}

static void end_locks(struct inode *ip)
{
    lock_destroy(&ip->v.lock);
    lock_destroy(&ip->reading);
}

static void ext2_inode_destroy(struct inode *ip)
{
    end_locks(ip);
    zone_free(&inode_zone, ip);
    __atomic_fetch_sub(&inode_count, 1, __ATOMIC_RELAXED);
}

/* Off the list, if it may be taken, or for as long as somebody refers to it; or to its end, for a second chance. */
static bool leaves_list(struct inode *ip)
{
    list_remove(ip);
    if (__atomic_fetch_or(&ip->references, REFERENCES_LAST, __ATOMIC_ACQUIRE) & REFERENCES)
        return false; /* the last one puts it there again */
    if (!ip->used)
        return true;
    ip->used = false;
    __atomic_store_n(&ip->references, 0, __ATOMIC_RELAXED);
    list_append(ip);
    return false;
}

/*
 * One that nobody refers to, off its chain: its room is to be had. Null: there is none. `mine` is locked by the caller.
 */
static struct inode *take_oldest(struct chain *mine)
{
    table_lock(&inode_free_lock);
    struct inode *ip, *next;
    TAILQ_FOREACH_SAFE(ip, &free_inodes, free, next) {
        struct chain *chain = ext2_inode_chain_of(ip->fs, ip->number);
        if (chain != mine && !table_try(&chain->lock))
            continue;
        bool taken = leaves_list(ip);
        if (taken)
            SLIST_REMOVE(&chain->inodes, ip, inode, hashed);
        else if (!next && ip->listed)
            next = ip; /* the last one, which is the first of those that had their chance */
        if (chain != mine)
            table_unlock(&chain->lock);
        if (taken) {
            table_unlock(&inode_free_lock);
            return ip;
        }
    }
    table_unlock(&inode_free_lock);
    return 0;
}

static struct inode *ext2_inode_room(struct chain *mine)
{
    struct inode *ip = 0;
    if (inode_count >= inode_most && (ip = take_oldest(mine))) {
        end_locks(ip);
        return ip;
    }
    ip = zone_alloc(&inode_zone);
    if (ip)
        __atomic_fetch_add(&inode_count, 1, __ATOMIC_RELAXED);
    else if ((ip = take_oldest(mine)))
        end_locks(ip);
    return ip;
}

static uint32_t block_of(const struct ext2 *fs, uint32_t number)
{
    uint32_t n = (number - 1) % fs->super.inodes_per_group;
    return fs->group[(number - 1) / fs->super.inodes_per_group]->disk.inode_table + n / fs->inodes_per_block;
}

static struct ext2_inode *ext2_inode_place(const struct ext2 *fs, uint32_t number, struct buf *bp)
{
    uint32_t n = (number - 1) % fs->super.inodes_per_group % fs->inodes_per_block;
    return (struct ext2_inode *)(bp->data + n * fs->inode_size);
}

void ext2_set_type(struct inode *ip)
{
    static const uint8_t types[16] = {
        [1] = VFIFO, [2] = VCHR, [4] = VDIR, [6] = VBLK, [8] = VREG, [10] = VLNK, [12] = VSOCK};
    ip->v.type = types[ip->disk.mode >> 12];
    ip->v.rdev = ip->v.type == VCHR || ip->v.type == VBLK ? ip->disk.block[0] : 0;
}

void ext2_set_size(struct inode *ip, uint64_t size)
{
    ip->disk.size = size;
    if (ip->v.type == VREG)
        ip->disk.size_high = size >> 32;
    if (size >> 31 && !(ip->fs->super.ro_compat & EXT2_RO_COMPAT_LARGE_FILE)) {
        crit_t s = simple_lock_enter(&ip->fs->counts_lock);
        ip->fs->super.ro_compat |= EXT2_RO_COMPAT_LARGE_FILE;
        ip->fs->super.revision = 1;
        ip->fs->super_dirty = true;
        simple_lock_leave(&ip->fs->counts_lock, s);
    }
    ip->dirty = true;
}

/* What of an inode can lead astray. */
static bool ext2_inode_is_sound(const struct inode *ip, enum which_inode which)
{
    uint64_t size = ext2_size(ip);
    if (which == ORPHAN && !size) /* cut already */
        return ip->v.type != VNON;
    if (ip->v.type == VNON || size > ip->fs->size_most)
        return false;
    if (ip->v.type == VDIR)
        return size && size % ip->fs->block_size == 0 && size >> ip->fs->block_shift <= ip->fs->super.blocks;
    if (ip->v.type == VLNK)
        return size && size < ip->fs->block_size;
    return true;
}

/* With its `reading` held; it is on its chain already. */
static int read_inode(struct inode *ip, enum which_inode which)
{
    struct ext2 *fs = ip->fs;
    struct buf *bp = ext2_bread_shared(fs, block_of(fs, ip->number));
    int error = bp->error;
    if (!error)
        ip->disk = *ext2_inode_place(fs, ip->number, bp);
    brelse(bp);
    if (error)
        return error;
    ext2_set_type(ip);
    /* One that is marked free: only a damaged entry leads to it. */
    if ((ip->disk.links || which == ORPHAN) && ext2_inode_is_sound(ip, which))
        return 0;
    return IS_HANDLE(which) && !ip->disk.links ? -ESTALE : ext2_error(fs, "inode", ip->number);
}

int ext2_inode_on_disk(struct ext2 *fs, uint32_t number, struct inode *ip)
{
    *ip = (struct inode){.fs = fs, .number = number};
    struct buf *bp = ext2_bread(fs, block_of(fs, number));
    int error = bp->error;
    if (!error)
        ip->disk = *ext2_inode_place(fs, number, bp);
    brelse(bp);
    if (!error)
        ext2_set_type(ip);
    return error;
}

/*
 * A reference comes: an unmount may have been past the chain, which is locked, and come to where the last one left too
 * late.
 */
static void tell_unmount(struct ext2 *fs)
{
    if (unlikely(__atomic_load_n(&fs->forgetting, __ATOMIC_RELAXED)))
        __atomic_store_n(&fs->referred, true, __ATOMIC_RELAXED);
}

/* A reference to one that is there. With its chain locked. */
static void refer(struct inode *ip)
{
    tell_unmount(ip->fs);
    __atomic_fetch_add(&ip->references, 1, __ATOMIC_RELAXED);
    ip->used = true;
}

/* One that is not in the table: with `chain`, its own, locked, and to be unlocked. */
static COLD int iget_new(struct ext2 *fs, uint32_t number, enum which_inode which, struct chain *chain,
                         struct inode **ipp)
{
    struct inode *ip = ext2_inode_room(chain);
    if (!ip) {
        table_unlock(&chain->lock);
        return -ENOMEM;
    }
    *ip = (struct inode){.v = {.ops = &ext2_vnodeops, .mount = &fs->mount},
                         .fs = fs,
                         .number = number,
                         .lost_seen = __atomic_load_n(&fs->device->lost_writes, __ATOMIC_RELAXED),
                         .references = 1 | REFERENCES_LAST};
    lock_init(&ip->v.lock, &inode_class, "inode");
    lock_init(&ip->reading, &reading_class, "inode read");
    SLIST_INSERT_HEAD(&chain->inodes, ip, hashed);
    tell_unmount(fs);
    if (!mutex_try(&ip->reading)) /* nobody knows it yet; and as an attempt, it is not against the order */
        panic("a new inode is locked");
    table_unlock(&chain->lock);
    int error = which == FRESH ? 0 : read_inode(ip, which);
    ip->gone = error;
    __atomic_store_n(&ip->here, true, __ATOMIC_RELEASE);
    mutex_unlock(&ip->reading);
    if (error)
        ext2_release(&ip->v);
    else
        *ipp = ip;
    return error;
}

/* Not with its own lock: ".." leads up, and who has that by now may want the one below. */
static COLD void wait_for_reading(struct inode *ip)
{
    mutex_lock(&ip->reading);
    mutex_unlock(&ip->reading);
}

int ext2_iget(struct ext2 *fs, uint32_t number, enum which_inode which, struct inode **ipp)
{
    if (!number || number > fs->super.inodes || (number < fs->first_inode && number != EXT2_ROOT))
        return IS_HANDLE(which) ? -ESTALE : ext2_error(fs, "inode number", number);
    struct chain *chain = ext2_inode_chain_of(fs, number);
    table_lock(&chain->lock);
    struct inode *ip;
    SLIST_FOREACH(ip, &chain->inodes, hashed)
        if (ip->fs == fs && ip->number == number)
            break;
    if (ip) {
        refer(ip);
        table_unlock(&chain->lock);
        if (!__atomic_load_n(&ip->here, __ATOMIC_ACQUIRE))
            wait_for_reading(ip);
        if (ip->gone || which == FRESH) { /* in use, and free by its bitmap */
            bool looked = NFS && ip->gone;
            ext2_release(&ip->v);
            if (looked && which == FRESH) { /* somebody has a handle of what it was before, and is about to let go */
                ext2_handle_wait();
                return ext2_iget(fs, number, which, ipp);
            }
            return looked && IS_HANDLE(which) ? -ESTALE : ext2_error(fs, "inode", number);
        }
        *ipp = ip;
        return 0;
    }
    return iget_new(fs, number, which, chain, ipp);
}

int ext2_inode_is_there(struct inode *ip)
{
    struct buf *bp = ext2_bread_shared(ip->fs, block_of(ip->fs, ip->number));
    int error = bp->error;
    brelse(bp);
    return error;
}

int ext2_update(struct inode *ip, bool wait)
{
    struct ext2 *fs = ip->fs;
    if (!ip->dirty || fs->mount.read_only)
        return 0;
    ext2_set_pointers(ip); /* an error is told by fsync */
    struct buf *bp = ext2_bread(fs, block_of(fs, ip->number));
    int error = bfailed(bp);
    if (error)
        return error;
    struct ext2_inode *at = ext2_inode_place(fs, ip->number, bp);
    *at = ip->disk;
    if (ip->fresh)
        memset(at + 1, 0, fs->inode_size - sizeof *at);
    ip->dirty = false;
    bool grown = ip->grown, fresh = ip->fresh;
    ip->fresh = false;
    ip->grown = false;
    if (grown && !fs->log)
        bpoints(bp);
    error = ext2_meta(fs, bp, wait);
    ip->dirty |= error != 0;
    ip->grown |= error && grown;
    ip->fresh |= error && fresh;
    return error;
}

int ext2_update_alone(struct inode *ip, bool wait)
{
    int error = ext2_begin(ip->fs);
    if (error)
        return error;
    error = ext2_update(ip, wait);
    ext2_end(ip->fs);
    return error;
}

void ext2_change_dtime(struct ext2 *fs, uint32_t number, uint32_t to)
{
    struct buf *bp = ext2_bread(fs, block_of(fs, number));
    if (bfailed(bp))
        return;
    ext2_inode_place(fs, number, bp)->dtime = to;
    ext2_meta(fs, bp, false);
}

void ext2_hold(struct vnode *vp)
{
    uint32_t before = __atomic_fetch_add(&INODE(vp)->references, 1, __ATOMIC_RELAXED);
    assert(before & REFERENCES); /* the caller's own */
}

/* Whether there is something to do when nobody refers to it. What others change they tell of before they let go. */
static bool is_changed(const struct inode *ip)
{
    return ip->dirty || ip->gone || !ip->disk.links;
}

/* A reference less. Not if it is the last one, or may be by now, and there is something to do then. */
static bool let_go_lightly(struct inode *ip)
{
    uint32_t n = __atomic_load_n(&ip->references, __ATOMIC_RELAXED), last = is_changed(ip) ? REFERENCES_LAST : 0;
    assert(n & REFERENCES);
    while ((n & REFERENCES) > 1 || !((n | last) & REFERENCES_LAST))
        if (__atomic_compare_exchange_n(&ip->references, &n, (n - 1) | last, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true; /* and with it the inode may be gone */
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* what those who let go have written is seen */
    return false;
}

/*
 * A removed file leaves the block of its extended attributes, which is free if no other file has it too. First the
 * inode without it: until then the block's count has it, and after a power cut a count that is too high does no harm.
 */
static int leave_attributes(struct inode *ip)
{
    struct ext2 *fs = ip->fs;
    struct ext2_inode before = ip->disk;
    if (!before.attributes)
        return 0;
    struct buf *bp = ext2_is_data_block(fs, before.attributes) ? ext2_bread(fs, before.attributes) : 0;
    int error = bp ? bfailed(bp) : ext2_error(fs, "block of attributes", before.attributes);
    if (error)
        return error; /* and nothing has changed */
    const struct ext2_attributes *head = (const struct ext2_attributes *)bp->data;
    bool sound = head->magic == EXT2_ATTRIBUTES_MAGIC && head->blocks == 1 && head->references;
    brelse(bp);
    if (!sound)
        return ext2_error(fs, "block of attributes", before.attributes);
    ip->disk.attributes = 0;
    ip->disk.sectors -= MIN(ip->disk.sectors, fs->sectors_per_block);
    ip->dirty = true;
    error = ext2_update(ip, true);
    if (!error)
        error = ext2_line(fs);
    if (error) {
        ip->disk = before;
        return error;
    }
    bp = ext2_bread(fs, before.attributes);
    error = bfailed(bp);
    if (error)
        return error;
    struct ext2_attributes *now = (struct ext2_attributes *)bp->data;
    if (now->references > 1) { /* by now it may be another one that has it alone */
        now->references--;
        return ext2_meta(fs, bp, false);
    }
    brelse(bp);
    return ext2_bfree(fs, before.attributes, true);
}

/* The last one has let go of a file without a name: what it had is free. Between ext2_begin and ext2_end. */
static int free_file(struct inode *ip, bool directory)
{
    int error = ext2_truncate(ip, 0);
    if (!error)
        error = leave_attributes(ip);
    if (error)
        return error;
    if (ip->orphan)
        ext2_orphan_remove(ip);
    ip->disk.dtime = fs_time();
    ip->disk.mode = 0;
    ip->dirty = true;
    error = ext2_update(ip, false);
    if (!error)
        ext2_ifree(ip->fs, ip->number, directory);
    return error;
}

static void remove_file(struct inode *ip)
{
    bool directory = ip->v.type == VDIR;
    if (directory) { /* its number may be another's soon */
        namecache_drop(ip->fs, ip->number, ".", 1);
        namecache_drop(ip->fs, ip->number, "..", 2);
    }
    lock_write(&ip->v.lock);
    if (!ext2_begin(ip->fs)) { /* else it is on the journal's list of orphans, or was never there */
        if (free_file(ip, directory))
            ext2_keeps(ip->fs, "inode", ip->number); /* until e2fsck gives it back */
        ext2_end(ip->fs);
    }
    ext2_orphan_forget(ip);
    lock_done(&ip->v.lock);
}

/*
 * With `chain`, its own, locked, and again when this ends: while there is a reference, another may come, and change it,
 * meanwhile.
 */
static void write_back(struct inode *ip, struct chain *chain)
{
    table_unlock(&chain->lock);
    lock_write(&ip->v.lock);
    ext2_update_alone(ip, false);
    ip->dirty = false; /* an error is the device's: the block says so to whoever wants it next */
    lock_done(&ip->v.lock);
    table_lock(&chain->lock);
}

/*
 * Out of the table, and with `remove` off the medium: nobody has it any more. With `chain`, its own, locked, and to be
 * unlocked.
 */
static void ext2_inode_let_go(struct inode *ip, struct chain *chain, bool remove)
{
    if (ip->listed) {
        table_lock(&inode_free_lock);
        list_remove(ip);
        table_unlock(&inode_free_lock);
    }
    struct ext2 *fs = ip->fs;
    __atomic_fetch_add(&fs->ending, 1, __ATOMIC_RELAXED);
    /* No name leads to it: nobody looks for it until its number is given again. */
    SLIST_REMOVE(&chain->inodes, ip, inode, hashed);
    table_unlock(&chain->lock);
    if (remove)
        remove_file(ip);
    else
        ext2_orphan_forget(ip);
    ext2_inode_destroy(ip);
    __atomic_fetch_sub(&fs->ending, 1, __ATOMIC_RELEASE); /* from here on an unmount may take `fs` away */
}

static COLD void release_last(struct inode *ip)
{
    struct chain *chain = ext2_inode_chain_of(ip->fs, ip->number);
    table_lock(&chain->lock);
    bool last;
    while ((last = !let_go_lightly(ip)) && ip->dirty && !ip->gone && ip->disk.links && !ip->fs->mount.read_only)
        write_back(ip, chain);
    if (!last) {
        table_unlock(&chain->lock);
        return;
    }
    __atomic_store_n(&ip->references, 0, __ATOMIC_RELAXED); /* nobody has one, and without the lock none comes */
    bool remove = !ip->gone && !ip->disk.links && !ip->fs->mount.read_only;
    if (ip->gone || remove) {
        ext2_inode_let_go(ip, chain, remove);
        return;
    }
    ext2_orphan_forget(ip); /* one that a log which cannot be written keeps from being removed */
    if (!ip->listed && !ip->dirty) { /* dirty: as above, and so it stays, as memory alone has it */
        table_lock(&inode_free_lock);
        list_append(ip);
        table_unlock(&inode_free_lock);
    }
    table_unlock(&chain->lock);
}

void ext2_release(struct vnode *vp)
{
    struct inode *ip = INODE(vp);
    if (!let_go_lightly(ip))
        release_last(ip);
}

void ext2_update_all(struct ext2 *fs)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        struct inode *ip, *held = 0; /* while there is a reference, it stays on the chain */
        table_lock(&inode_chains[i].lock);
        SLIST_FOREACH(ip, &inode_chains[i].inodes, hashed) {
            if (ip->fs != fs || !ip->dirty || ip->gone || !(ip->references & REFERENCES))
                continue;
            refer(ip);
            table_unlock(&inode_chains[i].lock);
            if (held)
                ext2_release(&held->v);
            held = ip;
            lock_write(&ip->v.lock);
            ext2_update_alone(ip, false); /* an error is the device's, as in ext2_release */
            lock_done(&ip->v.lock);
            table_lock(&inode_chains[i].lock);
        }
        table_unlock(&inode_chains[i].lock);
        if (held)
            ext2_release(&held->v);
    }
}

int ext2_forget(struct ext2 *fs)
{
    struct inode *root = fs->root ? INODE(fs->root) : 0, *ip, *next;
    bool busy = false;
    fs->referred = false;
    __atomic_store_n(&fs->forgetting, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < CHAINS && !busy; i++) {
        table_lock(&inode_chains[i].lock);
        SLIST_FOREACH(ip, &inode_chains[i].inodes, hashed)
            busy |= ip->fs == fs && (ip->references & REFERENCES) != (ip == root);
        table_unlock(&inode_chains[i].lock);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* what those had done who have let go */
    /* A reference that came meanwhile, by one that was let go of before the look at it, was on a chain behind us. */
    busy |= __atomic_load_n(&fs->referred, __ATOMIC_RELAXED) || __atomic_load_n(&fs->ending, __ATOMIC_ACQUIRE);
    fs->forgetting = false;
    if (busy)
        return -EBUSY;
    fs->root = 0;
    if (root)
        ext2_release(&root->v);
    for (unsigned i = 0; i < CHAINS; i++) {
        table_lock(&inode_chains[i].lock);
        table_lock(&inode_free_lock);
        SLIST_FOREACH_SAFE(ip, &inode_chains[i].inodes, hashed, next) {
            if (ip->fs == fs) {
                if (ip->listed)
                    list_remove(ip);
                SLIST_REMOVE(&inode_chains[i].inodes, ip, inode, hashed);
                ext2_inode_destroy(ip);
            }
        }
        table_unlock(&inode_free_lock);
        table_unlock(&inode_chains[i].lock);
    }
    return 0;
}

uint32_t inodes_referenced(void)
{
    uint32_t n = 0;
    const struct inode *ip;
    for (unsigned i = 0; i < CHAINS; i++)
        SLIST_FOREACH(ip, &inode_chains[i].inodes, hashed)
            n += (ip->references & REFERENCES) != 0;
    return n;
}
