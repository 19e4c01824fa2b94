/* ext2: maps a file's blocks to the device's (ext2.h). */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "lib/compiler.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"

#define RUN_LOOKED_AT RUN_MOST /* as many blocks as the longest request has */

/* The path to block `n` of a file: the pointer in the inode, and the index in each indirect block below it. */
struct way {
    unsigned pointer, levels;
    uint32_t place[3];
};

static bool way_to(const struct ext2 *fs, uint32_t n, struct way *way)
{
    uint32_t shift = fs->block_shift - 2, mask = (1u << shift) - 1;
    *way = (struct way){.pointer = n};
    if (n < EXT2_DIRECT)
        return true;
    n -= EXT2_DIRECT;
    for (unsigned levels = 1; levels <= 3; levels++) {
        uint64_t size = 1ull << shift * levels;
        if (n < size) {
            way->pointer = EXT2_DIRECT + levels - 1;
            way->levels = levels;
            for (unsigned i = 0; i < levels; i++)
                way->place[i] = n >> shift * (levels - 1 - i) & mask;
            return true;
        }
        n -= size;
    }
    return false;
}

/* Limited by block numbers and by an inode's count of sectors, which have 32 bits. */
uint64_t ext2_size_limit(const struct ext2 *fs)
{
    uint64_t per = fs->block_size / 4, blocks = EXT2_DIRECT + per + per * per + per * per * per;
    uint64_t by_sectors = 0xffffffffull / fs->sectors_per_block - per - 3;
    return MIN(blocks, by_sectors) << fs->block_shift;
}

/* Allocates blocks for the inode, up to *count; for pointers one, zeroed on the device. */
static int bmap_allocate(struct inode *ip, bool pointers, uint32_t *block, uint32_t *count)
{
    struct ext2 *fs = ip->fs;
    /* Reserves for a file that goes on growing as many blocks again as it has, up to the size of one request. */
    uint32_t ahead = ip->v.type == VREG && ip->append.last_allocated ? ip->disk.sectors / fs->sectors_per_block : 0;
    uint32_t most = buf_run_most(fs->block_size);
    int error = ext2_balloc(fs, ext2_goal(ip), MIN(ahead, most), block, count);
    if (error)
        return error;
    ip->append.last_allocated = *block + *count - 1;
    ip->disk.sectors += *count * fs->sectors_per_block;
    ip->dirty = true;
    if (!pointers)
        return 0;
    struct buf *bp = ext2_getblk(fs, *block);
    memset(bp->data, 0, fs->block_size);
    error = ext2_meta(fs, bp, true); /* before a pointer to it is written */
    if (error) {
        ext2_bfree(fs, *block, true);
        ip->disk.sectors -= fs->sectors_per_block;
    }
    return error;
}

/*
 * How many of the pointers from `p` on, before `end`, lead to consecutive blocks, or all to none; reads at most
 * `most`.
 */
static uint32_t in_a_row(const uint32_t *p, const uint32_t *end, uint32_t most)
{
    uint32_t n = 1, step = *p != 0;
    while (p + n < end && n < most && p[n] == *p + n * step)
        n++;
    return n;
}

/*
 * The pointer at `place` of the indirect block `in`; in *run, if not null, how many from there on, up to the value it
 * had, lead to consecutive blocks.
 */
static int pointer(struct ext2 *fs, uint32_t in, uint32_t place, uint32_t *at, uint32_t *run)
{
    struct buf *bp = ext2_bread_shared(fs, in);
    int error = bp->error;
    *at = 0;
    if (!error) {
        const uint32_t *p = (const uint32_t *)bp->data;
        *at = p[place];
        if (run)
            *run = in_a_row(p + place, p + fs->block_size / 4, *run);
    }
    brelse(bp);
    return error;
}

/* Sets the `count` pointers from `place` on to consecutive blocks; or one to 0. */
static int set_pointers(struct ext2 *fs, uint32_t in, uint32_t place, uint32_t block, uint32_t count)
{
    struct buf *bp = ext2_bread(fs, in);
    int error = bfailed(bp);
    if (error)
        return error;
    for (uint32_t i = 0; i < count; i++)
        ((uint32_t *)bp->data)[place + i] = block + i;
    if (block && !fs->log)
        bpoints(bp);
    return ext2_meta(fs, bp, false);
}

/* Frees a block that no pointer leads to yet. */
static void take_back(struct inode *ip, uint32_t block, bool meta)
{
    ext2_bfree(ip->fs, block, meta);
    ip->disk.sectors -= ip->fs->sectors_per_block;
}

