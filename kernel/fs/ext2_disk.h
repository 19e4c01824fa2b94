/*
 * The ext2 file system on its device, revision 1, as mke2fs makes it with `-t ext2 -O none,filetype,sparse_super`
 * (Card, Ts'o, Tweedie, *Design and Implementation of the Second Extended Filesystem*; e2fsprogs lib/ext2fs/ext2_fs.h).
 * All numbers are little-endian, as the machine is. A block has 1024, 2048 or 4096 bytes.
 */
#ifndef FS_EXT2_DISK_H
#define FS_EXT2_DISK_H

#include <stdint.h>

#define EXT2_MAGIC 0xef53
#define EXT2_ROOT 2
#define EXT2_FIRST_INODE 11 /* of revision 0 */
#define EXT2_DIRECT 12
#define EXT2_POINTERS 15 /* direct ones, then one for each level of indirection */
#define EXT2_LINKS_MOST 32000

#define EXT2_VALID 1  /* state: cleanly unmounted */
#define EXT2_ERRORS 2

#define EXT2_COMPAT_HAS_JOURNAL 0x4
#define EXT2_COMPAT_SPARSE_SUPER2 0x200
#define EXT2_INCOMPAT_FILETYPE 0x2
#define EXT2_INCOMPAT_RECOVER 0x4
#define EXT2_RO_COMPAT_SPARSE_SUPER 0x1
#define EXT2_RO_COMPAT_LARGE_FILE 0x2

struct ext2_super { /* 1024 bytes at byte 1024 */
    uint32_t inodes, blocks, reserved_blocks, free_blocks, free_inodes;
    uint32_t first_data_block;
    uint32_t log_block_size, log_fragment_size; /* 1024 << it */
    uint32_t blocks_per_group, fragments_per_group, inodes_per_group;
    uint32_t mount_time, write_time;
    uint16_t mounts, mounts_most;
    uint16_t magic, state, errors, minor;
    uint32_t last_check, check_interval, creator, revision;
    uint16_t reserved_uid, reserved_gid;
    uint32_t first_inode;
    uint16_t inode_size, group;
    uint32_t compat, incompat, ro_compat;
    uint8_t uuid[16];
    char name[16], mounted_on[64];
    uint32_t compression;
    uint8_t preallocate, preallocate_directory;
    uint16_t reserved_descriptors;
    uint8_t journal_uuid[16];
    uint32_t journal_inode, journal_device, last_orphan;
    uint32_t rest[88];
    uint32_t backup_groups
        [2]; /* with EXT2_COMPAT_SPARSE_SUPER2: groups with a copy of the superblock, besides the first; 0: none */
    uint32_t rest_behind[107];
};

struct ext2_group {
    uint32_t block_bitmap, inode_bitmap, inode_table; /* blocks */
    uint16_t free_blocks, free_inodes, directories, flags;
    uint32_t rest[3];
};

struct ext2_inode { /* the first 128 bytes of `inode_size`; extended attributes may follow */
    uint16_t mode, uid;
    uint32_t size, atime, ctime, mtime, dtime; /* times are signed */
    uint16_t gid, links;
    uint32_t sectors; /* of 512 bytes, indirect blocks included */
    uint32_t flags, version;
    uint32_t block[EXT2_POINTERS];
    uint32_t generation;
    uint32_t attributes; /* block of extended attributes, or 0; counted in `sectors` */
    uint32_t size_high; /* of regular files */
    uint32_t fragment;
    uint16_t fragments, pad;
    uint16_t uid_high, gid_high;
    uint32_t rest;
};

struct ext2_attributes { /* begins a block of attributes; files with the same ones may share it */
    uint32_t magic, references, blocks, hash;
};
#define EXT2_ATTRIBUTES_MAGIC 0xea020000u

struct ext2_dirent { /* at multiples of 4, within one block */
    uint32_t inode;      /* 0: free space */
    uint16_t size;       /* to the next entry */
    uint8_t name_length;
    uint8_t type;        /* EXT2_TYPE_; with EXT2_INCOMPAT_FILETYPE */
    char name[];
};
#define EXT2_DIRENT_SIZE(length) ((8 + (length) + 3) & ~3u)

enum {
    EXT2_TYPE_UNKNOWN,
    EXT2_TYPE_REG,
    EXT2_TYPE_DIR,
    EXT2_TYPE_CHR,
    EXT2_TYPE_BLK,
    EXT2_TYPE_FIFO,
    EXT2_TYPE_SOCK,
    EXT2_TYPE_LNK
};

#define EXT2_INDEX_FLAG 0x1000 /* of an inode: a directory with a hash tree; a change that ignores it clears it */

_Static_assert(sizeof(struct ext2_super) == 1024 && sizeof(struct ext2_group) == 32 && sizeof(struct ext2_inode) == 128,
               "as on the device");
#endif
