/*
 * What a file system can be on, as the buffer cache wants it: a block device (dev/block.h), or memory.
 */
#ifndef FS_DEVICE_H
#define FS_DEVICE_H

#include "fs/buf.h"

/* The block device as blockdev; `d` is its `private`. */
void blockdev_of(struct blockdev *to, struct block_device *d);

/* `sectors` sectors of memory at `at`, which is nobody else's. */
void blockdev_in_memory(struct blockdev *to, const char *name, void *at, uint32_t sectors);
#endif
