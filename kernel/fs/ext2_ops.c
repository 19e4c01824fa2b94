/* ext2: vnode operations (vnode.h, ext2.h). */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"

static bool read_only(const struct inode *ip)
{
    return ip->fs->mount.read_only;
}

static int ext2_lookup(struct vnode *dvp, const char *name, uint32_t length, struct vnode **vpp)
{
    struct inode *dp = INODE(dvp), *ip;
    uint32_t number;
    if (dp->gone || !dp->disk.links)
        return -ENOENT; /* removed while the caller waited */
    int error = ext2_dir_find(dp, name, length, &number);
    if (error)
        return error;
    if (number == dp->number) { /* "." */
        vhold(dvp);
        *vpp = dvp;
        return 0;
    }
    error = ext2_iget(dp->fs, number, ANY_FILE, &ip);
    if (!error)
        *vpp = &ip->v;
    return error;
}

/* Stores a symbolic link's text: in the inode if there is room. */
static int write_target(struct inode *ip, const char *target)
{
    struct ext2 *fs = ip->fs;
    uint32_t length = strlen(target);
    if (length >= fs->block_size)
        return -ENAMETOOLONG;
    ext2_set_size(ip, length);
    if (length < sizeof ip->disk.block) {
        memcpy(ip->disk.block, target, length);
        return 0;
    }
    uint32_t block;
    int error = ext2_bmap(ip, 0, true, &block, 0, 0);
    if (error)
        return error;
    struct buf *bp = ext2_getblk(fs, block);
    memset(bp->data, 0, fs->block_size);
    memcpy(bp->data, target, length);
    return ext2_meta(fs, bp, true);
}

/* Fills in a new inode, which is locked, and writes it; its entry is written later. */
static int begin_file(struct inode *dp, struct inode *ip, const struct vattr *attr, const char *target)
{
    uint32_t now = fs_time(), generation = NFS ? ext2_next_generation(ip) : 0;
    ip->disk = (struct ext2_inode){.mode = attr->mode,
                                   .generation = generation,
                                   .uid = attr->uid,
                                   .uid_high = attr->uid >> 16,
                                   .gid = attr->gid,
                                   .gid_high = attr->gid >> 16,
                                   .links = attr->type == VDIR ? 2 : 1,
                                   .atime = now,
                                   .mtime = now,
                                   .ctime = now};
    ext2_set_type(ip);
    assert(ip->v.type == attr->type);
    ip->dirty = ip->fresh = true;
    int error = 0;
    if (attr->type == VDIR)
        error = ext2_dir_begin(ip, dp->number);
    else if (attr->type == VLNK)
        error = write_target(ip, target);
    else if (attr->type == VCHR || attr->type == VBLK)
        ip->disk.block[0] = ip->v.rdev = attr->rdev;
    return error ? error : ext2_update(ip, true);
}

/* Adds a link on the device before its entry is written; undone after an error. */
static int add_link(struct inode *ip)
{
    ip->disk.links++;
    ip->dirty = true;
    int error = ext2_update(ip, true);
    if (error) {
        ip->disk.links--;
        ip->dirty = true;
    }
    return error;
}

static void take_link(struct inode *ip)
{
    ip->disk.links--;
    ip->dirty = true;
    if (ip->fs->log)
        ext2_update(ip, false);
}

/*
 * Makes a file with its name, or neither; *ipp: its inode, with a reference, or null. Between ext2_begin and ext2_end.
 */
static int create_file(struct inode *dp, const char *name, uint32_t length, const struct vattr *attr,
                       const char *target, struct inode **ipp)
{
    struct ext2 *fs = dp->fs;
    struct inode *ip;
    uint32_t number;
    *ipp = 0;
    int error = ext2_ialloc(fs, dp, attr->type == VDIR, &number);
    if (error)
        return error;
    error = ext2_iget(fs, number, FRESH, &ip);
    if (error) { /* memory is out, or the bitmap was wrong: then the number stays taken */
        if (error == -ENOMEM)
            ext2_ifree(fs, number, attr->type == VDIR);
        return error;
    }
    *ipp = ip;
    if (!lock_try_write(
            &ip->v.lock)) /* to wait for it would violate the lock order; and only a wrong entry leads to it yet */
        return ext2_error(fs, "inode", number);
    error = begin_file(dp, ip, attr, target);
    if (!error && attr->type == VDIR)
        error = add_link(dp); /* more links than entries do no harm */
    if (!error) {
        error = ext2_dir_add(dp, name, length, number, attr->type);
        if (error && attr->type == VDIR)
            take_link(dp);
    }
    if (error) {
        ip->disk.links = 0; /* the release of the reference frees it */
        ip->dirty = true;
        if (fs->log) {
            ext2_update(ip, false);
            ext2_orphan_add(ip);
        }
    }
    lock_done(&ip->v.lock);
    return error;
}

