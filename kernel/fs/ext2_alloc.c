/*
 * ext2: allocation of blocks and inodes (ext2.h). A group's bitmaps are authoritative; the free counts kept in memory
 * beside them decide only where to search.
 */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/page.h"

static void alloc_enter(struct ext2 *fs, uint32_t group)
{
#if ALLOC_GROUPS
    table_lock(&fs->group[group]->lock);
#else
    (void)group;
    table_lock(&fs->disk_alloc_lock);
#endif
}

static void alloc_leave(struct ext2 *fs, uint32_t group)
{
#if ALLOC_GROUPS
    table_unlock(&fs->group[group]->lock);
#else
    (void)group;
    table_unlock(&fs->disk_alloc_lock);
#endif
}

/* Never below 0, even with a damaged image: such a count could not be mounted any more. */
static uint32_t ext2_alloc_moved(uint32_t count, int by)
{
    return by < 0 && count < (uint32_t)-by ? 0 : count + (uint32_t)by;
}

/* Adds to the free counts of the group and of the file system. */
static void ext2_alloc_count(struct ext2 *fs, uint32_t group, int blocks, int inodes, int directories)
{
    struct group *g = fs->group[group];
    crit_t s = simple_lock_enter(&fs->counts_lock);
    g->disk.free_blocks = ext2_alloc_moved(g->disk.free_blocks, blocks);
    g->disk.free_inodes = ext2_alloc_moved(g->disk.free_inodes, inodes);
    g->disk.directories = ext2_alloc_moved(g->disk.directories, directories);
    fs->super.free_blocks = ext2_alloc_moved(fs->super.free_blocks, blocks);
    fs->super.free_inodes = ext2_alloc_moved(fs->super.free_inodes, inodes);
    g->dirty = fs->super_dirty = true;
    simple_lock_leave(&fs->counts_lock, s);
}

static bool is_set(const uint8_t *map, uint32_t n)
{
    return map[n / 8] & 1 << n % 8;
}

/* The first bit of [from, end) that is clear, or `end`. */
static uint32_t first_clear(const uint8_t *map, uint32_t from, uint32_t end)
{
    while (from < end && is_set(map, from)) {
        if (from % 8 == 0)
            while (from + 8 <= end && map[from / 8] == 0xff)
                from += 8;
        if (from < end && is_set(map, from))
            from++;
    }
    return from;
}

/* The first of 8 free ones in a row, so that a growing file stays together, or else the first free one; or `end`. */
static uint32_t choose(const uint8_t *map, uint32_t goal, uint32_t end)
{
    uint32_t near = MIN(goal + 32, end), found = first_clear(map, goal, near);
    if (found < near)
        return found;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t byte = turn ? 0 : goal / 8 + 1, last = turn ? goal / 8 + 1 : end / 8;
             byte < last && byte < end / 8; byte++)
            if (!map[byte])
                return byte * 8;
    found = first_clear(map, goal, end);
    if (found < end)
        return found;
    found = first_clear(map, 0, goal);
    return found < goal ? found : end;
}

#define PASSED_MOST 4u /* allocations for other files, after which reserved blocks are freed */

/* Frees the reserved blocks that were not requested; `bp` has the group's bitmap. */
static void unmark_ahead(struct group *g, struct buf *bp)
{
    for (; g->ahead_count; g->ahead_count--, g->ahead++)
        bp->data[g->ahead / 8] &= ~(1 << g->ahead % 8);
}

/* How many of `most` bits from `bit` on are reserved for a request that starts there; allocates them. */
static uint32_t take_ahead(struct group *g, uint32_t bit, uint32_t most)
{
    if (!g->ahead_count || bit != g->ahead)
        return 0;
    uint32_t n = MIN(most, g->ahead_count);
    g->ahead += n;
    g->ahead_count -= n;
    g->passed = 0;
    return n;
}

/*
 * Whether the bitmap in `bp`, of which `clear` of `bits` should be clear, is outdated: its buffer is forgotten when its
 * write fails, and the copy on the device then shows blocks as free that are a file's by now. Nothing is allocated from
 * such a bitmap any more.
 */
static bool is_older(struct ext2 *fs, const struct buf *bp, uint32_t bits, uint32_t clear, uint32_t *lost_seen)
{
    uint32_t lost = __atomic_load_n(&fs->device->lost_writes, __ATOMIC_ACQUIRE);
    if (*lost_seen == lost || fs->log) /* a log keeps blocks that could not be written (log_needed) */
        return false;
    for (uint32_t i = 0; i < bits; i++)
        clear -= !is_set(bp->data, i);
    if (!clear)
        *lost_seen = lost;
    else
        ext2_error(fs, "bitmap that could not be written, block", bp->sector / fs->sectors_per_block);
    return clear != 0;
}

