/* ext2: directory entries (ext2.h), which fill each block one behind the other. */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "fs/namecache.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"

static const uint8_t type_on_disk[] = {
    [VREG] = EXT2_TYPE_REG, [VDIR] = EXT2_TYPE_DIR,   [VBLK] = EXT2_TYPE_BLK,  [VCHR] = EXT2_TYPE_CHR,
    [VLNK] = EXT2_TYPE_LNK, [VFIFO] = EXT2_TYPE_FIFO, [VSOCK] = EXT2_TYPE_SOCK};

static enum vtype type_of(const struct ext2 *fs, const struct ext2_dirent *e)
{
    static const uint8_t types[] = {VNON, VREG, VDIR, VCHR, VBLK, VFIFO, VSOCK, VLNK};
    return fs->filetype && e->type < sizeof types ? types[e->type] : VNON;
}

static uint32_t blocks_of(const struct inode *dp)
{
    return dp->disk.size >> dp->fs->block_shift;
}

/* The buffer of block `n` of a directory, which has no holes; null with *error. `look`: for reading only. */
static struct buf *ext2_dir_read_block(struct inode *dp, uint32_t n, bool look, int *error)
{
    uint32_t block;
    *error = ext2_bmap(dp, n, false, &block, 0, 0);
    if (*error)
        return 0;
    if (!block) {
        *error = ext2_error(dp->fs, "hole in directory", dp->number);
        return 0;
    }
    struct buf *bp = look ? ext2_bread_shared(dp->fs, block) : ext2_bread(dp->fs, block);
    *error = bp->error;
    if (*error) {
        brelse(bp);
        return 0;
    }
    return bp;
}

/* The entry at `offset` of a block, if it is valid and ends within the block. */
static struct ext2_dirent *ext2_dir_entry_at(const struct inode *dp, struct buf *bp, uint32_t offset)
{
    uint32_t left = dp->fs->block_size - offset;
    struct ext2_dirent *e = (struct ext2_dirent *)(bp->data + offset);
    if (left < 8 || e->size < 8 || e->size % 4 || e->size > left || EXT2_DIRENT_SIZE(e->name_length) > e->size)
        return 0;
    return e;
}

static bool ext2_dir_is_called(const struct ext2_dirent *e, const char *name, uint32_t length)
{
    return e->inode && e->name_length == length && !memcmp(e->name, name, length);
}

/*
 * Passes through the entries of every block. Calls `fn` with each entry, the one before it in its block and the block's
 * buffer, until it returns other than 0: that is the result, and `fn` has released the buffer. 0: none did. `changes`:
 * `fn` may change the buffer.
 */
struct look {
    const char *name;
    uint32_t length, number;
    enum vtype type;
    bool later; /* the write is delayed: undoing another change must not fail, except on a read */
};
typedef int look_fn(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                    struct ext2_dirent *before);

static int each_entry(struct inode *dp, look_fn *fn, struct look *look, bool changes)
{
    for (uint32_t n = 0; n < blocks_of(dp); n++) {
        int error;
        struct buf *bp = ext2_dir_read_block(dp, n, !changes, &error);
        if (!bp)
            return error;
        struct ext2_dirent *before = 0, *e;
        for (uint32_t offset = 0; offset < dp->fs->block_size; offset += e->size, before = e) {
            e = ext2_dir_entry_at(dp, bp, offset);
            if (!e) {
                brelse(bp);
                return ext2_error(dp->fs, "directory", dp->number);
            }
            int result = fn(dp, look, bp, e, before);
            if (result)
                return result;
        }
        brelse(bp);
    }
    return 0;
}

static int ext2_dir_match(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                          struct ext2_dirent *before)
{
    (void)dp, (void)before;
    if (!ext2_dir_is_called(e, look->name, look->length))
        return 0;
    look->number = e->inode;
    brelse(bp);
    return 1;
}

int ext2_dir_find(struct inode *dp, const char *name, uint32_t length, uint32_t *number)
{
    struct look look = {.name = name, .length = length};
    if (namecache_find(dp->fs, dp->number, name, length, number))
        return 0;
    int result = each_entry(dp, ext2_dir_match, &look, false);
    *number = look.number;
    if (result > 0)
        namecache_enter(dp->fs, dp->number, name, length, look.number);
    return result < 0 ? result : result ? 0 : -ENOENT;
}

/*
 * A change to a directory with a hash tree does not update the tree: so the inode drops the tree before the entry is
 * changed, or in the same transaction.
 */
static int without_index(struct inode *dp)
{
    if (likely(!(dp->disk.flags & EXT2_INDEX_FLAG)))
        return 0;
    dp->disk.flags &= ~EXT2_INDEX_FLAG;
    dp->dirty = true;
    int error = ext2_update(dp, true);
    if (!error)
        error = ext2_line(dp->fs);
    if (error)
        dp->disk.flags |= EXT2_INDEX_FLAG;
    return error;
}

static void ext2_dir_changed(struct inode *dp)
{
    dp->disk.mtime = dp->disk.ctime = fs_time();
    dp->dirty = true;
}