/* Whether the locked directory may get this name: 0 or an error; -EEXIST comes first, as `mkdir -p` expects. */
static int is_free(struct inode *dp, const char *name, uint32_t length)
{
    uint32_t number;
    if (length > NAME_MOST)
        return -ENAMETOOLONG;
    if (!dp->disk.links)
        return -ENOENT;
    int error = ext2_dir_find(dp, name, length, &number);
    if (error != -ENOENT)
        return error ? error : -EEXIST;
    return read_only(dp) ? -EROFS : 0;
}

static int ext2_create(struct vnode *dvp, const char *name, uint32_t length, const struct vattr *attr,
                       const char *target, struct vnode **vpp)
{
    struct inode *dp = INODE(dvp), *ip;
    struct ext2 *fs = dp->fs;
    int error = is_free(dp, name, length);
    if (error)
        return error;
    if (attr->type == VDIR && dp->disk.links >= EXT2_LINKS_MOST)
        return -EMLINK;
    do {
        error = ext2_begin(fs);
        if (error)
            return error;
        error = create_file(dp, name, length, attr, target, &ip);
        ext2_end(fs);
        if (error && ip)
            ext2_release(&ip->v);
    } while (ext2_more_room(fs, error));
    if (!error)
        *vpp = &ip->v;
    return error;
}

/* With both locked, and between ext2_begin and ext2_end. */
static int link_file(struct inode *dp, const char *name, uint32_t length, struct inode *ip)
{
    ip->disk.ctime = fs_time();
    int error = add_link(ip); /* more links than entries do no harm */
    if (error)
        return error;
    error = ext2_dir_add(dp, name, length, ip->number, ip->v.type);
    if (error)
        take_link(ip);
    return error;
}

static int ext2_link(struct vnode *dvp, const char *name, uint32_t length, struct vnode *vp)
{
    struct inode *dp = INODE(dvp), *ip = INODE(vp);
    if (dvp->mount != vp->mount)
        return -EXDEV;
    int error = is_free(dp, name, length);
    if (error)
        return error;
    if (vp->type == VDIR) /* may be dvp itself */
        return -EPERM;
    lock_write(&vp->lock);
    if (!ip->disk.links || ip->disk.links >= EXT2_LINKS_MOST) {
        error = ip->disk.links ? -EMLINK : -ENOENT;
    } else {
        do {
            error = ext2_begin(dp->fs);
            if (error)
                break;
            error = link_file(dp, name, length, ip);
            ext2_end(dp->fs);
        } while (ext2_more_room(dp->fs, error));
    }
    lock_done(&vp->lock);
    return error;
}

/* Updates a file whose entry has just been removed; both locked. */
static int drop_links(struct inode *dp, struct inode *ip)
{
    ip->disk.ctime = fs_time();
    ip->disk.links -= ip->v.type == VDIR ? ip->disk.links : ip->disk.links != 0;
    ip->dirty = true;
    int error = ext2_update(ip, ip->disk.links == 0);
    if (!ip->disk.links && ip->fs->log)
        ext2_orphan_add(ip); /* until it is freed, with its last reference */
    if (ip->v.type == VDIR) {
        dp->disk.links -= dp->disk.links > 2;
        dp->dirty = true;
        int e = ext2_update(dp, false);
        error = error ? error : e;
    }
    return error;
}

/* Whether `ip`, locked, may be removed by rmdir (`directory`) or unlink. */
static int may_remove(struct inode *ip, bool directory)
{
    if (ip->v.mounted)
        return -EBUSY;
    if (!directory)
        return ip->v.type == VDIR ? -EISDIR : 0;
    if (ip->v.type != VDIR)
        return -ENOTDIR;
    int empty = ext2_dir_is_empty(ip);
    return empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
}

/* Without a journal: before a name of a file is removed, its other names must be on the medium. */
static int other_names_are_there(struct inode *ip)
{
    return ip->v.type != VDIR && ip->disk.links > 1 ? ext2_line(ip->fs) : 0;
}

static int ext2_remove(struct vnode *dvp, const char *name, uint32_t length, bool directory)
{
    struct inode *dp = INODE(dvp), *ip;
    struct vnode *vp;
    if (read_only(dp))
        return -EROFS;
    int error = ext2_lookup(dvp, name, length, &vp);
    if (error)
        return error;
    if (vp == dvp) { /* an entry that leads back: the directory is damaged */
        ext2_release(vp);
        return ext2_error(dp->fs, "directory", dp->number);
    }
    ip = INODE(vp);
    lock_write(&vp->lock);
    error = may_remove(ip, directory);
    if (!error)
        error = other_names_are_there(ip);
    if (!error && !(error = ext2_begin(dp->fs))) {
        error = ext2_dir_remove(dp, name, length);
        if (!error)
            error = drop_links(dp, ip);
        ext2_end(dp->fs);
    }
    lock_done(&vp->lock);
    ext2_release(vp);
    return error;
}