/*
 * Marks a free bit of a bitmap of `of`, which has `end` bits, in *bit, and free bits that follow it, at most *count in
 * all; sets *count to their number; -ENOSPC. With the group's allocation lock held. `blocks`: a bitmap of blocks, not
 * of inodes; bit 0 stands for `base`. Then a block must be free in of->held, too, if there is one; a block that is no
 * data block ends the row; and up to `ahead` further bits are reserved for the next request.
 */
static int ext2_alloc_take(struct ext2 *fs, struct group *of, bool blocks, uint32_t goal, uint32_t end, uint32_t base,
                           uint32_t ahead, uint32_t *bit, uint32_t *count)
{
    struct group *g = blocks ? of : 0;
    struct buf *bp = ext2_bread(fs, blocks ? of->disk.block_bitmap : of->disk.inode_bitmap);
    int error = bfailed(bp);
    if (error)
        return error;
    if (is_older(fs, bp, end, blocks ? of->disk.free_blocks - of->ahead_count : of->disk.free_inodes,
                 &of->lost_seen[blocks])) {
        brelse(bp);
        return -ENOSPC;
    }
    uint8_t *held = g ? g->held : 0;
    const uint8_t *map = held ? held : bp->data;
    if (g && g->ahead_count && g->passed++ == PASSED_MOST)
        unmark_ahead(g, bp);
    uint32_t first = choose(map, goal < end ? goal : 0, end), n = 1, most = *count;
    if (first >= end && g && g->ahead_count) {
        unmark_ahead(g, bp);
        first = choose(map, goal < end ? goal : 0, end);
    }
    if (first >= end) {
        brelse(bp);
        return -ENOSPC;
    }
    ahead = g && !g->ahead_count && !fs->log ? ahead : 0;
    uint32_t all = most + ahead;
    if (all > 1)
        all = ext2_is_data_block(fs, base + first) ? ext2_data_blocks(fs, base + first, all) : 1;
    while (n < all && first + n < end && !is_set(map, first + n))
        n++;
    *count = MIN(n, most);
    if (n > most) {
        g->ahead = first + most;
        g->ahead_count = n - most;
        g->passed = 0;
    }
    for (uint32_t i = first; i < first + n; i++) {
        bp->data[i / 8] |= 1 << i % 8;
        if (held)
            held[i / 8] |= 1 << i % 8;
    }
    *bit = first;
    bp->flags |= B_LAST;
    return ext2_meta(fs, bp, false);
}

/* Freed blocks are held until the transaction is committed: until then a crash gives them back to their file. */
static int ext2_alloc_hold(struct ext2 *fs, struct group *g, const struct buf *bp)
{
    if (!fs->log || g->held)
        return 0;
    uint32_t page = page_alloc_raw();
    if (!page)
        return -ENOMEM;
    g->held = page_pointer(page);
    memcpy(g->held, bp->data, fs->block_size);
    return 0;
}

/* Clears a bit; -EIO if it was clear. `g`: for blocks, which are held. */
static int ext2_alloc_give_back(struct ext2 *fs, uint32_t block, struct group *g, uint32_t bit)
{
    struct buf *bp = ext2_bread(fs, block);
    int error = bp->error;
    if (!error && !is_set(bp->data, bit))
        error = -EIO;
    if (!error && g)
        error = ext2_alloc_hold(fs, g, bp);
    if (error) {
        brelse(bp);
        return error;
    }
    bp->data[bit / 8] &= ~(1 << bit % 8);
    bp->flags |= B_LAST;
    return ext2_meta(fs, bp, false);
}

int ext2_balloc(struct ext2 *fs, uint32_t goal, uint32_t ahead, uint32_t *block, uint32_t *blocks)
{
    const struct ext2_super *s = &fs->super;
    if (goal < s->first_data_block || goal >= s->blocks)
        goal = s->first_data_block;
    uint32_t group = (goal - s->first_data_block) / s->blocks_per_group;
    uint32_t within = (goal - s->first_data_block) % s->blocks_per_group;
    for (uint32_t i = 0; i < fs->groups; i++, group = (group + 1) % fs->groups, within = 0) {
        if (!fs->group[group]->disk.free_blocks) /* read without the lock: it decides only where to search */
            continue;
        alloc_enter(fs, group);
        struct group *g = fs->group[group];
        uint32_t bit = within, base = s->first_data_block + group * s->blocks_per_group,
                 n = take_ahead(g, bit, *blocks);
        int error = 0;
        bool are_data = n;
        if (!n) {
            n = *blocks;
            error = ext2_alloc_take(fs, g, true, within, ext2_blocks_in(fs, group), base, ahead, &bit, &n);
        }
        if (!error)
            ext2_alloc_count(fs, group, -(int)n, 0, 0);
        alloc_leave(fs, group);
        if (error == -ENOSPC)
            continue;
        if (error)
            return error;
        *block = base + bit;
        if (are_data || ext2_is_data_block(fs, *block)) {
            *blocks = n;
            return 0;
        }
        ext2_error(fs, "block bitmap of group", group); /* the bitmap shows a block of metadata as free */
        i--, group = group + fs->groups - 1; /* which is marked now: search again */
        group %= fs->groups;
    }
    return -ENOSPC;
}

