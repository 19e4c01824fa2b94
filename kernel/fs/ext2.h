/*
 * The ext2 file system in the kernel. A file of this folder each:
 *
 *   ext2_mount.c   superblock and groups: mount, sync, unmount
 *   ext2_alloc.c   blocks and inodes, free or not: two builds
 *   ext2_inode.c   the table of inodes in memory, read and written
 *   ext2_bmap.c    from a file's block to the device's, and back to free room
 *   ext2_dir.c     entries of directories
 *   ext2_ops.c     what a vnode can be asked (vnode.h)
 *   ext2_journal.c what stands in a journal is carried out at mount
 *   ext2_transaction.c   the journal that this kernel writes
 *   ext2_handle.c  files by inode and generation, for NFS
 *
 * Locking (below vnode.h's): an inode's lock, the vnode's, guards its contents, its blocks and, of a directory, its
 * entries. A thread waits for a buffer only while it has none: so buffers need no order among themselves.
 * Allocation, option `alloc`: with `one`, disk_alloc_lock of the mount is held while a block or inode is looked for and
 * marked, as Mach did at first (paper `mach`, section 3.2); with `groups`, a lock of the block group, and the counts of
 * free things are kept in memory under a small lock, as they share blocks on the device (unlike cylinder groups).
 *
 * An image may hold anything. What it says is checked where it is used: a wrong number is -EIO, counted and said once,
 * never a panic, and nothing outside of the file's own blocks is written.
 *
 * What is on the device at a power cut, without a journal: contents come first, then what points to them: a new
 * indirect or directory block, an inode before its entry, an entry's end before its inode's, an inode without blocks
 * before they are another's. Writes that others wait for are waited for, as in 4.3BSD; what is delayed keeps the order
 * by bpoints (buf.h), and where a drive's cache could turn it about, there is a flush. e2fsck mends what is lost, and
 * frees what nobody points to.
 *
 * With a journal (ext2_transaction.c) metadata are changed between ext2_begin and ext2_end, by ext2_meta, and all that
 * is changed there is on the device after a cut, or nothing. Order: inodes, ext2_begin, allocation, buffers. So all
 * inodes that are needed are locked before ext2_begin, and none is looked up or let go of before ext2_end.
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
    struct ext2_group disk; /* its counts: of counts_lock */
    /*
     * Blocks that are marked in the bitmap and counted as free, from bit `ahead` on: those behind what a file that
     * grows has got. A caller that asks for the first gets them without a look at the bitmap. Under the bitmap's lock;
     * never with a journal.
     */
    uint32_t ahead, ahead_count;
    uint32_t passed; /* how often blocks were marked for others since they were used */
    struct table_lock lock; /* its bitmaps, in the build `groups` */
    uint32_t lost_seen[2]; /* lost_writes when a bitmap (inodes, blocks) was compared with its count last */
    bool dirty;
    /* Or 0: its blocks' bitmap as allocation sees it, with what this transaction has freed. Under the bitmap's lock. */
    uint8_t *held;
};

/*
 * An indirect block's pointers to new blocks that lie one behind the other: none if `in` is 0. They are set when these
 * have their contents, and of a file without a journal later still, for many at once: before the inode goes to its
 * block, and before that block is looked at for anything but where something of the file lies.
 */
struct pointer_to_set {
    uint32_t in, place, block, count;
};

/* What a file's last append leaves for the next one, or to be done. */
struct append {
    uint32_t last_allocated; /* block on the device, where the next one is looked for */
    uint32_t empty_in, empty_place, empty_count; /* of the indirect block `in` so many pointers from there on are 0 */
    struct pointer_to_set to_set; /* ext2_bmap leaves it, ext2_set_pointers sets it */
};

/*
 * What a reader in sequence leaves for the next call; of each inode (4.4BSD's cluster_read; paper `mach`, section 3.2,
 * on why this is no global variable). Block numbers are the file's.
 */
