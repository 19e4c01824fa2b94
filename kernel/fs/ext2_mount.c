/* ext2: superblock and groups (ext2.h). */
#include "fs/ext2.h"

#include <errno.h>
#include <string.h>

#include "fs/namecache.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "mem/page.h"
#include "mem/zone.h"

#define SUPER_SECTOR 2
#define KNOWN_INCOMPAT (EXT2_INCOMPAT_FILETYPE | EXT2_INCOMPAT_RECOVER)
#define KNOWN_RO_COMPAT (EXT2_RO_COMPAT_SPARSE_SUPER | EXT2_RO_COMPAT_LARGE_FILE)
#define GROUPS_MOST (PAGE_SIZE / sizeof(struct group *))

static MUTEX_CLASS(disk_alloc_class, "disk_alloc");
static MUTEX_CLASS(group_class, "block group");
static MUTEX_CLASS(rename_class, "rename");
static MUTEX_CLASS(orphan_class, "orphans");
static SIMPLE_LOCK_CLASS(counts_class, "ext2 counts", SPL_SOFTPREEMPT);
DEFINE_ZONE(ext2_zone, "ext2", sizeof(struct ext2), 64, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(group_zone, "ext2-group", sizeof(struct group), 8, SPL_SOFTPREEMPT, 0);

static const struct mountops ext2_mountops;

static inline __attribute__((always_inline)) int has_errors(struct ext2 *fs)
{
    crit_t s = simple_lock_enter(&fs->counts_lock);
    fs->super.state |= EXT2_ERRORS;
    fs->super_dirty = true;
    simple_lock_leave(&fs->counts_lock, s);
    return -EIO;
}

int ext2_error(struct ext2 *fs, const char *what, uint32_t number)
{
    if (!__atomic_fetch_add(&fs->errors, 1, __ATOMIC_RELAXED))
        kprintf("ext2 on %s: %s %lu is wrong: check it with e2fsck\n", fs->device->name, what, (unsigned long)number);
    return has_errors(fs);
}

int ext2_keeps(struct ext2 *fs, const char *what, uint32_t number)
{
    if (!__atomic_fetch_add(&fs->errors, 1, __ATOMIC_RELAXED))
        kprintf("ext2 on %s: %s %lu keeps what it had, as the drive failed: e2fsck gives it back\n", fs->device->name,
                what, (unsigned long)number);
    return has_errors(fs);
}

struct buf *ext2_getblk(struct ext2 *fs, uint32_t block)
{
    return getblk(fs->device, block * fs->sectors_per_block, fs->block_size);
}

/*
 * A block that is not in memory may be outdated on the device, as a log could not be replayed to it: it is not read.
 */
static COLD struct buf *read_none(struct ext2 *fs, uint32_t block)
{
    struct buf *bp = ext2_getblk(fs, block);
    bp->error = bp->flags & B_VALID ? 0 : -EIO;
    return bp;
}

static bool log_alone_has(const struct ext2 *fs)
{
    return unlikely(__atomic_load_n(&fs->device->log_alone_has, __ATOMIC_RELAXED));
}

struct buf *ext2_bread(struct ext2 *fs, uint32_t block)
{
    if (log_alone_has(fs))
        return read_none(fs, block);
    return bread(fs->device, block * fs->sectors_per_block, fs->block_size);
}

struct buf *ext2_bread_shared(struct ext2 *fs, uint32_t block)
{
    if (log_alone_has(fs))
        return read_none(fs, block);
    return bread_shared(fs->device, block * fs->sectors_per_block, fs->block_size, UINT32_MAX);
}

/* Whether group `n` begins with a copy of superblock and descriptors. */
static bool has_super(const struct ext2 *fs, uint32_t n)
{
    const struct ext2_super *s = &fs->super;
    if (n && s->revision && s->compat & EXT2_COMPAT_SPARSE_SUPER2)
        return n == s->backup_groups[0] || n == s->backup_groups[1];
    if (!(s->ro_compat & EXT2_RO_COMPAT_SPARSE_SUPER) || n <= 1)
        return true;
    for (uint32_t power = 3; power <= 7; power += 2)
        for (uint32_t m = power; m <= n; m *= power)
            if (m == n)
                return true;
    return false;
}

static uint32_t descriptor_blocks(const struct ext2 *fs)
{
    return (fs->groups + fs->descriptors_per_block - 1) / fs->descriptors_per_block;
}

bool ext2_is_data_block(const struct ext2 *fs, uint32_t block)
{
    const struct ext2_super *s = &fs->super;
    if (block < s->first_data_block || block >= s->blocks)
        return false;
    uint32_t n = (block - s->first_data_block) / s->blocks_per_group;
    uint32_t within = (block - s->first_data_block) % s->blocks_per_group;
    const struct ext2_group *g = &fs->group[n]->disk;
    if (within < 1 + descriptor_blocks(fs) && has_super(fs, n))
        return false;
    return block != g->block_bitmap && block != g->inode_bitmap && block - g->inode_table >= fs->table_blocks;
}

/* How many of `count` blocks from `block` on, a data block, are data blocks in the same group. */
uint32_t ext2_data_blocks(const struct ext2 *fs, uint32_t block, uint32_t count)
{
    const struct ext2_super *s = &fs->super;
    uint32_t n = (block - s->first_data_block) / s->blocks_per_group;
    uint32_t left = s->first_data_block + n * s->blocks_per_group + ext2_blocks_in(fs, n) - block;
    const struct ext2_group *g = &fs->group[n]->disk;
    const uint32_t own[] = {g->block_bitmap, g->inode_bitmap, g->inode_table};
    count = MIN(count, left);
    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] - block < count)
            count = own[i] - block;
    return count;
}