/* The head of an entry before a change. */
struct was {
    uint32_t block, offset; /* in bytes */
    struct ext2_dirent head;
};

static struct was as_it_is(const struct inode *dp, const struct buf *bp, const struct ext2_dirent *e)
{
    return (struct was){bp->sector / dp->fs->sectors_per_block, (uint32_t)((const uint8_t *)e - bp->data), *e};
}

/*
 * Writes and releases the buffer with a changed entry; after an error the entry is restored, in memory, and on the
 * device some time later, whatever became of the write.
 */
static int write_entry(struct inode *dp, struct buf *bp, const struct was *was, bool later)
{
    int error = ext2_meta(dp->fs, bp, !later);
    if (!error || dp->fs->log) /* a log that cannot be written drops the change itself */
        return error;
    bp = ext2_bread(dp->fs, was->block);
    if (bp->error) {
        brelse(bp);
        ext2_keeps(dp->fs, "directory", dp->number);
        return error;
    }
    *(struct ext2_dirent *)(bp->data + was->offset) = was->head;
    bdwrite(bp);
    return error;
}

static void ext2_dir_fill(const struct inode *dp, struct ext2_dirent *e, uint32_t size, const struct look *look)
{
    e->inode = look->number;
    e->size = size;
    e->name_length = look->length;
    e->type = dp->fs->filetype ? type_on_disk[look->type] : 0;
    memcpy(e->name, look->name, look->length);
}

/*
 * Without a journal: a new entry whose head is in another sector than the head of *e, which still contains it, is
 * written first: a write torn between the two sectors must not lead into old data, and lose the entries behind. Returns
 * the block's buffer again, with *e in it; null, with the buffer released: *error.
 */
static struct buf *first_behind(struct inode *dp, struct buf *bp, struct ext2_dirent **e, uint32_t used, int *error)
{
    struct ext2 *fs = dp->fs;
    uint32_t offset = (uint32_t)((uint8_t *)*e - bp->data), block = bp->sector / fs->sectors_per_block;
    if (fs->log || offset / SECTOR_SIZE == (offset + used) / SECTOR_SIZE)
        return bp;
    *error = bwrite_kept(bp);
    if (!*error)
        *error = ext2_line(fs);
    if (*error)
        return 0;
    bp = ext2_bread(fs, block);
    *e = (struct ext2_dirent *)(bp->data + offset);
    *error = bfailed(bp);
    return *error ? 0 : bp;
}

/* Puts the entry into the room behind this one, or in its place if it is free. */
static int ext2_dir_put_entry(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                              struct ext2_dirent *before)
{
    (void)before;
    uint32_t used = e->inode ? EXT2_DIRENT_SIZE(e->name_length) : 0, room = e->size - used;
    if (room < EXT2_DIRENT_SIZE(look->length))
        return 0;
    struct was was = as_it_is(dp, bp, e);
    ext2_dir_fill(dp, (struct ext2_dirent *)((uint8_t *)e + used), room, look);
    int error = 0;
    if (used && !(bp = first_behind(dp, bp, &e, used, &error)))
        return error;
    if (used)
        e->size = used;
    error = write_entry(dp, bp, &was, look->later); /* the inode has been written already */
    ext2_dir_changed(dp);
    return error ? error : 1;
}

static int add_block(struct inode *dp, const struct look *look)
{
    struct ext2 *fs = dp->fs;
    uint32_t n = blocks_of(dp), block;
    bool fresh;
    int error = ext2_bmap(dp, n, true, &block, &fresh, 0);
    if (error)
        return error;
    struct buf *bp = ext2_getblk(fs, block);
    memset(bp->data, 0, fs->block_size);
    ext2_dir_fill(dp, (struct ext2_dirent *)bp->data, fs->block_size, look);
    error = ext2_meta(fs, bp, true);
    int e = ext2_has_contents(dp);
    error = error ? error : e;
    if (error) {
        ext2_truncate(dp, (uint64_t)n << fs->block_shift);
        return error;
    }
    ext2_set_size(dp, (uint64_t)(n + 1) << fs->block_shift);
    ext2_dir_changed(dp);
    error = ext2_update(dp, true);
    if (!error || fs->log)
        return error;
    bp = ext2_bread(fs, block); /* the block stays, with room in it */
    if (bp->error) {
        brelse(bp);
        ext2_keeps(fs, "directory", dp->number);
        return error;
    }
    ((struct ext2_dirent *)bp->data)->inode = 0;
    bdwrite(bp);
    return error;
}

int ext2_dir_add(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type)
{
    lock_assert_write_held(&dp->v.lock);
    struct look look = {.name = name, .length = length, .number = number, .type = type};
    int result = without_index(dp);
    if (!result)
        result = each_entry(dp, ext2_dir_put_entry, &look, true);
    if (result)
        return result < 0 ? result : 0;
    return add_block(dp, &look);
}

