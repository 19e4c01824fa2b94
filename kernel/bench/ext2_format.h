/*
 * An empty ext2 file system on a drive, for benches: what mke2fs would make, so that a drive may have any content.
 */
#ifndef BENCH_EXT2_FORMAT_H
#define BENCH_EXT2_FORMAT_H

#include "dev/block.h"

/*
 * Blocks of `size` bytes, 1024, 2048 or 4096, in groups of 512 with 64 inodes each. Uses the whole drive, up to 32
 * groups. Panics if that is impossible.
 */
void ext2_format(struct block_device *disk, uint32_t size);
#endif