/* Names a value of a superblock that cannot be used; 0 if there is none. */
static const char *what_is_wrong(const struct ext2_super *s, const struct blockdev *device, bool read_only)
{
    if (s->magic != EXT2_MAGIC)
        return "no ext2 file system";
    if (s->revision > 1 || s->log_block_size > 2)
        return "revision or block size";
    if (s->revision && s->incompat & ~KNOWN_INCOMPAT)
        return "features that this kernel does not know: mke2fs -O none,filetype,sparse_super";
    if (s->revision && s->ro_compat & ~KNOWN_RO_COMPAT && !read_only)
        return "features that this kernel can only read";
    if (s->revision && s->incompat & EXT2_INCOMPAT_RECOVER && read_only)
        return "a journal that is to be carried out first: mount it for writing, too, or run e2fsck";
    uint32_t size = 1024u << s->log_block_size;
    uint32_t inode_size = s->revision ? s->inode_size : sizeof(struct ext2_inode);
    if (s->first_data_block != (size == 1024) || s->blocks <= s->first_data_block + 1 ||
        s->blocks > device->sectors / (size / SECTOR_SIZE))
        return "number of blocks";
    if (inode_size < sizeof(struct ext2_inode) || inode_size > size || inode_size & (inode_size - 1))
        return "size of inodes";
    if (!s->blocks_per_group || s->blocks_per_group > 8 * size || s->blocks_per_group % 8)
        return "blocks of a group";
    if (!s->inodes_per_group || s->inodes_per_group > 8 * size || s->inodes_per_group % (size / inode_size))
        return "inodes of a group";
    uint32_t groups = (s->blocks - s->first_data_block - 1) / s->blocks_per_group + 1;
    if (groups > GROUPS_MOST || s->inodes != groups * s->inodes_per_group)
        return "number of groups or inodes";
    if (s->revision && (s->first_inode < EXT2_FIRST_INODE || s->first_inode > s->inodes))
        return "first inode";
    return 0;
}

/*
 * Bitmaps and table of group `n` are in the group, behind its copy of the superblock, and do not overlap: so its
 * own group tells whether a block is a file's (ext2_is_data_block). This holds wherever the feature flex_bg is
 * off.
 */
static bool group_is_sound(const struct ext2 *fs, uint32_t n, const struct ext2_group *g)
{
    const struct ext2_super *s = &fs->super;
    uint32_t begin = s->first_data_block + n * s->blocks_per_group, blocks = ext2_blocks_in(fs, n);
    uint32_t before = has_super(fs, n) ? 1 + descriptor_blocks(fs) : 0;
    if (blocks < before + fs->table_blocks)
        return false;
    uint32_t map = g->block_bitmap - begin, inodes = g->inode_bitmap - begin, table = g->inode_table - begin;
    return map >= before && map < blocks && inodes >= before && inodes < blocks && map != inodes && table >= before &&
           table <= blocks - fs->table_blocks && map - table >= fs->table_blocks &&
           inodes - table >= fs->table_blocks && g->free_blocks <= s->blocks_per_group &&
           g->free_inodes <= s->inodes_per_group;
}