static bool contents_are_meta(const struct inode *ip)
{
    return ip->v.type != VREG;
}

int ext2_set_pointers(struct inode *ip)
{
    struct pointer_to_set it = ip->append.to_set;
    ip->append.to_set.in = 0;
    int error = it.in ? set_pointers(ip->fs, it.in, it.place, it.block, it.count) : 0;
    for (uint32_t i = 0; error && i < it.count; i++)
        take_back(ip, it.block + i, contents_are_meta(ip));
    if (error) {
        ip->reading_on.count = 0;
        ip->lost_seen = __atomic_load_n(&ip->fs->device->lost_writes, __ATOMIC_RELAXED) - 1; /* fsync reports it */
    }
    return error;
}

int ext2_has_contents(struct inode *ip)
{
    return ip->fs->log || contents_are_meta(ip) ? ext2_set_pointers(ip) : 0;
}

/* Adds to `to_set` if the new pointers continue those in it; else sets those first. */
static int add_pointers(struct inode *ip, uint32_t in, uint32_t place, uint32_t block, uint32_t count)
{
    struct pointer_to_set *s = &ip->append.to_set;
    if (s->in && s->in == in && s->place + s->count == place && s->block + s->count == block) {
        s->count += count;
        return 0;
    }
    int error = ext2_set_pointers(ip);
    if (!error)
        *s = (struct pointer_to_set){in, place, block, count};
    return error;
}

/*
 * The block that the path leads to, or 0. *run: how many blocks from there on are consecutive, up to the value it
 * had.
 */
static int bmap_lookup(struct inode *ip, const struct way *way, uint32_t *at, uint32_t *run)
{
    struct ext2 *fs = ip->fs;
    const struct pointer_to_set *s = &ip->append.to_set;
    uint32_t most = *run;
    *at = ip->disk.block[way->pointer];
    if (!way->levels)
        *run = in_a_row(&ip->disk.block[way->pointer], &ip->disk.block[EXT2_DIRECT], most);
    for (unsigned level = 0; *at && level < way->levels; level++) {
        if (!ext2_is_data_block(fs, *at))
            return ext2_error(fs, "block pointer", *at);
        bool lowest = level + 1 == way->levels;
        uint32_t in = *at, among = way->place[level] - s->place;
        *run = most;
        if (lowest && in == s->in && among < s->count) { /* its pointer is still to be set */
            *at = s->block + among;
            *run = MIN(s->count - among, most);
            break;
        }
        int error = pointer(fs, in, way->place[level], at, lowest ? run : 0);
        if (error)
            return error;
    }
    return !*at || ext2_is_data_block(fs, *at) ? 0 : ext2_error(fs, "block pointer", *at);
}

/*
 * The pointer at `place` of `in`, the lowest indirect block on the path of an append; *count: how many from there on
 * continue it, up to `most`.
 */
static int bmap_lowest(struct inode *ip, uint32_t in, uint32_t place, uint32_t most, uint32_t *at, uint32_t *count)
{
    struct append *a = &ip->append;
    if (in == a->empty_in && place == a->empty_place && a->empty_count) {
        *at = 0;
        *count = MIN(most, a->empty_count);
        return 0;
    }
    int error = ext2_set_pointers(ip);
    *count = RUN_LOOKED_AT;
    if (!error)
        error = pointer(ip->fs, in, place, at, count);
    if (error)
        return error;
    if (!*at) {
        a->empty_in = in;
        a->empty_place = place;
        a->empty_count = *count;
    }
    *count = MIN(*count, most);
    return 0;
}

/*
 * Allocates blocks where the path's pointer of `level`, in block `in`, is 0: one for pointers, or *count for
 * contents.
 */
static int bmap_add(struct inode *ip, const struct way *way, unsigned level, uint32_t in, uint32_t *at, uint32_t *count)
{
    bool last = level == way->levels;
    if (!last)
        *count = 1;
    int error = bmap_allocate(ip, !last, at, count);
    if (error)
        return error;
    if (!level) {
        for (uint32_t i = 0; i < *count; i++)
            ip->disk.block[way->pointer + i] = *at + i;
        ip->grown = true;
        return 0;
    }
    if (last) {
        ip->append.empty_place += *count;
        ip->append.empty_count -= *count;
        error = add_pointers(ip, in, way->place[level - 1], *at, *count);
    } else {
        error = set_pointers(ip->fs, in, way->place[level - 1], *at, 1);
    }
    for (uint32_t i = 0; error && i < *count; i++)
        take_back(ip, *at + i, !last || contents_are_meta(ip));
    return error;
}

