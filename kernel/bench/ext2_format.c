/* Making an ext2 file system (ext2_format.h). */
#include "bench/ext2_format.h"

#include <string.h>

#include "fs/ext2_disk.h"
#include "lib/panic.h"

#define BLOCK 1024u
#define GROUP_BLOCKS 512u
#define GROUP_INODES 64u
#define TABLE_BLOCKS (GROUP_INODES * sizeof(struct ext2_inode) / BLOCK)
#define GROUPS_MOST (BLOCK / sizeof(struct ext2_group))
#define OVERHEAD (2 + 2 + TABLE_BLOCKS) /* of a group: superblock, descriptors, bitmaps, inodes */
#define RESERVED_INODES (EXT2_FIRST_INODE - 1)

static union {
    uint8_t byte[BLOCK];
    struct ext2_super super;
    struct ext2_group group[GROUPS_MOST];
    struct ext2_inode inode[BLOCK / sizeof(struct ext2_inode)];
} at __attribute__((aligned(8)));

static uint8_t empty_table[TABLE_BLOCKS * BLOCK] __attribute__((aligned(8)));

static void write_blocks(struct block_device *disk, uint32_t block, uint32_t count, void *data)
{
    int error = block_transfer(disk, BLOCK_WRITE, block * 2, count * 2, data);
    if (error)
        panic("%s: block %lu cannot be written: error %d", disk->name, (unsigned long)block, error);
}

static void put(struct block_device *disk, uint32_t block)
{
    write_blocks(disk, block, 1, &at);
    memset(&at, 0, sizeof at);
}

/* Bits that are taken: those below `used`, and those from `size` on. */
static void put_bitmap(struct block_device *disk, uint32_t block, uint32_t used, uint32_t size)
{
    for (uint32_t n = 0; n < 8 * BLOCK; n++)
        if (n < used || n >= size)
            at.byte[n / 8] |= 1 << n % 8;
    put(disk, block);
}

static void put_root(struct block_device *disk, uint32_t block)
{
    static const struct {
        struct ext2_dirent dot;
        char dot_name[4];
        struct ext2_dirent up;
        char up_name[4];
    } entries = {{EXT2_ROOT, 12, 1, EXT2_TYPE_DIR, {}}, ".", {EXT2_ROOT, BLOCK - 12, 2, EXT2_TYPE_DIR, {}}, ".."};
    memcpy(at.byte, &entries, sizeof entries);
    put(disk, block);
}

void ext2_format(struct block_device *disk)
{
    uint32_t blocks = disk->sectors / 2, groups = (blocks - 1 + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
    if (groups > GROUPS_MOST)
        groups = GROUPS_MOST;
    if (blocks > 1 + groups * GROUP_BLOCKS)
        blocks = 1 + groups * GROUP_BLOCKS;
    if (groups > 1 && blocks - 1 - (groups - 1) * GROUP_BLOCKS <= OVERHEAD) {
        groups--; /* the last one has no room for its tables */
        blocks = 1 + groups * GROUP_BLOCKS;
    }
    if (disk->sectors < 2 || blocks < 2 * OVERHEAD)
        panic("%s: %lu sectors are too few for a file system", disk->name, (unsigned long)disk->sectors);
    uint32_t root = 1 + OVERHEAD;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t first = 1 + g * GROUP_BLOCKS, size = blocks - first < GROUP_BLOCKS ? blocks - first : GROUP_BLOCKS;
        put_bitmap(disk, first + 2, OVERHEAD + !g, size);
        put_bitmap(disk, first + 3, g ? 0 : RESERVED_INODES, GROUP_INODES);
        write_blocks(disk, first + 4, TABLE_BLOCKS, empty_table);
    }
    at.inode[EXT2_ROOT - 1] =
        (struct ext2_inode){.mode = 0040755, .size = BLOCK, .links = 2, .sectors = 2, .block = {root}};
    put(disk, 1 + 4);
    put_root(disk, root);
    for (uint32_t copy = 0; copy < groups; copy++) {
        uint32_t first = 1 + copy * GROUP_BLOCKS, free = 0;
        for (uint32_t g = 0; g < groups; g++) {
            uint32_t begin = 1 + g * GROUP_BLOCKS, size = blocks - begin < GROUP_BLOCKS ? blocks - begin : GROUP_BLOCKS;
            at.group[g] = (struct ext2_group){.block_bitmap = begin + 2,
                                              .inode_bitmap = begin + 3,
                                              .inode_table = begin + 4,
                                              .free_blocks = size - OVERHEAD - !g,
                                              .free_inodes = GROUP_INODES - (g ? 0 : RESERVED_INODES),
                                              .directories = !g};
            free += at.group[g].free_blocks;
        }
        put(disk, first + 1);
        at.super = (struct ext2_super){.inodes = groups * GROUP_INODES,
                                       .blocks = blocks,
                                       .free_blocks = free,
                                       .free_inodes = groups * GROUP_INODES - RESERVED_INODES,
                                       .first_data_block = 1,
                                       .blocks_per_group = GROUP_BLOCKS,
                                       .fragments_per_group = GROUP_BLOCKS,
                                       .inodes_per_group = GROUP_INODES,
                                       .mounts_most = 0xffff,
                                       .magic = EXT2_MAGIC,
                                       .state = EXT2_VALID,
                                       .errors = 1,
                                       .revision = 1,
                                       .first_inode = EXT2_FIRST_INODE,
                                       .inode_size = sizeof(struct ext2_inode),
                                       .group = copy,
                                       .incompat = EXT2_INCOMPAT_FILETYPE};
        put(disk, first);
    }
}