/* How many of the first `bits` bits of the bitmap in `block` are clear. */
static int count_clear(struct ext2 *fs, uint32_t block, uint32_t bits, uint32_t *clear)
{
    struct buf *bp = ext2_bread(fs, block);
    int error = bp->error;
    *clear = 0;
    for (uint32_t i = 0; !error && i < bits; i++)
        *clear += !(bp->data[i / 8] & 1 << i % 8);
    brelse(bp);
    return error;
}

/*
 * The counts of a file system that was not unmounted are outdated: a group that seems full would not be searched, and
 * one that does not might count below 0. The bitmaps are authoritative.
 */
static int count_anew(struct ext2 *fs)
{
    uint32_t blocks, inodes, all_blocks = 0, all_inodes = 0;
    for (uint32_t i = 0; i < fs->groups; i++) {
        struct ext2_group *g = &fs->group[i]->disk;
        int error = count_clear(fs, g->block_bitmap, ext2_blocks_in(fs, i), &blocks);
        if (!error)
            error = count_clear(fs, g->inode_bitmap, fs->super.inodes_per_group, &inodes);
        if (error)
            return error;
        g->free_blocks = (uint16_t)blocks;
        g->free_inodes = (uint16_t)inodes;
        fs->group[i]->dirty = true;
        all_blocks += blocks;
        all_inodes += inodes;
    }
    fs->super.free_blocks = all_blocks;
    fs->super.free_inodes = all_inodes;
    return 0;
}

static void free_groups(struct ext2 *fs)
{
    for (uint32_t i = 0; i < fs->groups; i++)
        if (fs->group[i]) {
            table_lock_destroy(&fs->group[i]->lock);
            zone_free(&group_zone, fs->group[i]);
        }
    page_free(page_address(fs->group));
}

static int read_groups(struct ext2 *fs)
{
    uint32_t page = page_alloc();
    if (!page)
        return -ENOMEM;
    fs->group = page_pointer(page);
    int error = 0;
    struct buf *bp = 0;
    for (uint32_t i = 0; i < fs->groups && !error; i++) {
        if (i % fs->descriptors_per_block == 0) {
            if (bp)
                brelse(bp);
            bp = ext2_bread(fs, fs->super.first_data_block + 1 + i / fs->descriptors_per_block);
            error = bp->error;
        }
        struct group *g = error ? 0 : zone_alloc(&group_zone);
        if (!g) {
            error = error ? error : -ENOMEM;
            break;
        }
        *g = (struct group){.disk = ((struct ext2_group *)bp->data)[i % fs->descriptors_per_block]};
        table_lock_init(&g->lock, &group_class, "block group");
        fs->group[i] = g;
        if (!(fs->super.state & EXT2_VALID)) /* they are counted below */
            g->disk.free_blocks = g->disk.free_inodes = 0;
        if (!group_is_sound(fs, i, &g->disk))
            error = ext2_error(fs, "group", i);
    }
    if (bp)
        brelse(bp);
    if (!error && !(fs->super.state & EXT2_VALID))
        error = count_anew(fs);
    if (error)
        free_groups(fs);
    return error;
}

static void set_sizes(struct ext2 *fs)
{
    const struct ext2_super *s = &fs->super;
    fs->block_shift = 10 + s->log_block_size;
    fs->block_size = 1u << fs->block_shift;
    fs->sectors_per_block = fs->block_size / SECTOR_SIZE;
    fs->size_most = ext2_size_limit(fs);
    fs->groups = (s->blocks - s->first_data_block - 1) / s->blocks_per_group + 1;
    fs->descriptors_per_block = fs->block_size / sizeof(struct ext2_group);
    fs->inode_size = s->revision ? s->inode_size : sizeof(struct ext2_inode);
    fs->inodes_per_block = fs->block_size / fs->inode_size;
    fs->table_blocks = s->inodes_per_group / fs->inodes_per_block;
    fs->first_inode = s->revision ? s->first_inode : EXT2_FIRST_INODE;
    fs->filetype = s->revision && s->incompat & EXT2_INCOMPAT_FILETYPE;
}