/* As bmap_lookup, but allocates blocks where there are none: *fresh. */
static int bmap_extend(struct inode *ip, const struct way *way, uint32_t *at, bool *fresh, uint32_t *run)
{
    struct ext2 *fs = ip->fs;
    uint32_t most = *run, in = 0;
    *at = ip->disk.block[way->pointer];
    if (!way->levels)
        *run = in_a_row(&ip->disk.block[way->pointer], &ip->disk.block[EXT2_DIRECT], most);
    for (unsigned level = 0;; level++) {
        int error = 0;
        *fresh = !*at;
        if (*fresh)
            error = bmap_add(ip, way, level, in, at, run);
        else if (!ext2_is_data_block(fs, *at))
            error = ext2_error(fs, "block pointer", *at);
        if (error || level == way->levels)
            return error;
        in = *at;
        if (level + 1 == way->levels)
            error = bmap_lowest(ip, in, way->place[level], most, at, run);
        else
            error = pointer(fs, in, way->place[level], at, 0);
        if (error)
            return error;
    }
}

static COLD int bmap(struct inode *ip, uint32_t n, bool alloc, uint32_t *block, bool *fresh, uint32_t *run)
{
    struct way way;
    uint32_t at = 0, count = !run ? 1 : alloc ? *run : RUN_LOOKED_AT;
    bool is_new = false;
    *block = 0;
    if (fresh)
        *fresh = false;
    if (run)
        *run = 0;
    if (!way_to(ip->fs, n, &way))
        return -EFBIG;
    int error = alloc ? bmap_extend(ip, &way, &at, &is_new, &count) : bmap_lookup(ip, &way, &at, &count);
    if (error || !at)
        return error;
    *block = at;
    if (fresh)
        *fresh = is_new;
    if (run)
        *run = ext2_data_blocks(ip->fs, at, count);
    return 0;
}

/* The inode itself has the first pointers. */
int ext2_bmap(struct inode *ip, uint32_t n, bool alloc, uint32_t *block, bool *fresh, uint32_t *run)
{
    uint32_t at = n < EXT2_DIRECT ? ip->disk.block[n] : 0;
    if (!at || run || !ext2_is_data_block(ip->fs, at))
        return bmap(ip, n, alloc, block, fresh, run);
    *block = at;
    if (fresh)
        *fresh = false;
    return 0;
}

/* Frees `block` and all blocks below it; no pointer leads to it any more. */
static int free_tree(struct inode *ip, uint32_t block, unsigned levels)
{
    struct ext2 *fs = ip->fs;
    if (!ext2_is_data_block(fs, block))
        return ext2_error(fs, "block pointer", block);
    for (uint32_t i = 0; levels && i < fs->block_size / 4; i++) {
        uint32_t child;
        int e = pointer(fs, block, i, &child, 0);
        if (e)
            return e; /* blocks that cannot be found stay allocated */
        if (child && (e = free_tree(ip, child, levels - 1)))
            return e; /* a tree that leads into itself has too many pointers to follow all */
    }
    ip->disk.sectors -= fs->sectors_per_block;
    return ext2_bfree(fs, block, levels || contents_are_meta(ip));
}

#define BATCH 32
#define BATCH_LOGGED 12 /* each may be in a different group */

/*
 * Moves up to `most` pointers of the indirect block `in`, from index *i on, into `batch`, and sets them to 0. Returns
 * how many, or an error.
 */
static int take_pointers(struct ext2 *fs, uint32_t in, uint32_t *i, uint32_t batch[], uint32_t most)
{
    uint32_t n = 0, per = fs->block_size / 4;
    struct buf *bp = ext2_bread(fs, in);
    int error = bp->error;
    uint32_t *pointers = (uint32_t *)bp->data;
    for (; !error && *i < per && n < most; ++*i)
        if (pointers[*i]) {
            batch[n++] = pointers[*i];
            pointers[*i] = 0;
        }
    if (n)
        error = ext2_meta(fs, bp, true);
    else
        brelse(bp);
    return error ? error : (int)n;
}

/*
 * As free_tree, for the blocks of a tree from block number `from` of the file on; the tree begins with `first`, before
 * it. Pointers are cleared on the device before the blocks that they led to are freed.
 */
