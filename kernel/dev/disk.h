/*
 * Driver of the disk controller (hw/disk), as a block device (block.h). Boot arguments, for all units:
 *
 *   disk.mode         dma (default), or pio: data by the hart, an interrupt per cluster
 *   disk.depth        requests that the controller gets at once by DMA, 1 to 16 (8)
 *   disk.cluster      sectors of a cluster, 1 to 16 (16)
 *   disk.data_cycles  cycles of an access to the data register, 2 to 255 (2)
 *   disk.seek         1: by programmed I/O, a separate seek before each transfer, as a floppy's driver does (0)
 *   disk.hart         the hart that takes the interrupts (0)
 *   disk.patience     milliseconds until an unanswered request is retried, and as many more for each
 *                     32 KiB of it and for the requests under way with it; 0: never (1000)
 *
 * Locking: the block device's lock.
 */
#ifndef DEV_DISK_H
#define DEV_DISK_H

#include "dev/block.h"

/* What an interrupt was for; the last one in this order if it was for several. */
enum disk_cause { DISK_FOR_NOTHING, DISK_FOR_SEEK, DISK_FOR_DATA, DISK_FOR_DONE, DISK_CAUSES };

/* Opens unit 0 or 1, driven by interrupts from now on; 0 if there is no controller or no drive. From a thread. */
struct block_device *disk_open(unsigned unit);

/*
 * Called after each interrupt, at its level, with the cycles from the handler's first instruction on. For one unit at a
 * time.
 */
typedef void disk_watcher(enum disk_cause cause, uint32_t cycles);
void disk_watch(disk_watcher *watcher);

uint32_t disk_spurious(const struct block_device *d); /* interrupts without a cause */
#endif
