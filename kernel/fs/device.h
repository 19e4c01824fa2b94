/*
 * What a file system can be on, in the form the buffer cache needs: a block device (dev/block.h), or memory.
 */
#ifndef FS_DEVICE_H
#define FS_DEVICE_H

#include "fs/buf.h"

/* Makes `to` stand for the block device `d`, which becomes its `private`. */
void blockdev_of(struct blockdev *to, struct block_device *d);

/* `sectors` sectors of memory at `at`, used for nothing else. */
void blockdev_in_memory(struct blockdev *to, const char *name, void *at, uint32_t sectors);
#endif