struct buf *ext2_read_super(struct ext2 *fs, struct ext2_super **super)
{
    uint32_t block = fs->super.first_data_block;
    struct buf *bp = ext2_bread(fs, block);
    *super = (struct ext2_super *)(bp->data + SUPER_SECTOR * SECTOR_SIZE - block * fs->block_size);
    return bp;
}

/* Puts the superblock as it is in memory into its block's buffer. */
static struct buf *fill_super(struct ext2 *fs)
{
    struct ext2_super *super;
    struct buf *bp = ext2_read_super(fs, &super);
    if (bp->error)
        return bp;
    crit_t s = simple_lock_enter(&fs->counts_lock);
    fs->super.write_time = fs_time();
    memcpy(super, &fs->super, sizeof fs->super);
    fs->super_dirty = false;
    simple_lock_leave(&fs->counts_lock, s);
    return bp;
}

int ext2_write_super(struct ext2 *fs)
{
    struct buf *bp = fill_super(fs);
    int error = bp->error;
    if (!error)
        return ext2_meta(fs, bp, true);
    brelse(bp);
    return error;
}

int ext2_write_counts(struct ext2 *fs)
{
    int error = 0;
    for (uint32_t i = 0; i < fs->groups; i += fs->descriptors_per_block) {
        uint32_t end = MIN(i + fs->descriptors_per_block, fs->groups);
        bool dirty = false;
        for (uint32_t k = i; k < end; k++)
            dirty |= fs->group[k]->dirty;
        if (!dirty)
            continue;
        struct buf *bp = ext2_bread(fs, fs->super.first_data_block + 1 + i / fs->descriptors_per_block);
        int e = bfailed(bp);
        if (e) {
            error = e;
            continue;
        }
        crit_t s = simple_lock_enter(&fs->counts_lock);
        for (uint32_t k = i; k < end; k++) {
            ((struct ext2_group *)bp->data)[k - i] = fs->group[k]->disk;
            fs->group[k]->dirty = false;
        }
        simple_lock_leave(&fs->counts_lock, s);
        ext2_meta(fs, bp, false);
    }
    if (fs->super_dirty) {
        int e = ext2_write_super(fs);
        error = error ? error : e;
    }
    return error;
}

static void ext2_destroy(struct ext2 *fs)
{
    table_lock_destroy(&fs->disk_alloc_lock);
    lock_destroy(&fs->mount.rename_lock);
    lock_destroy(&fs->orphan_lock);
    simple_lock_destroy(&fs->counts_lock);
    namecache_purge(fs);
    binval(fs->device);
    __atomic_store_n(&fs->device->mounted, 0, __ATOMIC_RELEASE);
    zone_free(&ext2_zone, fs);
}

/* Reads and checks the superblock. */
static int read_super(struct ext2 *fs)
{
    struct buf *bp = bread(fs->device, SUPER_SECTOR, sizeof fs->super);
    int error = bp->error;
    if (!error)
        memcpy(&fs->super, bp->data, sizeof fs->super);
    brelse(bp);
    const char *wrong = error ? 0 : what_is_wrong(&fs->super, fs->device, fs->mount.read_only);
    if (wrong) {
        kprintf("ext2 on %s cannot be mounted: %s\n", fs->device->name, wrong);
        error = -EINVAL;
    }
    return error;
}

/* Reads superblock and groups; replays the journal first if the superblock says so: then both may change. */
static int ext2_read_super_and_groups(struct ext2 *fs)
{
    int error = read_super(fs);
    if (error)
        return error;
    set_sizes(fs);
    fs->sound = fs->super.state == EXT2_VALID;
    error = read_groups(fs);
    if (error || !(fs->super.incompat & EXT2_INCOMPAT_RECOVER))
        return error;
    error = ext2_journal_replay(fs);
    free_groups(fs);
    if (error)
        return error;
    binval(fs->device); /* all is written, and the superblock may lie in a larger block */
    error = read_super(fs);
    if (error)
        return error;
    set_sizes(fs);
    fs->sound = fs->super.state == EXT2_VALID;
    fs->super.incompat &= ~EXT2_INCOMPAT_RECOVER;
    fs->super.state &= ~EXT2_VALID; /* other systems do not journal counts in order */
    fs->super_dirty = true;
    return read_groups(fs);
}