/*
 * Whether `dp` is `ip` or lies below it; with the mount's rename lock held, so that no directory moves. An error, 0 or
 * 1. Each directory is locked while its parent is looked up: so it is not removed, and its parent cannot be.
 */
static int is_below(struct inode *dp, struct inode *ip)
{
    struct ext2 *fs = dp->fs;
    struct vnode *at = &dp->v, *up;
    vhold(at);
    int result = -ELOOP;
    for (uint32_t steps = 0; result == -ELOOP && steps < fs->super.inodes; steps++) {
        if (at == &ip->v) {
            result = 1;
        } else if (INODE(at)->number == EXT2_ROOT) {
            result = 0;
        } else {
            lock_read(&at->lock);
            bool removed = !INODE(at)->disk.links;
            int error = at->type == VDIR ? ext2_lookup(at, "..", 2, &up) : -ENOTDIR;
            lock_done(&at->lock);
            if (error) {
                result = error == -ENOENT && !removed ? ext2_error(fs, "directory", INODE(at)->number) : error;
            } else {
                ext2_release(at);
                at = up;
            }
        }
    }
    ext2_release(at);
    return result == -ELOOP ? ext2_error(fs, "directory", dp->number) : result; /* a cycle */
}

/*
 * Locks both directories, the upper one first: a thread that descends the tree holds the upper one and waits for the
 * lower.
 */
static int lock_two(struct inode *a, struct inode *b)
{
    if (a == b) {
        lock_write(&a->v.lock);
        return 0;
    }
    int below = is_below(a, b);
    if (below < 0)
        return below;
    struct inode *first = below ? b : a;
    if (!below && (below = is_below(b, a)) < 0)
        return below;
    if (!below && b < a)
        first = b;
    lock_write(&first->v.lock);
    lock_write(first == a ? &b->v.lock : &a->v.lock);
    return 0;
}

/* A move from one name to another: `old` is the file that has the new name so far, or null. All are locked. */
struct move {
    struct inode *from, *to, *file, *old;
    const char *name, *new_name;
    uint32_t length, new_length;
    bool turns; /* a directory gets another parent: its ".." changes */
};

enum moved { COUNTED, NAMED, TURNED };

/* Undoes a move. e2fsck finds what could not be undone. */
static void move_back(const struct move *m, enum moved so_far)
{
    if (so_far >= TURNED && m->turns)
        ext2_dir_put_back(m->file, "..", 2, m->from->number, VDIR);
    if (so_far >= NAMED)
        ext2_dir_put_back(m->to, m->new_name, m->new_length, m->old ? m->old->number : 0,
                          m->old ? m->old->v.type : VNON);
    if (m->turns)
        take_link(m->to);
    take_link(m->file);
}

/*
 * In 4.3BSD's order: the file has one link more while it has, or may have, two names. Until its old name is removed all
 * can be undone; the file that had the new name loses it only then. Between ext2_begin and ext2_end.
 */
static int move_file(const struct move *m)
{
    struct inode *from = m->from, *to = m->to, *ip = m->file, *old = m->old;
    int error = m->turns ? ext2_dir_is_there(ip, "..", 2) : 0;
    if (!error && old)
        error = ext2_inode_is_there(old);
    ip->disk.ctime = fs_time();
    if (!error)
        error = add_link(ip);
    if (error)
        return error;
    if (m->turns && (error = add_link(to))) {
        take_link(ip);
        return error;
    }
    enum moved so_far = COUNTED;
    error = old ? ext2_dir_change(to, m->new_name, m->new_length, ip->number, ip->v.type)
                : ext2_dir_add(to, m->new_name, m->new_length, ip->number, ip->v.type);
    if (!error) {
        so_far = NAMED;
        error = m->turns ? ext2_dir_change(ip, "..", 2, to->number, VDIR) : 0;
    }
    if (!error) {
        so_far = TURNED;
        error = ext2_line(to->fs); /* it has one name or the other at any power cut */
    }
    if (!error)
        error = ext2_dir_remove(from, m->name, m->length);
    if (error) {
        move_back(m, so_far);
        return error;
    }
    take_link(ip);
    if (m->turns) {
        from->disk.links -= from->disk.links > 2;
        from->dirty = true;
    }
    error = old ? drop_links(to, old) : 0;
    int e = ext2_update(to, false);
    error = error ? error : e;
    e = ext2_update(from, false);
    return error ? error : e;
}

