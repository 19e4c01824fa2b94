/* Making an ext2 file system (ext2_format.h). */
#include "bench/ext2_format.h"

#include <string.h>

#include "fs/ext2_disk.h"
#include "lib/minmax.h"
#include "lib/panic.h"

#define BLOCK_MOST 4096u
#define GROUP_BLOCKS 512u
#define GROUP_INODES 64u
#define TABLE_BYTES (GROUP_INODES * sizeof(struct ext2_inode))
#define GROUPS_MOST (1024u / sizeof(struct ext2_group)) /* so that their descriptors fit in one block */
#define SUPER_AT 1024u                                   /* bytes from the beginning of the drive */
#define RESERVED_INODES (EXT2_FIRST_INODE - 1)

static union {
    uint8_t byte[BLOCK_MOST];
    struct ext2_group group[GROUPS_MOST];
    struct ext2_inode inode[BLOCK_MOST / sizeof(struct ext2_inode)];
} at __attribute__((aligned(8)));

static uint8_t empty_table[TABLE_BYTES] __attribute__((aligned(8)));
static uint32_t block_size;

static void ext2_format_write_blocks(struct block_device *disk, uint32_t block, uint32_t count, void *data)
{
    uint32_t sectors = block_size / SECTOR_SIZE;
    int error = block_transfer(disk, BLOCK_WRITE, block * sectors, count * sectors, data);
    if (error)
        panic("%s: block %lu cannot be written: error %d", disk->name, (unsigned long)block, error);
}

static void ext2_format_put(struct block_device *disk, uint32_t block)
{
    ext2_format_write_blocks(disk, block, 1, &at);
    memset(&at, 0, sizeof at);
}

/* Sets the bits of blocks or inodes in use: those below `used`, and those from `size` on. */
static void put_bitmap(struct block_device *disk, uint32_t block, uint32_t used, uint32_t size)
{
    for (uint32_t n = 0; n < 8 * block_size; n++)
        if (n < used || n >= size)
            at.byte[n / 8] |= 1 << n % 8;
    ext2_format_put(disk, block);
}

static void put_root(struct block_device *disk, uint32_t block)
{
    static struct {
        struct ext2_dirent dot;
        char dot_name[4];
        struct ext2_dirent up;
        char up_name[4];
    } entries = {{EXT2_ROOT, 12, 1, EXT2_TYPE_DIR, {}}, ".", {EXT2_ROOT, 0, 2, EXT2_TYPE_DIR, {}}, ".."};
    entries.up.size = (uint16_t)(block_size - 12);
    memcpy(at.byte, &entries, sizeof entries);
    ext2_format_put(disk, block);
}

struct shape {
    uint32_t begin, blocks, groups, overhead; /* the last of a group: superblock, descriptors, bitmaps, inodes */
};

/* The superblock, and after it the descriptors of all groups, of which each group has a copy. */
static void put_super(struct block_device *disk, const struct shape *of, uint32_t copy)
{
    uint32_t first = of->begin + copy * GROUP_BLOCKS, free = 0;
    for (uint32_t g = 0; g < of->groups; g++) {
        uint32_t from = of->begin + g * GROUP_BLOCKS, left = MIN(of->blocks - from, GROUP_BLOCKS);
        at.group[g] = (struct ext2_group){.block_bitmap = from + 2,
                                          .inode_bitmap = from + 3,
                                          .inode_table = from + 4,
                                          .free_blocks = left - of->overhead - !g,
                                          .free_inodes = GROUP_INODES - (g ? 0 : RESERVED_INODES),
                                          .directories = !g};
        free += at.group[g].free_blocks;
    }
    ext2_format_put(disk, first + 1);
    struct ext2_super super = {.inodes = of->groups * GROUP_INODES,
                               .blocks = of->blocks,
                               .free_blocks = free,
                               .free_inodes = of->groups * GROUP_INODES - RESERVED_INODES,
                               .first_data_block = of->begin,
                               .log_block_size = block_size == 1024 ? 0 : block_size / 2048,
                               .log_fragment_size = block_size == 1024 ? 0 : block_size / 2048,
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
    memcpy(at.byte + (copy || of->begin ? 0 : SUPER_AT), &super, sizeof super);
    ext2_format_put(disk, first);
}

void ext2_format(struct block_device *disk, uint32_t size)
{
    if (size != 1024 && size != 2048 && size != BLOCK_MOST)
        panic("blocks of %lu bytes: give 1024, 2048 or 4096", (unsigned long)size);
    block_size = size;
    uint32_t sectors = size / SECTOR_SIZE, begin = size == SUPER_AT, table = TABLE_BYTES / size;
    uint32_t overhead = 2 + 2 + table; /* of a group: superblock, descriptors, bitmaps, inodes */
    uint32_t blocks = disk->sectors / sectors, groups = (blocks - begin + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
    if (groups > GROUPS_MOST)
        groups = GROUPS_MOST;
    if (blocks > begin + groups * GROUP_BLOCKS)
        blocks = begin + groups * GROUP_BLOCKS;
    if (groups > 1 && blocks - begin - (groups - 1) * GROUP_BLOCKS <= overhead) {
        groups--; /* the last group has no room for its tables */
        blocks = begin + groups * GROUP_BLOCKS;
    }
    if (disk->sectors < sectors || blocks < 2 * overhead)
        panic("%s: %lu sectors are too few for a file system", disk->name, (unsigned long)disk->sectors);
    uint32_t root = begin + overhead;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t first = begin + g * GROUP_BLOCKS, left = MIN(blocks - first, GROUP_BLOCKS);
        put_bitmap(disk, first + 2, overhead + !g, left);
        put_bitmap(disk, first + 3, g ? 0 : RESERVED_INODES, GROUP_INODES);
        ext2_format_write_blocks(disk, first + 4, table, empty_table);
    }
    at.inode[EXT2_ROOT - 1] =
        (struct ext2_inode){.mode = 0040755, .size = size, .links = 2, .sectors = sectors, .block = {root}};
    ext2_format_put(disk, begin + 4);
    put_root(disk, root);
    const struct shape shape = {begin, blocks, groups, overhead};
    for (uint32_t copy = 0; copy < groups; copy++)
        put_super(disk, &shape, copy);
}
