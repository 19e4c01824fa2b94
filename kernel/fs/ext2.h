/*
 * The ext2 file system in the kernel, in these files:
 *
 *   ext2_mount.c   superblock and groups: mount, sync, unmount
 *   ext2_alloc.c   allocation of blocks and inodes: two builds
 *   ext2_inode.c   the table of inodes in memory, read and written
 *   ext2_bmap.c    maps a file's blocks to the device's; truncation
 *   ext2_dir.c     directory entries
 *   ext2_ops.c     vnode operations (vnode.h)
 *   ext2_journal.c replays a journal at mount
 *   ext2_transaction.c   the journal that this kernel writes
 *   ext2_handle.c  files by inode and generation, for NFS
 *
 * Locking (below vnode.h's): an inode's lock, the vnode's, guards its contents, its blocks and, of a directory, its
 * entries. A thread waits for a buffer only while it holds none: so buffers need no order among themselves. Allocation,
 * option `alloc`: with `one`, the mount's disk_alloc_lock is held while a block or inode is looked for and marked, as
 * in early Mach (paper `mach`, section 3.2); with `groups`, a lock of the block group, and the free counts are kept in
 * memory under a small lock, as they share blocks on the device (unlike cylinder groups).
 *
 * An image may hold anything. Its data are checked where they are used: a wrong number is -EIO, counted and reported
 * once, never a panic, and nothing outside of the file's own blocks is written.
 *
 * State of the device at a power cut, without a journal: contents come first, then what points to them: a new indirect
 * or directory block, an inode before its entry, an entry's removal before its inode's, an inode without blocks before
 * they are another's. Writes that others depend on are synchronous, as in 4.3BSD; bpoints (buf.h) keeps the order of
 * delayed writes, with a flush where a drive's cache could reorder them. e2fsck repairs what is lost, and frees what is
 * not referenced.
 *
 * With a journal (ext2_transaction.c) metadata are changed between ext2_begin and ext2_end, by ext2_meta; after a power
 * cut all changes made there are on the device, or none. Order: inodes, ext2_begin, allocation, buffers. So all inodes
 * that are needed are locked before ext2_begin, and none is looked up or released before ext2_end.
 */
#ifndef FS_EXT2_H
#define FS_EXT2_H

#include "fs/buf.h"
#include "fs/ext2_disk.h"
#include "fs/vnode.h"
#include "lib/minmax.h"

#ifndef NFS /* 1: in images that serve files by handles (build option nfs) */
#define NFS 0
#endif

struct group {
    struct ext2_group disk; /* its counts: guarded by counts_lock */
    /*
     * Blocks that are marked in the bitmap and counted as free, from bit `ahead` on: they follow the end of a growing
     * file. A caller that asks for the first gets them without reading the bitmap. Under the bitmap's lock; never with
     * a journal.
     */
    uint32_t ahead, ahead_count;
    uint32_t passed; /* how often blocks were marked for other files since these were last used */
    struct table_lock lock; /* its bitmaps, in the build `groups` */
    uint32_t lost_seen[2]; /* lost_writes when each bitmap (inodes, blocks) was last compared with its count */
    bool dirty;
    /* Or 0: the block bitmap as the allocator sees it, plus what this transaction freed. Under the bitmap's lock. */
    uint8_t *held;
};

/*
 * Pointers of an indirect block to new consecutive blocks: none if `in` is 0. They are set when these have their
 * contents, and in a file without a journal later still, many at once: before the inode is written to its block, and
 * before the indirect block is read for anything except looking up the file's blocks.
 */
struct pointer_to_set {
    uint32_t in, place, block, count;
};

/* State that a file's last append leaves for the next one, or for ext2_set_pointers. */
struct append {
    uint32_t last_allocated; /* block on the device; the search for the next one begins here */
    uint32_t empty_in, empty_place, empty_count; /* in indirect block `in`, this many pointers from `place` on are 0 */
    struct pointer_to_set to_set; /* ext2_bmap leaves it, ext2_set_pointers sets it */
};

/*
 * State that a sequential reader leaves for the next call; one per inode (4.4BSD's cluster_read; paper `mach`, section
 * 3.2, on why this is no global variable). Block numbers are the file's.
 */