/* With both directories locked. */
static int ext2_move(struct inode *from, const char *name, uint32_t length, struct inode *to, const char *new_name,
                     uint32_t new_length, struct inode *ip, struct inode *old)
{
    struct ext2 *fs = to->fs;
    bool directory = ip->v.type == VDIR;
    const struct move m = {from, to, ip, old, name, new_name, length, new_length, directory && from != to};
    if (m.turns && !old && to->disk.links >= EXT2_LINKS_MOST)
        return -EMLINK;
    if (old && directory != (old->v.type == VDIR)) /* types do not change: so no directory is waited for below a file */
        return directory ? -ENOTDIR : -EISDIR;
    if (old)
        lock_write(&old->v.lock);
    int error = old ? may_remove(old, directory) : 0;
    if (old && !error)
        error = other_names_are_there(old);
    if (!error) {
        lock_write(&ip->v.lock); /* two files in any order: renames are serialized */
        do {
            error = ext2_begin(fs);
            if (error)
                break;
            error = move_file(&m);
            ext2_end(fs);
        } while (ext2_more_room(fs, error));
        lock_done(&ip->v.lock);
    }
    if (old)
        lock_done(&old->v.lock);
    return error;
}

static int rename_locked(struct inode *from, const char *name, uint32_t length, struct inode *to, const char *new_name,
                         uint32_t new_length, struct inode *ip)
{
    struct vnode *old = 0, *now;
    int error = ext2_lookup(&from->v, name, length, &now);
    if (error)
        return error;
    ext2_release(now);
    if (INODE(now) != ip)
        return -EAGAIN; /* the name is another file's by now */
    if (!to->disk.links)
        return -ENOENT;
    error = ext2_lookup(&to->v, new_name, new_length, &old);
    if (error && error != -ENOENT)
        return error;
    if (error)
        old = 0;
    if (old == &ip->v) {
        ext2_release(old); /* two names of one file: nothing to do */
        return 0;
    }
    if (old == &to->v || old == &from->v)
        error = ext2_error(to->fs, "directory", to->number);
    else
        error = ext2_move(from, name, length, to, new_name, new_length, ip, old ? INODE(old) : 0);
    if (old)
        ext2_release(old);
    return error;
}

/*
 * -ENOTEMPTY if the file that has the name so far is a directory above `from`. None can become one while the rename
 * lock is held.
 */
static int is_above(struct inode *from, struct inode *to, const char *name, uint32_t length)
{
    struct vnode *old;
    lock_read(&to->v.lock);
    int error = ext2_lookup(&to->v, name, length, &old);
    lock_done(&to->v.lock);
    if (error)
        return error == -ENOENT ? 0 : error;
    int below = old->type == VDIR ? is_below(from, INODE(old)) : 0;
    ext2_release(old);
    return below > 0 ? -ENOTEMPTY : below;
}

static int ext2_rename(struct vnode *fdvp, const char *name, uint32_t length, struct vnode *tdvp, const char *new_name,
                       uint32_t new_length)
{
    struct inode *from = INODE(fdvp), *to = INODE(tdvp);
    struct vnode *vp;
    if (read_only(from))
        return -EROFS;
    if (fdvp->mount != tdvp->mount)
        return -EXDEV;
    if (new_length > NAME_MOST)
        return -ENAMETOOLONG;
    int error;
    do {
        mutex_lock(&fdvp->mount->rename_lock);
        lock_read(&fdvp->lock);
        error = ext2_lookup(fdvp, name, length, &vp);
        lock_done(&fdvp->lock);
        if (error) {
            mutex_unlock(&fdvp->mount->rename_lock);
            return error;
        }
        struct inode *ip = INODE(vp);
        int below = vp == fdvp ? -EINVAL : vp->type == VDIR ? is_below(to, ip) : 0;
        error = vp->mounted ? -EBUSY : below > 0 ? -EINVAL : below;
        if (!error)
            error = is_above(from, to, new_name, new_length);
        if (!error && !(error = lock_two(from, to))) {
            error = rename_locked(from, name, length, to, new_name, new_length, ip);
            lock_done(&fdvp->lock);
            if (from != to)
                lock_done(&tdvp->lock);
        }
        mutex_unlock(&fdvp->mount->rename_lock);
        ext2_release(vp);
    } while (error == -EAGAIN);
    return error;
}

/*
 * The device's block of block `n` of the file, 0: none, and how many from there on are consecutive; uses the result of
 * the last look-up if that includes it.
 */
static int look_up(struct inode *ip, struct read_state *r, uint32_t n, uint32_t *block, uint32_t *count)
{
    if (n - r->first >= r->count) {
        int error = ext2_bmap(ip, n, false, &r->block, 0, &r->count);
        r->first = n;
        r->count = error ? 0 : r->count;
        *block = *count = 0;
        if (error || !r->count)
            return error;
    }
    *block = r->block + (n - r->first);
    *count = r->count - (n - r->first);
    return 0;
}