int ext2_return_ahead(struct ext2 *fs, const struct inode *ip)
{
    const struct ext2_super *s = &fs->super;
    uint32_t goal = ip ? ext2_goal(ip) - s->first_data_block : 0, first = goal / s->blocks_per_group;
    int error = 0;
    for (uint32_t i = ip ? first : 0; i < (ip ? first + 1 : fs->groups) && i < fs->groups; i++) {
        struct group *g = fs->group[i];
        if (!__atomic_load_n(&g->ahead_count, __ATOMIC_RELAXED))
            continue;
        alloc_enter(fs, i);
        if (g->ahead_count && (!ip || g->ahead == goal % s->blocks_per_group)) {
            struct buf *bp = ext2_bread(fs, g->disk.block_bitmap);
            int e = bfailed(bp);
            if (!e) {
                unmark_ahead(g, bp);
                bp->flags |= B_LAST;
                bdwrite(bp);
            }
            error = error ? error : e;
        }
        alloc_leave(fs, i);
    }
    return error;
}

int ext2_bfree(struct ext2 *fs, uint32_t block, bool meta)
{
    if (!ext2_is_data_block(fs, block))
        return ext2_error(fs, "block", block);
    if (meta)
        ext2_forget_meta(fs, block);
    uint32_t n = block - fs->super.first_data_block, group = n / fs->super.blocks_per_group;
    alloc_enter(fs, group);
    int error =
        ext2_alloc_give_back(fs, fs->group[group]->disk.block_bitmap, fs->group[group], n % fs->super.blocks_per_group);
    if (!error)
        ext2_alloc_count(fs, group, 1, 0, 0);
    alloc_leave(fs, group);
    return error == -EIO ? ext2_error(fs, "free block", block) : error;
}

/*
 * The group for a new inode: for a directory, one with more than its share of free inodes that has the fewest
 * directories (4.3BSD's dirpref); for any other file, its directory's.
 */
static uint32_t inode_group(const struct ext2 *fs, const struct inode *parent, bool directory)
{
    uint32_t beside = parent ? (parent->number - 1) / fs->super.inodes_per_group : 0;
    if (!directory)
        return beside;
    uint32_t share = fs->super.free_inodes / fs->groups, best = beside, fewest = UINT32_MAX;
    for (uint32_t i = 0; i < fs->groups; i++) {
        const struct ext2_group *g = &fs->group[i]->disk;
        if (g->free_inodes && g->free_inodes >= share && g->free_blocks && g->directories < fewest) {
            best = i;
            fewest = g->directories;
        }
    }
    return best;
}

int ext2_ialloc(struct ext2 *fs, const struct inode *parent, bool directory, uint32_t *number)
{
    uint32_t group = inode_group(fs, parent, directory);
    for (uint32_t i = 0; i < fs->groups; i++, group = (group + 1) % fs->groups) {
        if (!fs->group[group]->disk.free_inodes)
            continue;
        alloc_enter(fs, group);
        uint32_t bit, one = 1;
        uint32_t first = group ? 0 : fs->first_inode - 1; /* the inodes below are reserved for the file system */
        int error = ext2_alloc_take(fs, fs->group[group], false, first, fs->super.inodes_per_group, 0, 0, &bit, &one);
        if (!error)
            ext2_alloc_count(fs, group, 0, -1, directory);
        alloc_leave(fs, group);
        if (error == -ENOSPC)
            continue;
        if (error)
            return error;
        *number = group * fs->super.inodes_per_group + bit + 1;
        if (*number >= fs->first_inode)
            return 0;
        ext2_error(fs, "inode bitmap of group", group);
        i--, group = (group + fs->groups - 1) % fs->groups;
    }
    return -ENOSPC;
}

int ext2_ifree(struct ext2 *fs, uint32_t number, bool directory)
{
    uint32_t group = (number - 1) / fs->super.inodes_per_group;
    alloc_enter(fs, group);
    int error =
        ext2_alloc_give_back(fs, fs->group[group]->disk.inode_bitmap, 0, (number - 1) % fs->super.inodes_per_group);
    if (!error)
        ext2_alloc_count(fs, group, 0, 1, -directory);
    alloc_leave(fs, group);
    return error ? ext2_error(fs, "free inode", number) : 0;
}

/* The best place for a file's next block: behind its last one, else in its inode's group. */
uint32_t ext2_goal(const struct inode *ip)
{
    const struct ext2 *fs = ip->fs;
    if (ip->append.last_allocated)
        return ip->append.last_allocated + 1;
    return fs->super.first_data_block + (ip->number - 1) / fs->super.inodes_per_group * fs->super.blocks_per_group;
}