struct read_state {
    uint32_t next; /* block that a sequential read begins with */
    uint32_t asked; /* reading has begun for all blocks before this one that are to be read ahead */
    uint32_t window; /* blocks of the next request */
    /* Requests until the window's limit is restored, after blocks were evicted before they were read. */
    uint32_t lost;
    uint32_t first, count; /* the file's `count` blocks from `first` on are consecutive on the device, */
    uint32_t block; /* from this block on */
};

struct inode {
    struct vnode v; /* first */
    struct ext2 *fs;
    uint32_t number;
    struct ext2_inode disk;
    bool dirty; /* `disk` differs from its block */
    bool fresh; /* behind `disk`, its block still has a removed file's attributes */
    bool here; /* it has been read, or could not be */
    struct lock reading; /* held until then; outside the tree's order, as a waiter may hold a lock below it */
    bool gone; /* no file any more, or never read: no operation is possible */
    struct read_state reading_on; /* guarded by `read_taken`: one reader at a time */
    uint32_t read_taken;
    uint32_t delayed_first, delayed_count; /* blocks on the device that have been written as a whole, and are delayed */
    uint32_t lost_seen; /* of the device's lost_writes: fsync reports later ones */
    struct append append;
    bool grown; /* it points to new blocks, and its block on the device does not yet */
    bool orphan; /* on the list of inodes to be removed or cut after a crash */
    SLIST_ENTRY(inode) orphans; /* guarded by fs->orphan_lock */
    uint32_t references; /* atomic; the first reference also by the lock of its inode table chain (ext2_inode.c) */
    /* guarded by that chain's lock */
    SLIST_ENTRY(inode) hashed;
    bool used; /* since it was put on the list, or since the last search for room */
    bool listed; /* guarded by inode_free_lock, too */
    TAILQ_ENTRY(inode) free; /* while it is listed: guarded by inode_free_lock */
};

struct ext2 {
    struct mount mount; /* first */
    struct blockdev *device;
    struct ext2_super super; /* its counts: guarded by counts_lock */
    uint32_t block_size, block_shift; /* bytes */
    uint64_t size_most; /* of a file */
    uint32_t sectors_per_block;
    uint32_t groups, descriptors_per_block, inode_size, inodes_per_block, table_blocks;
    uint32_t first_inode;
    bool filetype, super_dirty;
    bool sound; /* its state was valid when it was mounted, after the journal was replayed */
    struct group **group; /* pages of pointers are not needed: at most GROUPS_MOST */
    struct table_lock disk_alloc_lock;
    struct simple_lock counts_lock;
    struct vnode *root;
    uint32_t errors; /* wrong numbers met */
    uint32_t lost_writes; /* the device's when it was mounted: if there are more at the end, e2fsck has to check */
    bool forgetting, referred; /* an unmount checks whether an inode is in use; one was found by number meanwhile */
    uint32_t ending; /* inodes off their chains whose files are being removed */
    struct ext2_log *log; /* or 0: the journal that this mount writes */
    struct lock orphan_lock;
    SLIST_HEAD(, inode) orphans; /* the inodes of super.last_orphan's list that are in memory: its beginning */
};

#define INODE(vp) ((struct inode *)(vp))
#define EXT2(m) ((struct ext2 *)(m))

/* ext2_mount.c */
int ext2_mount(struct blockdev *device, bool read_only, struct mount **mp);
int ext2_error(struct ext2 *fs, const char *what, uint32_t number); /* reports that the image is wrong: -EIO */
/* The same for what could not be freed, though nothing may be wrong with it. */
int ext2_keeps(struct ext2 *fs, const char *what, uint32_t number);
struct buf *ext2_bread(struct ext2 *fs, uint32_t block);
struct buf *ext2_bread_shared(struct ext2 *fs, uint32_t block); /* for reading only (bread_shared) */
struct buf *ext2_getblk(struct ext2 *fs, uint32_t block);
/* A block that may hold a file's contents: not part of superblocks, bitmaps, tables. */
bool ext2_is_data_block(const struct ext2 *fs, uint32_t block);
uint32_t ext2_data_blocks(const struct ext2 *fs, uint32_t block, uint32_t count);
int ext2_write_counts(struct ext2 *fs);
struct buf *ext2_read_super(struct ext2 *fs, struct ext2_super **super); /* the block that has it; as ext2_bread */
int ext2_write_super(struct ext2 *fs); /* as ext2_meta */