#define WINDOW_GROWS 4u /* factor: on a drive with a mechanism each small request costs a turn */
#define LOST_FOR 8u /* requests for which a lost block halves the limit of the window */

/*
 * Begins to read as many blocks as the next request should have, from the first one not requested yet; `end`: the
 * file's.
 */
static __attribute__((noinline)) void ext2_ask(struct inode *ip, struct read_state *r, uint32_t end)
{
    struct ext2 *fs = ip->fs;
    struct read_state there = *r; /* a look-up ahead of the reader must not replace its own */
    uint32_t block, count;
    if (look_up(ip, &there, r->asked, &block, &count) || !block) { /* the reader will get the error */
        r->asked += r->window;
        return;
    }
    count = MIN(count, r->window);
    count = MIN(count, end - r->asked);
    uint32_t sector = block * fs->sectors_per_block;
    uint32_t begun = breadahead(fs->device, sector, fs->block_size, count);
    r->lost -= begun && r->lost;
    if (begun || incore(fs->device, sector)) /* else there was no buffer: try again later */
        r->asked += begun ? begun : count;
}

/*
 * Reads ahead for a read of `wanted` blocks from `n` on: if it continues the last one, by a window that grows with each
 * request up to what the cache can bear (lost); the next request begins when less than a window of blocks is left ahead
 * of the reader.
 */
static void ext2_read_ahead(struct inode *ip, struct read_state *r, uint32_t n, uint32_t wanted, uint32_t end)
{
    uint32_t most = buf_run_most(ip->fs->block_size) >> (r->lost + LOST_FOR - 1) / LOST_FOR;
    bool sequential = n == r->next;
    most = most ? most : 1;
    if (!sequential)
        r->window = r->lost = 0;
    if (!sequential || r->asked < n)
        r->asked = n;
    if (!sequential && wanted < 2)
        r->asked = n + 1;
    for (unsigned i = 0; i < 2 && r->asked < end; i++) {
        if (r->asked != n && !(sequential && n + wanted + r->window > r->asked))
            return;
        r->window = sequential ? WINDOW_GROWS * MAX(r->window, wanted) : (wanted + 1) / 2 * 2;
        r->window = MIN(r->window, most);
        ext2_ask(ip, r, end);
    }
}

#define BLOCKS_AT_ONCE 8u /* that a reader holds at the same time; beyond the first only cached ones */

/* Reads the wanted part of this run of blocks, or the beginning of it. */
static int read_blocks(struct inode *ip, struct uio *uio, struct read_state *r, uint32_t block, uint32_t count)
{
    struct ext2 *fs = ip->fs;
    struct buf *bps[BLOCKS_AT_ONCE];
    uint32_t within = uio->offset & (fs->block_size - 1), sector = block * fs->sectors_per_block;
    uint64_t left = ext2_size(ip) - uio->offset;
    left = MIN(left, uio->left);
    count = MIN(count, BLOCKS_AT_ONCE);
    uint32_t got = bread_run(fs->device, sector, fs->block_size, count, bps), error = 0;
    bool alone = !got;
    if (alone) {
        uint32_t n = (uint32_t)(uio->offset >> fs->block_shift);
        if (n < r->asked && r->asked > n + 1) { /* there are more readers than the cache has room for: less for each */
            r->lost = r->lost < 4 * LOST_FOR ? r->lost + LOST_FOR : 5 * LOST_FOR;
            r->asked = n + 1;
        }
        bps[got++] = bread_shared(fs->device, sector, fs->block_size, UINT32_MAX);
        error = bps[0]->error;
    }
    for (uint32_t i = 0; i < got && !error; i++, within = 0) {
        uint32_t part = fs->block_size - within;
        part = part < left ? part : (uint32_t)left;
        error = uio_move(uio, bps[i]->data + within, part);
        left -= part;
    }
    if (alone)
        brelse(bps[0]);
    else
        brelse_run(bps, got);
    return error;
}

static int ext2_read_file(struct inode *ip, struct uio *uio, struct read_state *r)
{
    struct ext2 *fs = ip->fs;
    uint64_t size = ext2_size(ip);
    uint32_t end = (uint32_t)((size + fs->block_size - 1) >> fs->block_shift);
    while (uio->left && uio->offset < size) {
        uint32_t n = uio->offset >> fs->block_shift, within = uio->offset & (fs->block_size - 1), block, count;
        uint32_t left = uio->left < size - uio->offset ? uio->left : (uint32_t)(size - uio->offset);
        uint32_t wanted = (within + left + fs->block_size - 1) >> fs->block_shift;
        int error = look_up(ip, r, n, &block, &count);
        if (error)
            return error;
        if (!block) {
            static const uint8_t zeros[512];
            left = MIN(left, fs->block_size - within);
            error = uio_move(uio, (void *)zeros, MIN(left, sizeof zeros));
        } else {
            ext2_read_ahead(ip, r, n, wanted, end);
            error = read_blocks(ip, uio, r, block, MIN(count, wanted));
        }
        if (error)
            return error;
        r->next = uio->offset >> fs->block_shift;
    }
    return 0;
}