static int free_part(struct inode *ip, uint32_t block, unsigned levels, uint64_t first, uint64_t from)
{
    struct ext2 *fs = ip->fs;
    uint32_t per = fs->block_size / 4;
    uint64_t below = 1; /* blocks under each pointer */
    for (unsigned i = 1; i < levels; i++)
        below *= per;
    if (!ext2_is_data_block(fs, block))
        return ext2_error(fs, "block pointer", block);
    int error = 0;
    uint32_t i = (from - first) / below, child;
    if ((from - first) % below) { /* one child is cut in part */
        error = pointer(fs, block, i++, &child, 0);
        if (!error && child)
            error = free_part(ip, child, levels - 1, first + (i - 1) * below, from);
    }
    while (i < per) {
        uint32_t batch[BATCH];
        int n = take_pointers(fs, block, &i, batch, BATCH), e = n < 0 ? n : n ? ext2_line(fs) : 0;
        if (n < 0)
            return n;
        for (int k = 0; k < n && !e; k++)
            e = free_tree(ip, batch[k], levels - 1);
        error = error ? error : e;
    }
    return error;
}

/* Zeroes the rest of the last block, so that a file that grows again shows no old contents. */
static int clear_behind(struct inode *ip, uint64_t size)
{
    struct ext2 *fs = ip->fs;
    uint32_t within = size & (fs->block_size - 1), block;
    if (!within)
        return 0;
    int error = ext2_bmap(ip, size >> fs->block_shift, false, &block, 0, 0);
    if (error || !block)
        return error;
    struct buf *bp = ext2_bread(fs, block);
    error = bfailed(bp);
    if (error)
        return error;
    memset(bp->data + within, 0, fs->block_size - within);
    bdwrite(bp);
    return 0;
}

/*
 * Reads the indirect blocks below `block`, the root of a tree that begins with block number `first` of the file, that a
 * cut at `from` reads: so a read error is known before anything has changed. `left`: so many blocks are read, more
 * cannot belong to one file.
 */
static int read_first(struct ext2 *fs, uint32_t block, unsigned levels, uint64_t first, uint64_t from, uint32_t *left)
{
    uint32_t per = fs->block_size / 4, child;
    uint64_t below = 1;
    for (unsigned i = 1; i < levels; i++)
        below *= per;
    if (!ext2_is_data_block(fs, block) || !(*left)--)
        return ext2_error(fs, "block pointer", block);
    uint32_t i = from > first ? (uint32_t)((from - first) / below) : 0;
    int error = 0;
    if (levels == 1)
        return pointer(fs, block, 0, &child, 0);
    for (; i < per && !error; i++) {
        error = pointer(fs, block, i, &child, 0);
        if (!error && child)
            error = read_first(fs, child, levels - 1, first + i * below, from, left);
    }
    return error;
}

/* A short symbolic link has its text in place of the pointers; devices have their number there. */
static bool has_blocks(const struct inode *ip)
{
    return ip->v.type == VREG || ip->v.type == VDIR || (ip->v.type == VLNK && !ext2_text_is_in_inode(ip));
}

/* With a journal: commits what has been cut so far, if there is no room in the transaction for more. */
static int pause(struct inode *ip)
{
    struct ext2 *fs = ip->fs;
    if (!ext2_is_full(fs))
        return 0;
    ip->dirty = true;
    int error = ext2_update(ip, false);
    if (!ip->orphan)
        ext2_orphan_add(ip); /* the rest must be freed after a crash, too */
    int e = ext2_go_on(fs);
    return error ? error : e;
}

static int free_logged(struct inode *ip, uint32_t block, bool meta)
{
    if (!ext2_is_data_block(ip->fs, block))
        return ext2_error(ip->fs, "block pointer", block);
    ip->disk.sectors -= ip->fs->sectors_per_block;
    ip->dirty = true;
    return ext2_bfree(ip->fs, block, meta);
}

/*
 * With a journal: frees all blocks from block number `from` of the file on below `block`, a tree's root that begins
 * with `first`. Each step leaves the tree whole: a freed block has no pointer, and one with a pointer is not free.
 */
static int bmap_empty(struct inode *ip, uint32_t block, unsigned levels, uint64_t first, uint64_t from)
{
    struct ext2 *fs = ip->fs;
    uint32_t per = fs->block_size / 4, child;
    uint64_t below = 1;
    for (unsigned i = 1; i < levels; i++)
        below *= per;
    if (!ext2_is_data_block(fs, block))
        return ext2_error(fs, "block pointer", block);
    uint32_t i = from > first ? (uint32_t)((from - first) / below) : 0;
    int error = 0;
    for (; levels > 1 && i < per && !error; i++) {
        uint64_t begins = first + i * below;
        error = pointer(fs, block, i, &child, 0);
        if (error || !child)
            continue;
        error = bmap_empty(ip, child, levels - 1, begins, from);
        if (!error && begins >= from && !(error = set_pointers(fs, block, i, 0, 1)))
            error = free_logged(ip, child, true);
        if (!error)
            error = pause(ip);
    }
    while (levels == 1 && i < per && !error) {
        uint32_t batch[BATCH_LOGGED];
        int n = take_pointers(fs, block, &i, batch, BATCH_LOGGED);
        error = n < 0 ? n : 0;
        for (int k = 0; k < n && !error; k++)
            error = free_logged(ip, batch[k], contents_are_meta(ip));
        if (!error)
            error = pause(ip);
    }
    return error;
}