/* Blocks of a group: the last one may have fewer than the others. */
static inline uint32_t ext2_blocks_in(const struct ext2 *fs, uint32_t group)
{
    uint32_t left = fs->super.blocks - fs->super.first_data_block - group * fs->super.blocks_per_group;
    return MIN(left, fs->super.blocks_per_group);
}

/*
 * ext2_alloc.c: near `goal` if that is not 0; -ENOSPC. ext2_balloc allocates up to *count consecutive blocks, and sets
 * *count to their number. `ahead`: how many blocks behind them are reserved for the next request. ext2_return_ahead:
 * frees the blocks reserved for `ip`, or all (0).
 */
int ext2_balloc(struct ext2 *fs, uint32_t goal, uint32_t ahead, uint32_t *block, uint32_t *count);
int ext2_return_ahead(struct ext2 *fs, const struct inode *ip);
int ext2_bfree(struct ext2 *fs, uint32_t block, bool meta); /* `meta`: it held no file's contents */
int ext2_ialloc(struct ext2 *fs, const struct inode *parent, bool directory, uint32_t *number);
int ext2_ifree(struct ext2 *fs, uint32_t number, bool directory);
uint32_t ext2_goal(const struct inode *ip);

/* ext2_inode.c. FRESH: the inode is not read, as it has just been allocated. ORPHAN: it may have no links. */
/* HANDLE: the number comes from outside and may be wrong: -ESTALE if it is no file. */
enum which_inode { ANY_FILE, FRESH, ORPHAN, HANDLE };
int ext2_iget(struct ext2 *fs, uint32_t number, enum which_inode which, struct inode **ipp);
int ext2_inode_on_disk(struct ext2 *fs, uint32_t number, struct inode *ip); /* `ip`: the caller's own, in no table */
int ext2_inode_is_there(struct inode *ip); /* 0 if its block can be read */
int ext2_update(struct inode *ip, bool wait); /* writes `disk` to its block by ext2_meta, if it is dirty */
int ext2_update_alone(struct inode *ip, bool wait); /* the same between ext2_begin and ext2_end of its own */
void ext2_change_dtime(struct ext2 *fs, uint32_t number, uint32_t to); /* changes an inode on the device only */
void ext2_hold(struct vnode *vp);
void ext2_release(struct vnode *vp);
void ext2_update_all(struct ext2 *fs); /* the inodes in use */
int ext2_forget(struct ext2 *fs); /* drops all inodes of `fs`: -EBUSY if one other than the root is in use */
void ext2_set_type(struct inode *ip);
static inline uint64_t ext2_size(const struct inode *ip)
{
    return ip->disk.size | (ip->v.type == VREG ? (uint64_t)ip->disk.size_high << 32 : 0);
}
void ext2_set_size(struct inode *ip, uint64_t size);
/*
 * A symbolic link whose text is in place of the pointers: it has no blocks, except perhaps one of extended attributes.
 */
static inline bool ext2_text_is_in_inode(const struct inode *ip)
{
    return ip->v.type == VLNK && ip->disk.sectors == (ip->disk.attributes ? ip->fs->sectors_per_block : 0);
}
void inodes_init(uint32_t most);
uint32_t inodes_referenced(void);

/*
 * ext2_bmap.c. The device's block that holds block `n` of a file, 0 where the file has a hole; with `allocate` never 0,
 * and `*fresh` says that its contents are undefined. With the inode locked. -EFBIG, -ENOSPC, -EIO. With `allocate`,
 * ext2_has_contents is to be called once the block has its contents, or will never have any. ext2_set_pointers: sets
 * the pointers that are still due; after an error blocks are lost, and fsync reports it. `run`, if not null: how many
 * blocks from `n` on are consecutive on the device, at least 1 if there is one. With `allocate` it is on entry the
 * number wanted; if the block is new, all of the run are, and there are no more than that.
 */