static int ext2_read(struct vnode *vp, struct uio *uio)
{
    struct inode *ip = INODE(vp);
    if (ip->gone)
        return -EIO;
    if (!uio->left) /* its access time stays as it is */
        return 0;
    bool mine = !__atomic_exchange_n(&ip->read_taken, 1, __ATOMIC_ACQUIRE);
    struct read_state state = mine ? ip->reading_on : (struct read_state){.next = UINT32_MAX};
    int error = ext2_read_file(ip, uio, &state);
    if (mine) {
        ip->reading_on = state;
        __atomic_store_n(&ip->read_taken, 0, __ATOMIC_RELEASE);
    }
    if (!error && !ip->fs->mount.read_only)
        __atomic_store_n(&ip->disk.atime, fs_time(), __ATOMIC_RELAXED); /* written with the next change */
    return error;
}

/* Writes `part` bytes from `within` on in one block of a file; `fresh`: it has no contents yet. */
static int write_block(struct inode *ip, struct uio *uio, uint32_t block, bool fresh, uint32_t within, uint32_t part)
{
    struct ext2 *fs = ip->fs;
    bool whole = part == fs->block_size;
    struct buf *bp = fresh || whole ? ext2_getblk(fs, block) : ext2_bread(fs, block);
    if (fresh || (whole && !(bp->flags & B_VALID)))
        memset(bp->data, 0, fs->block_size); /* clears old data, in case the copy ends early */
    int error = bp->error ? bp->error : uio_move(uio, bp->data + within, part);
    if (bp->error)
        brelse(bp);
    else
        bdwrite(bp);
    return error;
}

#define WORTH_A_REQUEST 16u /* fraction of the longest request */

/*
 * Whole consecutive blocks of a file will not change again soon: writing begins when there are enough for a request, or
 * when the next block lies elsewhere, as behind an indirect block (4.4BSD's cluster_write). The rest is a delayed write
 * like any other.
 */
static void written_whole(struct inode *ip, uint32_t block, uint32_t count)
{
    struct ext2 *fs = ip->fs;
    uint32_t most = buf_run_most(fs->block_size), first = ip->delayed_first, n = ip->delayed_count;
    if (block == first + n) {
        n += count;
        uint32_t rest = most ? n % most : 0;
        n -= rest;
        ip->delayed_first = first + n;
        ip->delayed_count = rest;
    } else {
        n = n * WORTH_A_REQUEST < most ? 0 : n;
        ip->delayed_first = block;
        ip->delayed_count = count;
    }
    if (n)
        bawrite_run(fs->device, first * fs->sectors_per_block, fs->block_size, n);
}

/*
 * Writes `count` whole blocks from `block` on. After an error the blocks not reached are zeroed if they are `fresh`, as
 * they may hold another file's old contents; else they are unchanged.
 */
static int ext2_write_blocks(struct inode *ip, struct uio *uio, uint32_t block, uint32_t count, bool fresh)
{
    struct ext2 *fs = ip->fs;
    struct buf *bps[BLOCKS_AT_ONCE];
    int error = 0;
    for (uint32_t done = 0, got; done < count && !(error && !fresh); done += got) {
        uint32_t left = MIN(count - done, BLOCKS_AT_ONCE);
        got = getblk_run(fs->device, (block + done) * fs->sectors_per_block, fs->block_size, left, bps);
        uint32_t changed = 0;
        while (!error && changed < got) {
            error = uio_move(uio, bps[changed]->data, fs->block_size);
            changed += !error;
        }
        for (; error && fresh && changed < got; changed++)
            memset(bps[changed]->data, 0, fs->block_size);
        if (error && changed < got && bps[changed]->flags & B_VALID) /* it has some of the new data */
            changed++;
        bdwrite_run(bps, changed);
        for (uint32_t i = changed; i < got; i++) {
            bps[i]->flags |= bps[i]->flags & B_VALID ? 0 : B_INVAL;
            brelse(bps[i]);
        }
    }
    if (!error)
        written_whole(ip, block, count);
    return error;
}

#if INODES_SHARED
/*
 * A write that changes no size and stays in one block needs the inode for reading only: the buffer's lock serializes
 * writers of the same block (paper `mach`, section 3.3.4). -EAGAIN: it is no such write, and nothing has been done.
 */