int ext2_mount(struct blockdev *device, bool read_only, struct mount **mp)
{
    if (__atomic_exchange_n(&device->mounted, 1, __ATOMIC_ACQUIRE))
        return -EBUSY; /* two mounts would not know of each other's changes */
    struct ext2 *fs = zone_alloc(&ext2_zone);
    if (!fs) {
        __atomic_store_n(&device->mounted, 0, __ATOMIC_RELEASE);
        return -ENOMEM;
    }
    *fs = (struct ext2){.mount = {.ops = &ext2_mountops, .read_only = read_only},
                        .device = device,
                        .lost_writes = __atomic_load_n(&device->lost_writes, __ATOMIC_RELAXED),
                        .counts_lock = SIMPLE_LOCK("ext2 counts", counts_class)};
    table_lock_init(&fs->disk_alloc_lock, &disk_alloc_class, "disk_alloc_lock");
    lock_init(&fs->mount.rename_lock, &rename_class, "rename");
    lock_init(&fs->orphan_lock, &orphan_class, "orphans");
    device->log_alone_has = false;
    int error = ext2_read_super_and_groups(fs);
    if (error) {
        ext2_destroy(fs);
        return error;
    }
    struct inode *root;
    error = ext2_iget(fs, EXT2_ROOT, ANY_FILE, &root);
    if (!error && root->v.type != VDIR) {
        error = ext2_error(fs, "root inode", EXT2_ROOT);
        ext2_release(&root->v);
    }
    if (!error && !read_only) {
        fs->super.state &= ~EXT2_VALID;
        fs->super.mount_time = fs_time();
        fs->super.mounts++;
        error = ext2_log_open(fs);
        if (!error)
            error = ext2_orphans_end(fs);
        if (error)
            ext2_release(&root->v);
    }
    if (error) {
        ext2_forget(fs);
        ext2_log_close(fs);
        free_groups(fs);
        ext2_destroy(fs);
        return error;
    }
    fs->root = &root->v;
    *mp = &fs->mount;
    return 0;
}

static int root_of(struct mount *m, struct vnode **vpp)
{
    *vpp = EXT2(m)->root;
    vhold(*vpp);
    return 0;
}

static int sync_all(struct mount *m)
{
    struct ext2 *fs = EXT2(m);
    if (m->read_only) /* from the beginning, or since its log failed, which lacks the last changes */
        return fs->log ? ext2_commit(fs) : 0;
    ext2_update_all(fs);
    int error = ext2_return_ahead(fs, 0), e = ext2_commit(fs);
    return error ? error : e;
}

/* Marks the device as cleanly unmounted, unless something may be wrong: then e2fsck has to check. */
static void mark_valid(struct ext2 *fs, bool journal)
{
    bool lost = __atomic_load_n(&fs->device->lost_writes, __ATOMIC_ACQUIRE) != fs->lost_writes;
    if (lost && !journal && !fs->errors) /* a journal keeps metadata, and reports itself what it could not keep */
        kprintf("ext2 on %s: writes were lost: check it with e2fsck\n", fs->device->name);
    if (!fs->errors && (!lost || journal))
        fs->super.state |= EXT2_VALID;
    fs->super_dirty = true;
}

static int ext2_unmount(struct mount *m)
{
    struct ext2 *fs = EXT2(m);
    int error = ext2_forget(fs);
    if (error)
        return error;
    bool journal = fs->log;
    error = ext2_log_close(fs);
    if (!m->read_only) {
        ext2_return_ahead(fs, 0);
        ext2_write_counts(fs);
        int e = bflush_cache(fs->device);
        error = error ? error : e;
        mark_valid(fs, journal);
        ext2_write_counts(fs);
        e = bflush_cache(fs->device);
        error = error ? error : e;
    }
    free_groups(fs);
    ext2_destroy(fs);
    return error;
}

static void ext2_statfs(struct mount *m, struct statfs_out *to)
{
    struct ext2 *fs = EXT2(m);
    crit_t s = simple_lock_enter(&fs->counts_lock);
    *to = (struct statfs_out){fs->block_size, fs->super.blocks, fs->super.free_blocks, fs->super.inodes,
                              fs->super.free_inodes};
    simple_lock_leave(&fs->counts_lock, s);
}

static const struct mountops ext2_mountops = {
    .root = root_of, .sync = sync_all, .unmount = ext2_unmount, .statfs = ext2_statfs};