int ext2_bmap(struct inode *ip, uint32_t n, bool allocate, uint32_t *block, bool *fresh, uint32_t *run);
int ext2_has_contents(struct inode *ip);
int ext2_set_pointers(struct inode *ip);
/*
 * Makes the file shorter, or longer with a hole. With a journal, between ext2_begin and ext2_end; it may call these in
 * between, too.
 */
int ext2_truncate(struct inode *ip, uint64_t size);
uint64_t ext2_size_limit(const struct ext2 *fs); /* fs->size_most: computed once, by a division of 64 bits */

/* ext2_journal.c. 0; -EINVAL: a journal of an unknown kind; -EIO; -ENOMEM. */
int ext2_journal_replay(struct ext2 *fs);

/*
 * ext2_transaction.c. ext2_log_open: with the boot argument journal=1 and a journal on the device, starts to write the
 * journal; 0, or an error. Without fs->log ext2_begin and ext2_end do nothing.
 */
int ext2_log_open(struct ext2 *fs);
int ext2_log_close(struct ext2 *fs); /* writes all blocks in place, and empties the journal */
int ext2_begin(struct ext2 *fs); /* an error: the log cannot be written; do not call ext2_end then */
void ext2_end(struct ext2 *fs);
int ext2_go_on(struct ext2 *fs); /* ext2_end, and ext2_begin; ext2_end is to be called in any case */
bool ext2_is_full(struct ext2 *fs); /* so much has changed that ext2_go_on must be called before further changes */
/*
 * Releases a buffer of changed metadata: into the transaction, or, without a journal, as bwrite_kept or bdwrite. After
 * an error it may hold the change all the same: a caller that must leave all as it was undoes the change.
 */
int ext2_meta(struct ext2 *fs, struct buf *bp, bool wait);
void ext2_forget_meta(struct ext2 *fs, uint32_t block); /* the block is free, and its contents are not needed */
int ext2_commit(struct ext2 *fs); /* puts all changes on the device: 0, or an error */
/*
 * Whether freeing blocks may help a caller that found none (-ENOSPC, or 0): it frees them then. Not between ext2_begin
 * and ext2_end.
 */
bool ext2_more_room(struct ext2 *fs, int error);
/* Inodes on the list of orphans are removed or cut when the file system is mounted next. */
void ext2_orphan_add(struct inode *ip);
void ext2_orphan_remove(struct inode *ip);
void ext2_orphan_forget(struct inode *ip); /* it leaves memory, and stays on the list */
int ext2_orphans_end(struct ext2 *fs); /* at mount */

/* Without a journal: earlier writes reach the medium before later ones. */
static inline int ext2_line(struct ext2 *fs)
{
    return fs->log ? 0 : bflush_write(fs->device);
}

/*
 * ext2_handle.c, with NFS: a file's number and generation, which no other file has had with that number; the file with
 * both, with a reference, or -ESTALE; a number that distinguishes this file system from others.
 */
void ext2_handle(const struct vnode *vp, uint32_t *number, uint32_t *generation);
int ext2_by_handle(struct mount *m, uint32_t number, uint32_t generation, struct vnode **vpp);
uint32_t ext2_next_generation(struct inode *ip); /* of a new file, whose number another file had before */
uint32_t ext2_volume(const struct mount *m);
void ext2_handle_wait(void); /* a moment, for other threads to go on */

/* ext2_dir.c: with the directory locked. */
int ext2_dir_find(struct inode *dp, const char *name, uint32_t length, uint32_t *number);
int ext2_dir_add(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
int ext2_dir_remove(struct inode *dp, const char *name, uint32_t length);
int ext2_dir_change(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
/* Undoes an addition or change: sets `number` again, or removes the entry (0). It is written some time later. */
void ext2_dir_put_back(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
int ext2_dir_is_there(struct inode *dp, const char *name, uint32_t length); /* 0 if it can be read; else -EIO */
int ext2_dir_begin(struct inode *dp, uint32_t parent); /* a new directory's first block */
int ext2_dir_is_empty(struct inode *dp); /* 1, 0, or an error */
int ext2_dir_read(struct inode *dp, uint64_t offset, dirent_fn *fn, void *arg);

extern const struct vnodeops ext2_vnodeops;
#endif