/* Frees the blocks behind the new end, with a journal. first[i]: the block number that pointer i begins with. */
static int cut_logged(struct inode *ip, uint64_t from, const uint64_t first[])
{
    int error = ext2_update(ip, false);
    for (unsigned i = EXT2_POINTERS; i-- > 0 && !error;) {
        uint32_t block = ip->disk.block[i];
        if (!block || first[i + 1] <= from)
            continue;
        if (i >= EXT2_DIRECT)
            error = bmap_empty(ip, block, i - EXT2_DIRECT + 1, first[i], from);
        if (!error && first[i] >= from) {
            ip->disk.block[i] = 0;
            error = free_logged(ip, block, i >= EXT2_DIRECT || contents_are_meta(ip));
        }
        if (!error)
            error = pause(ip);
    }
    if (error)
        ext2_keeps(ip->fs, "inode", ip->number);
    ip->dirty = true;
    int e = ext2_update(ip, false);
    if (ip->disk.links && ip->orphan && !error)
        ext2_orphan_remove(ip);
    else if (ip->disk.links)
        ext2_orphan_forget(ip); /* the next mount continues */
    return error ? error : e;
}

int ext2_truncate(struct inode *ip, uint64_t size)
{
    struct ext2 *fs = ip->fs;
    lock_assert_write_held(&ip->v.lock);
    if (size > fs->size_most)
        return -EFBIG;
    ip->reading_on = (struct read_state){0}; /* a reader would hold the lock for reading, so there is none */
    uint64_t before = ext2_size(ip), from = (size + fs->block_size - 1) >> fs->block_shift;
    int error = 0;
    bool cuts =
        size <= before && has_blocks(ip) && ip->disk.sectors; /* the same size: a write that ended early left blocks */
    uint64_t first[EXT2_POINTERS + 1] = {0}, span = 1;
    uint32_t left = fs->super.blocks;
    for (unsigned i = 0; i < EXT2_POINTERS; i++) {
        if (i >= EXT2_DIRECT)
            span *= fs->block_size / 4;
        first[i + 1] = first[i] + span;
        if (cuts && i >= EXT2_DIRECT && ip->disk.block[i] && first[i + 1] > from && !error)
            error = read_first(fs, ip->disk.block[i], i - EXT2_DIRECT + 1, first[i], from, &left);
    }
    if (has_blocks(ip) && size < before && !error)
        error = clear_behind(ip, size);
    if (error)
        return error;
    ext2_set_size(ip, size);
    ip->disk.mtime = ip->disk.ctime = fs_time();
    if (!cuts)
        return 0;
    ip->append.last_allocated = ip->append.empty_count = 0;
    if (fs->log)
        return cut_logged(ip, from, first);
    /* The inode without the blocks is written first; only then may they become another file's. */
    uint32_t pointers[EXT2_POINTERS];
    memcpy(pointers, ip->disk.block, sizeof pointers);
    for (unsigned i = 0; i < EXT2_POINTERS; i++)
        if (first[i] >= from)
            ip->disk.block[i] = 0;
    error = ext2_update(ip, true); /* sets all pointers first, which lead to blocks that are freed then */
    if (!error)
        error = ext2_line(fs);
    if (error) { /* on the device the blocks are still its own */
        memcpy(ip->disk.block, pointers, sizeof pointers);
        ext2_set_size(ip, before);
        return error;
    }
    for (unsigned i = 0; i < EXT2_POINTERS; i++) {
        unsigned levels = i < EXT2_DIRECT ? 0 : i - EXT2_DIRECT + 1;
        int e = 0;
        if (pointers[i] && first[i] >= from)
            e = free_tree(ip, pointers[i], levels);
        else if (pointers[i] && first[i + 1] > from)
            e = free_part(ip, pointers[i], levels, first[i], from);
        error = error ? error : e;
    }
    if (error)
        ext2_keeps(fs, "inode", ip->number);
    ip->dirty = true;
    return error;
}
