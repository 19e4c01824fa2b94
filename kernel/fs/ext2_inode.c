/*
 * ext2: the table of inodes in memory (ext2.h), as 4.3BSD's: hash chains with a lock each, and a list of
 * unreferenced inodes, which are reused for other inodes. These have been written by then, so reuse needs no
 * I/O.
 *
 * Locks: chain, then inode_free_lock; another chain's only by a conditional attempt. The first reference is taken with
 * the chain locked; from then on holders of one add and drop references by atomic instructions alone. The last one is
 * dropped with the chain locked if there is work to do then, which REFERENCES_LAST says: the inode must be written, or
 * removed, or is not on the list. An inode that is referenced again stays on the list until a search for room, which
 * takes those that were not used since they were listed, or since the last search (second chance), so that looking up a
 * name and releasing its file moves nothing.
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
#define REFERENCES_LAST 0x80000000u /* with the number of references: the last one is dropped with the chain locked */
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

/* Call the next two with inode_free_lock and the inode's chain lock held. */
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

/* Removes it from the list if it may be reused, or while it is referenced; or moves it to the end (second chance). */
static bool leaves_list(struct inode *ip)
{
    list_remove(ip);
    if (__atomic_fetch_or(&ip->references, REFERENCES_LAST, __ATOMIC_ACQUIRE) & REFERENCES)
        return false; /* the last release lists it again */
    if (!ip->used)
        return true;
    ip->used = false;
    __atomic_store_n(&ip->references, 0, __ATOMIC_RELAXED);
    list_append(ip);
    return false;
}

/*
 * Takes an unreferenced inode off its chain, for reuse. Null: there is none. The caller holds the lock of `mine`.
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
            next = ip; /* the last one, now the first of those that had a second chance */
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

/* Checks the fields of an inode that could mislead the kernel. */
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

/* Called with its `reading` held; it is on its chain already. */
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
    /* A free inode: only a damaged entry leads to it. */
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
 * Records a new reference: an unmount may have checked this chain, which is locked, before the reference was added, and
 * come to the chain of the last released one too late.
 */
static void tell_unmount(struct ext2 *fs)
{
    if (unlikely(__atomic_load_n(&fs->forgetting, __ATOMIC_RELAXED)))
        __atomic_store_n(&fs->referred, true, __ATOMIC_RELAXED);
}

/* Adds a reference to an inode in the table, with its chain locked. */
static void refer(struct inode *ip)
{
    tell_unmount(ip->fs);
    __atomic_fetch_add(&ip->references, 1, __ATOMIC_RELAXED);
    ip->used = true;
}

/* Reads an inode that is not in the table: takes `chain`, its own, locked, and unlocks it. */
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
    if (!mutex_try(&ip->reading)) /* no other thread knows it yet; as an attempt, it is not against the order */
        panic("ext2: the lock of a new inode is held");
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

/* Without its own lock: ".." leads up, and the thread that holds the parent may wait for this directory. */
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
        if (ip->gone || which == FRESH) { /* in use, but free by its bitmap */
            bool looked = NFS && ip->gone;
            ext2_release(&ip->v);
            if (looked && which == FRESH) { /* a look-up by an old handle is about to release it */
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
    ext2_set_pointers(ip); /* fsync reports an error */
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

/* Whether a last release has work to do. Other threads record their changes before they release it. */
static bool is_changed(const struct inode *ip)
{
    return ip->dirty || ip->gone || !ip->disk.links;
}

/* Drops a reference, unless it is, or may have become, the last one and there is work to do then. */
static bool let_go_lightly(struct inode *ip)
{
    uint32_t n = __atomic_load_n(&ip->references, __ATOMIC_RELAXED), last = is_changed(ip) ? REFERENCES_LAST : 0;
    assert(n & REFERENCES);
    while ((n & REFERENCES) > 1 || !((n | last) & REFERENCES_LAST))
        if (__atomic_compare_exchange_n(&ip->references, &n, (n - 1) | last, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true; /* and the inode may be gone from here on */
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* sees what earlier releasers have written */
    return false;
}

/*
 * A removed file gives up its block of extended attributes, which is freed if no other file shares it. The inode is
 * written first: until then the block's count includes it; after a power cut a count that is too high does no harm.
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
    if (now->references > 1) { /* read again: by now no other file may share it */
        now->references--;
        return ext2_meta(fs, bp, false);
    }
    brelse(bp);
    return ext2_bfree(fs, before.attributes, true);
}

/* Frees what a file without a name had, after its last release. Between ext2_begin and ext2_end. */
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
    if (directory) { /* its number may be another file's soon */
        namecache_drop(ip->fs, ip->number, ".", 1);
        namecache_drop(ip->fs, ip->number, "..", 2);
    }
    lock_write(&ip->v.lock);
    if (!ext2_begin(ip->fs)) { /* else it is on the journal's list of orphans, or was never there */
        if (free_file(ip, directory))
            ext2_keeps(ip->fs, "inode", ip->number); /* until e2fsck frees it */
        ext2_end(ip->fs);
    }
    ext2_orphan_forget(ip);
    lock_done(&ip->v.lock);
}

/*
 * Called with `chain`, its own, locked, as it is again on return: while there is a reference, another may be added
 * meanwhile, and its holder change the inode.
 */
static void write_back(struct inode *ip, struct chain *chain)
{
    table_unlock(&chain->lock);
    lock_write(&ip->v.lock);
    ext2_update_alone(ip, false);
    ip->dirty = false; /* an error is the device's: the next reader of the block gets it */
    lock_done(&ip->v.lock);
    table_lock(&chain->lock);
}

/*
 * Removes an unreferenced inode from the table, and with `remove` from the medium. Takes `chain`, its own, locked, and
 * unlocks it.
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
    /* No name leads to it: no thread looks for it until its number is allocated again. */
    SLIST_REMOVE(&chain->inodes, ip, inode, hashed);
    table_unlock(&chain->lock);
    if (remove)
        remove_file(ip);
    else
        ext2_orphan_forget(ip);
    ext2_inode_destroy(ip);
    __atomic_fetch_sub(&fs->ending, 1, __ATOMIC_RELEASE); /* from here on an unmount may free `fs` */
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
    __atomic_store_n(&ip->references, 0, __ATOMIC_RELAXED); /* none exists, and without the lock none is added */
    bool remove = !ip->gone && !ip->disk.links && !ip->fs->mount.read_only;
    if (ip->gone || remove) {
        ext2_inode_let_go(ip, chain, remove);
        return;
    }
    ext2_orphan_forget(ip); /* an inode that could not be removed, as the log cannot be written */
    if (!ip->listed && !ip->dirty) { /* dirty: as above, and stays so, as only memory has it */
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
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* sees what earlier releasers have done */
    /* A new reference taken meanwhile, from one released before it was counted, was on a chain already passed. */
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