static int ext2_dir_drop(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                         struct ext2_dirent *before)
{
    if (!ext2_dir_is_called(e, look->name, look->length))
        return 0;
    struct was was = as_it_is(dp, bp, before ? before : e);
    if (before)
        before->size += e->size; /* which removes the entry */
    else
        e->inode = 0;
    int error = write_entry(dp, bp, &was, look->later); /* before the inode loses the link */
    ext2_dir_changed(dp);
    return error ? error : 1;
}

static int remove_entry(struct inode *dp, const char *name, uint32_t length, bool later)
{
    lock_assert_write_held(&dp->v.lock);
    struct look look = {.name = name, .length = length, .later = later};
    namecache_drop(dp->fs, dp->number, name, length);
    int result = without_index(dp);
    if (!result)
        result = each_entry(dp, ext2_dir_drop, &look, true);
    return result < 0 ? result : result ? 0 : -ENOENT;
}

int ext2_dir_remove(struct inode *dp, const char *name, uint32_t length)
{
    return remove_entry(dp, name, length, false);
}

static int change(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                  struct ext2_dirent *before)
{
    (void)before;
    if (!ext2_dir_is_called(e, look->name, look->length))
        return 0;
    struct was was = as_it_is(dp, bp, e);
    ext2_dir_fill(dp, e, e->size, look);
    int error = write_entry(dp, bp, &was, look->later);
    ext2_dir_changed(dp);
    return error ? error : 1;
}

static int change_entry(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type,
                        bool later)
{
    lock_assert_write_held(&dp->v.lock);
    struct look look = {.name = name, .length = length, .number = number, .type = type, .later = later};
    namecache_drop(dp->fs, dp->number, name, length);
    int result = without_index(dp);
    if (!result)
        result = each_entry(dp, change, &look, true);
    return result < 0 ? result : result ? 0 : -ENOENT;
}

int ext2_dir_change(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type)
{
    return change_entry(dp, name, length, number, type, false);
}

void ext2_dir_put_back(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type)
{
    int error = number ? change_entry(dp, name, length, number, type, true) : remove_entry(dp, name, length, true);
    if (error)
        ext2_keeps(dp->fs, "directory", dp->number); /* the name stays, and e2fsck has to check */
}

int ext2_dir_is_there(struct inode *dp, const char *name, uint32_t length)
{
    struct look look = {.name = name, .length = length};
    int result = each_entry(dp, ext2_dir_match, &look, false);
    return result < 0 ? result : result ? 0 : ext2_error(dp->fs, "directory", dp->number);
}

int ext2_dir_begin(struct inode *dp, uint32_t parent)
{
    struct ext2 *fs = dp->fs;
    uint32_t block;
    int error = ext2_bmap(dp, 0, true, &block, 0, 0);
    if (error)
        return error;
    struct buf *bp = ext2_getblk(fs, block);
    memset(bp->data, 0, fs->block_size);
    struct look self = {.name = ".", .length = 1, .number = dp->number, .type = VDIR};
    struct look up = {.name = "..", .length = 2, .number = parent, .type = VDIR};
    ext2_dir_fill(dp, (struct ext2_dirent *)bp->data, EXT2_DIRENT_SIZE(1), &self);
    ext2_dir_fill(dp, (struct ext2_dirent *)(bp->data + EXT2_DIRENT_SIZE(1)), fs->block_size - EXT2_DIRENT_SIZE(1),
                  &up);
    error = ext2_meta(fs, bp, true);
    ext2_set_size(dp, fs->block_size);
    return error;
}

static int other_than_dots(struct inode *dp, struct look *look, struct buf *bp, struct ext2_dirent *e,
                           struct ext2_dirent *before)
{
    (void)dp, (void)look, (void)before;
    if (!e->inode || (e->name_length == 1 && e->name[0] == '.') ||
        (e->name_length == 2 && e->name[0] == '.' && e->name[1] == '.'))
        return 0;
    brelse(bp);
    return 1;
}

int ext2_dir_is_empty(struct inode *dp)
{
    int result = each_entry(dp, other_than_dots, 0, false);
    return result < 0 ? result : !result;
}

/* An offset may no longer be an entry's beginning: continues with the first entry at or behind it. */
int ext2_dir_read(struct inode *dp, uint64_t offset, dirent_fn *fn, void *arg)
{
    struct ext2 *fs = dp->fs;
    for (uint64_t n = offset >> fs->block_shift; n < blocks_of(dp); n++) {
        int error;
        struct buf *bp = ext2_dir_read_block(dp, n, true, &error);
        if (!bp)
            return error;
        for (uint32_t within = 0; within < fs->block_size;) {
            const struct ext2_dirent *e = ext2_dir_entry_at(dp, bp, within);
            if (!e) {
                brelse(bp);
                return ext2_error(fs, "directory", dp->number);
            }
            uint64_t here = (n << fs->block_shift) + within;
            within += e->size;
            if (here < offset || !e->inode)
                continue;
            struct dirent_out out = {e->inode, here + e->size, type_of(fs, e), e->name_length, e->name};
            if (!fn(arg, &out)) {
                brelse(bp);
                return 0;
            }
        }
        brelse(bp);
    }
    return 0;
}