static int ext2_overwrite(struct vnode *vp, struct uio *uio)
{
    struct inode *ip = INODE(vp);
    struct ext2 *fs = ip->fs;
    uint32_t within = uio->offset & (fs->block_size - 1), block;
    if (ip->gone || vp->swapped || read_only(ip) || !uio->left || uio->left > fs->block_size - within ||
        uio->offset + uio->left > ext2_size(ip))
        return -EAGAIN;
    int error = ext2_bmap(ip, uio->offset >> fs->block_shift, false, &block, 0, 0);
    if (error || !block)
        return error ? error : -EAGAIN;
    error = write_block(ip, uio, block, false, within, uio->left);
    uint32_t now = fs_time();
    __atomic_store_n(&ip->disk.mtime, now, __ATOMIC_RELAXED);
    __atomic_store_n(&ip->disk.ctime, now, __ATOMIC_RELAXED);
    __atomic_store_n(&ip->dirty, true, __ATOMIC_RELAXED); /* a thread that writes the inode out holds it exclusively */
    return error;
}
#else
#define ext2_overwrite 0
#endif

#define BLOCKS_OF_A_TRANSACTION 32u

/*
 * Writes to block `n` of the file, or, if `part` exceeds the block from `within` on, to several whole ones: in one
 * transaction with their allocation, if they are new.
 */
static int write_part(struct inode *ip, struct uio *uio, uint32_t n, uint32_t within, uint32_t part)
{
    uint32_t block, whole = within ? 0 : part >> ip->fs->block_shift, count = whole, left = uio->left;
    bool fresh;
    int error = ext2_bmap(ip, n, true, &block, &fresh, whole ? &count : 0);
    if (error) {
        if (ip->fs->log)
            ext2_update(ip, false); /* it may have got some indirect blocks */
        return error;
    }
    if (whole)
        error = ext2_write_blocks(ip, uio, block, MIN(count, whole), fresh);
    else
        error = write_block(ip, uio, block, fresh, within, part);
    int e = ext2_has_contents(ip);
    if (!e && uio->left != left && uio->offset > ext2_size(ip)) /* some of many blocks are there, even after an error */
        ext2_set_size(ip, uio->offset);
    error = error ? error : e;
    if (fresh && ip->fs->log) {
        e = ext2_update(ip, false);
        error = error ? error : e;
    }
    return error;
}

static int ext2_write(struct vnode *vp, struct uio *uio, bool append)
{
    struct inode *ip = INODE(vp);
    struct ext2 *fs = ip->fs;
    lock_assert_write_held(&vp->lock);
    if (ip->gone)
        return -EIO;
    if (read_only(ip))
        return -EROFS;
    if (vp->swapped)
        return -ETXTBSY;
    if (!uio->left)
        return 0;
    if (append)
        uio->offset = ext2_size(ip);
    int error = 0;
    uint64_t most = uio->most && uio->most < fs->size_most ? uio->most : fs->size_most;
    if (uio->offset >= most)
        return -EFBIG;
    while (uio->left && !error) {
        uint32_t n = uio->offset >> fs->block_shift, within = uio->offset & (fs->block_size - 1);
        uint32_t part = fs->block_size - within;
        if (!within && uio->left >= 2 * fs->block_size && uio->offset + 2 * fs->block_size <= most) {
            uint32_t whole = uio->left >> fs->block_shift;
            uint64_t room = (most - uio->offset) >> fs->block_shift;
            whole = whole < room ? whole : (uint32_t)room;
            part = MIN(whole, BLOCKS_OF_A_TRANSACTION) << fs->block_shift;
        }
        part = MIN(part, uio->left);
        part = uio->offset + part <= most ? part : (uint32_t)(most - uio->offset);
        if (!part) { /* all that there was room for has been written */
            error = -EFBIG;
            break;
        }
        do {
            error = ext2_begin(fs);
            if (error)
                break;
            error = write_part(ip, uio, n, within, part);
            ext2_end(fs);
        } while (ext2_more_room(fs, error));
    }
    ip->disk.mtime = ip->disk.ctime = fs_time();
    ip->dirty = true;
    if (error && uio->offset >= ext2_size(ip) && !ext2_begin(fs)) {
        ext2_truncate(ip, ext2_size(ip)); /* no blocks behind the end */
        ext2_end(fs);
    }
    return error;
}

static int ext2_truncate_vnode(struct vnode *vp, uint64_t size)
{
    if (read_only(INODE(vp)))
        return -EROFS;
    if (vp->type != VREG)
        return vp->type == VDIR ? -EISDIR : -EINVAL;
    if (vp->swapped)
        return -ETXTBSY;
    int error = ext2_begin(INODE(vp)->fs);
    if (error)
        return error;
    error = ext2_truncate(INODE(vp), size);
    ext2_end(INODE(vp)->fs);
    return error;
}