struct read_state {
    uint32_t next; /* block that a read in sequence begins with */
    uint32_t asked; /* reading has begun of all blocks before this one, as far as it has to be read ahead */
    uint32_t window; /* blocks of the next request */
    /* Requests until the window's limit is what it was before blocks were gone again that had not been read. */
    uint32_t lost;
    uint32_t first, count; /* of the file's blocks from `first` on `count` lie one behind the other, */
    uint32_t block; /* from this one on of the device */
};

struct inode {
    struct vnode v; /* first */
    struct ext2 *fs;
    uint32_t number;
    struct ext2_inode disk;
    bool dirty; /* `disk` differs from its block */
    bool fresh; /* what stands behind `disk` in its block is a removed file's: its attributes */
    bool here; /* it has been read, or could not be */
    struct lock reading; /* held until then; none of the tree's, as who waits for it may have a lock below */
    bool gone; /* no file any more, or never read: nothing can be done with it */
    struct read_state reading_on; /* of who has set `read_taken`: one reader at a time */
    uint32_t read_taken;
    uint32_t delayed_first, delayed_count; /* blocks on the device that have been written as a whole, and are delayed */
    uint32_t lost_seen; /* of the device's lost_writes: what came since then fsync tells of */
    struct append append;
    bool grown; /* it leads to new blocks, and its block on the device does not yet */
    bool orphan; /* in the list of those that are to go, or to be cut, after a crash */
    SLIST_ENTRY(inode) orphans; /* of fs->orphan_lock */
    uint32_t references; /* atomic; the first of its chain of the inode table, too (ext2_inode.c) */
    /* of that chain */
    SLIST_ENTRY(inode) hashed;
    bool used; /* since it came to the list, or somebody looked for room */
    bool listed; /* of inode_free_lock, too */
    TAILQ_ENTRY(inode) free; /* while it is listed: of inode_free_lock */
};

struct ext2 {
    struct mount mount; /* first */
    struct blockdev *device;
    struct ext2_super super; /* its counts: of counts_lock */
    uint32_t block_size, block_shift; /* bytes */
    uint64_t size_most; /* of a file */
    uint32_t sectors_per_block;
    uint32_t groups, descriptors_per_block, inode_size, inodes_per_block, table_blocks;
    uint32_t first_inode;
    bool filetype, super_dirty;
    bool sound; /* its state said so when it was mounted, once the journal had been carried out */
    struct group **group; /* pages of pointers are not needed: at most GROUPS_MOST */
    struct table_lock disk_alloc_lock;
    struct simple_lock counts_lock;
    struct vnode *root;
    uint32_t errors; /* wrong numbers met */
    uint32_t lost_writes; /* the device's when it was mounted: more of them by the end, and e2fsck is to look */
    bool forgetting, referred; /* an unmount looks whether an inode is in use; one was found by its number meanwhile */
    uint32_t ending; /* inodes off their chains whose files are being removed */
    struct ext2_log *log; /* or 0: the journal that is written */
    struct lock orphan_lock;
    SLIST_HEAD(, inode) orphans; /* those of super.last_orphan's list that are in memory: its beginning */
};

#define INODE(vp) ((struct inode *)(vp))
#define EXT2(m) ((struct ext2 *)(m))

/* ext2_mount.c */
int ext2_mount(struct blockdev *device, bool read_only, struct mount **mp);
int ext2_error(struct ext2 *fs, const char *what, uint32_t number); /* says that the image is wrong: -EIO */
/* The same of what could not be freed, though nothing may be wrong with it. */
int ext2_keeps(struct ext2 *fs, const char *what, uint32_t number);
struct buf *ext2_bread(struct ext2 *fs, uint32_t block);
struct buf *ext2_bread_shared(struct ext2 *fs, uint32_t block); /* to look at only (bread_shared) */
struct buf *ext2_getblk(struct ext2 *fs, uint32_t block);
/* A block that may hold a file's contents: none of superblocks, bitmaps, tables. */
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
 * ext2_alloc.c: near `goal` if that is not 0; -ENOSPC. Of blocks *count at most, one behind the other, and so many
 * then. `ahead`: so many behind them are for who asks for the next one. ext2_return_ahead: those that are marked for
 * `ip`, or all (0), are free again.
 */
