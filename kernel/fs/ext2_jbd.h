/* A JBD journal on the device (ext3's; e2fsprogs lib/ext2fs/kernel-jbd.h). All of it is big-endian. */
#ifndef FS_EXT2_JBD_H
#define FS_EXT2_JBD_H

#include <stdint.h>

#define JBD_MAGIC 0xc03b3998u
enum { JBD_DESCRIPTOR = 1, JBD_COMMIT = 2, JBD_SUPER_1 = 3, JBD_SUPER_2 = 4, JBD_REVOKE = 5 };

#define JBD_TAG_ESCAPED 1u /* the block's first word was the magic number, and is 0 in the log */
#define JBD_TAG_SAME_UUID 2u
#define JBD_TAG_LAST 8u
#define JBD_UUID_SIZE 16u
#define JBD_INCOMPAT_REVOKE 1u

struct jbd_header {
    uint32_t magic, type, sequence;
};

struct jbd_super {
    struct jbd_header header;
    uint32_t block_size, length, first;
    uint32_t sequence, start; /* of the first transaction; 0: the log is empty */
    uint32_t error, compat, incompat, ro_compat;
    uint8_t uuid[JBD_UUID_SIZE];
};

struct jbd_tag { /* in a descriptor, one for each block behind it; a uuid follows the first */
    uint32_t block, flags;
};

static inline uint32_t jbd_big(uint32_t word)
{
    return __builtin_bswap32(word);
}
#endif