static int ext2_getattr(struct vnode *vp, struct vattr *attr)
{
    const struct inode *ip = INODE(vp);
    const struct ext2_inode *d = &ip->disk;
    *attr = (struct vattr){vp->type,
                           d->mode,
                           d->links,
                           d->uid | (uint32_t)d->uid_high << 16,
                           d->gid | (uint32_t)d->gid_high << 16,
                           ip->number,
                           ext2_size(ip),
                           d->sectors,
                           ip->fs->block_size,
                           vp->rdev,
                           d->atime,
                           d->mtime,
                           d->ctime};
    return 0;
}

static int ext2_setattr(struct vnode *vp, const struct vattr *attr, unsigned which)
{
    struct inode *ip = INODE(vp);
    struct ext2_inode *d = &ip->disk;
    if (read_only(ip))
        return -EROFS;
    if (which & ATTR_MODE)
        d->mode = (d->mode & MODE_TYPE) | (attr->mode & MODE_BITS);
    if (which & ATTR_OWNER) {
        d->uid = attr->uid, d->uid_high = attr->uid >> 16;
        d->gid = attr->gid, d->gid_high = attr->gid >> 16;
    }
    if (which & ATTR_ATIME)
        d->atime = attr->atime;
    if (which & ATTR_MTIME)
        d->mtime = attr->mtime;
    d->ctime = fs_time();
    ip->dirty = true;
    return ext2_update_alone(ip, false);
}

static int ext2_readdir(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg)
{
    if (vp->type == VDIR && !INODE(vp)->disk.links)
        return -ENOENT; /* removed */
    int error = vp->type == VDIR ? ext2_dir_read(INODE(vp), offset, fn, arg) : -ENOTDIR;
    if (!error && !read_only(INODE(vp)))
        __atomic_store_n(&INODE(vp)->disk.atime, fs_time(), __ATOMIC_RELAXED); /* as read */
    return error;
}

static int ext2_readlink(struct vnode *vp, char *text, uint32_t size)
{
    struct inode *ip = INODE(vp);
    struct ext2 *fs = ip->fs;
    if (vp->type != VLNK)
        return -EINVAL;
    uint32_t length = MIN(ip->disk.size, size), block;
    if (ext2_text_is_in_inode(ip)) {
        if (ip->disk.size >= sizeof ip->disk.block)
            return ext2_error(fs, "symbolic link", ip->number);
        memcpy(text, ip->disk.block, length);
        return length;
    }
    int error = ext2_bmap(ip, 0, false, &block, 0, 0);
    if (error)
        return error;
    if (!block)
        return ext2_error(fs, "symbolic link", ip->number);
    struct buf *bp = ext2_bread_shared(fs, block);
    error = bp->error;
    if (!error)
        memcpy(text, bp->data, length);
    brelse(bp);
    return error ? error : (int)length;
}

static int ext2_fsync(struct vnode *vp)
{
    struct inode *ip = INODE(vp);
    struct ext2 *fs = ip->fs;
    int error = ext2_update_alone(ip, false);
    ext2_return_ahead(fs, ip);
    /* Without a journal, the free counts do not belong to the file: after a power cut they are computed anew. */
    int e = fs->log ? ext2_commit(fs) : bflush_cache(fs->device);
    error = error ? error : e;
    /*
     * Which file a lost write belonged to is not known: each file in memory at that time reports it once, to the first
     * caller (as Linux' errseq_t).
     */
    uint32_t lost = __atomic_load_n(&fs->device->lost_writes, __ATOMIC_ACQUIRE);
    bool more = __atomic_exchange_n(&ip->lost_seen, lost, __ATOMIC_RELAXED) != lost;
    return error ? error : more ? -EIO : 0;
}

static int ext2_place(struct vnode *vp, uint32_t n, struct blockdev **device, uint32_t *sector)
{
    struct ext2 *fs = INODE(vp)->fs;
    uint32_t block;
    int error = INODE(vp)->gone ? -EIO : ext2_bmap(INODE(vp), n, false, &block, 0, 0);
    if (error)
        return error;
    *device = fs->device;
    *sector = block * fs->sectors_per_block;
    return block ? 0 : -EINVAL;
}

const struct vnodeops ext2_vnodeops = {
    .lookup = ext2_lookup,
    .create = ext2_create,
    .link = ext2_link,
    .remove = ext2_remove,
    .rename = ext2_rename,
    .read = ext2_read,
    .write = ext2_write,
    .truncate = ext2_truncate_vnode,
    .getattr = ext2_getattr,
    .setattr = ext2_setattr,
    .readdir = ext2_readdir,
    .readlink = ext2_readlink,
    .fsync = ext2_fsync,
    .hold = ext2_hold,
    .release = ext2_release,
    .overwrite = ext2_overwrite,
    .place = ext2_place,
};