int ext2_balloc(struct ext2 *fs, uint32_t goal, uint32_t ahead, uint32_t *block, uint32_t *count);
int ext2_return_ahead(struct ext2 *fs, const struct inode *ip);
int ext2_bfree(struct ext2 *fs, uint32_t block, bool meta); /* `meta`: no file's contents stood in it */
int ext2_ialloc(struct ext2 *fs, const struct inode *parent, bool directory, uint32_t *number);
int ext2_ifree(struct ext2 *fs, uint32_t number, bool directory);
uint32_t ext2_goal(const struct inode *ip);

/* ext2_inode.c. FRESH: the inode is not read, as it has just been allocated. ORPHAN: it may be one without links. */
/* HANDLE: somebody says that it is one, who need not be right: -ESTALE if it is none. */
enum which_inode { ANY_FILE, FRESH, ORPHAN, HANDLE };
int ext2_iget(struct ext2 *fs, uint32_t number, enum which_inode which, struct inode **ipp);
int ext2_inode_on_disk(struct ext2 *fs, uint32_t number, struct inode *ip); /* one of its own, in no table */
int ext2_inode_is_there(struct inode *ip); /* its block can be read */
int ext2_update(struct inode *ip, bool wait); /* writes `disk` to its block, if it is dirty, by ext2_meta */
int ext2_update_alone(struct inode *ip, bool wait); /* the same between ext2_begin and ext2_end of its own */
void ext2_change_dtime(struct ext2 *fs, uint32_t number, uint32_t to); /* of an inode on the device alone */
void ext2_hold(struct vnode *vp);
void ext2_release(struct vnode *vp);
void ext2_update_all(struct ext2 *fs); /* the inodes in use */
int ext2_forget(struct ext2 *fs); /* all inodes of it: -EBUSY if one but the root's is in use */
void ext2_set_type(struct inode *ip);
static inline uint64_t ext2_size(const struct inode *ip)
{
    return ip->disk.size | (ip->v.type == VREG ? (uint64_t)ip->disk.size_high << 32 : 0);
}
void ext2_set_size(struct inode *ip, uint64_t size);
/*
 * A symbolic link with its text where others have pointers: it has no blocks, but perhaps one of extended attributes.
 */
static inline bool ext2_text_is_in_inode(const struct inode *ip)
{
    return ip->v.type == VLNK && ip->disk.sectors == (ip->disk.attributes ? ip->fs->sectors_per_block : 0);
}
void inodes_init(uint32_t most);
uint32_t inodes_referenced(void);

/*
 * ext2_bmap.c. The block of the device that holds block `n` of a file, 0 where the file has a hole; with `allocate`
 * never 0, and `*fresh` says that its contents are whatever was there. With the inode locked. -EFBIG, -ENOSPC, -EIO.
 * With `allocate`, ext2_has_contents is to be called once the block has its contents, or will never have any.
 * ext2_set_pointers: what is left to be set is set now; with an error blocks are lost, and fsync tells of it.
 * `run`, if not null: how many blocks from `n` on follow each other on the device, 1 at least if there is one. With
 * `allocate` it says before how many are wanted; if the block is new, so are these, and they are no more.
 */
int ext2_bmap(struct inode *ip, uint32_t n, bool allocate, uint32_t *block, bool *fresh, uint32_t *run);
int ext2_has_contents(struct inode *ip);
int ext2_set_pointers(struct inode *ip);
/*
 * Shorter, or longer with a hole. With a journal, between ext2_begin and ext2_end, and these may be called in between,
 * too.
 */
int ext2_truncate(struct inode *ip, uint64_t size);
uint64_t ext2_size_limit(const struct ext2 *fs); /* fs->size_most: by a division of 64 bits, once */

/* ext2_journal.c. 0; -EINVAL: a journal that it does not know; -EIO; -ENOMEM. */
int ext2_journal_replay(struct ext2 *fs);

/*
 * ext2_transaction.c. ext2_log_open: with the boot argument journal=1 and a journal on the device it is written from
 * now on; 0, or an error. Without fs->log ext2_begin, ext2_end do nothing.
 */
int ext2_log_open(struct ext2 *fs);
int ext2_log_close(struct ext2 *fs); /* all is where it belongs, and the journal empty */
int ext2_begin(struct ext2 *fs); /* an error: the log cannot be written, and there is no ext2_end to come */
void ext2_end(struct ext2 *fs);
int ext2_go_on(struct ext2 *fs); /* ext2_end, and ext2_begin; ext2_end is to come in any case */
bool ext2_is_full(struct ext2 *fs); /* so much has been changed that ext2_go_on is to come before more is */
/*
 * Lets go of a buffer of metadata that has been changed: into the transaction, or, without a journal, as bwrite_kept or
 * bdwrite. After an error it may hold the change all the same: a caller that must leave all as it was puts that back.
 */
int ext2_meta(struct ext2 *fs, struct buf *bp, bool wait);
void ext2_forget_meta(struct ext2 *fs, uint32_t block); /* it is free, and what stood there not wanted any more */
int ext2_commit(struct ext2 *fs); /* all that has been changed is on the device: 0, or an error */
/*
 * Whether freeing blocks may help who has found none (-ENOSPC, or 0): then they are free now. Not between ext2_begin
 * and ext2_end.
 */
bool ext2_more_room(struct ext2 *fs, int error);
/* What hangs on the list of orphans is removed or cut when the file system is mounted next. */
void ext2_orphan_add(struct inode *ip);
void ext2_orphan_remove(struct inode *ip);
void ext2_orphan_forget(struct inode *ip); /* it goes from memory, and stays on the list */
int ext2_orphans_end(struct ext2 *fs); /* at mount */

/* Without a journal: what has been written is on the medium before what comes. */
static inline int ext2_line(struct ext2 *fs)
{
    return fs->log ? 0 : bflush_write(fs->device);
}

/*
 * ext2_handle.c, with NFS: a file's number and generation, which no other file has had with that number; the file that
 * has both, with a reference, or -ESTALE; a number that tells this file system from others.
 */
void ext2_handle(const struct vnode *vp, uint32_t *number, uint32_t *generation);
int ext2_by_handle(struct mount *m, uint32_t number, uint32_t generation, struct vnode **vpp);
uint32_t ext2_next_generation(struct inode *ip); /* of a new file, whose number another one had before */
uint32_t ext2_volume(const struct mount *m);
void ext2_handle_wait(void); /* a moment, for others to go on */

/* ext2_dir.c: with the directory locked. */
int ext2_dir_find(struct inode *dp, const char *name, uint32_t length, uint32_t *number);
int ext2_dir_add(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
int ext2_dir_remove(struct inode *dp, const char *name, uint32_t length);
int ext2_dir_change(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
/* What was added or changed is as it was before: `number` again, or 0: none. It is written some time later. */
void ext2_dir_put_back(struct inode *dp, const char *name, uint32_t length, uint32_t number, enum vtype type);
int ext2_dir_is_there(struct inode *dp, const char *name, uint32_t length); /* it can be read; else -EIO */
int ext2_dir_begin(struct inode *dp, uint32_t parent); /* a new directory's first block */
int ext2_dir_is_empty(struct inode *dp); /* 1, 0, or an error */
int ext2_dir_read(struct inode *dp, uint64_t offset, dirent_fn *fn, void *arg);

extern const struct vnodeops ext2_vnodeops;
#endif
