/*
 * run=file-rate: how fast a file is written and read from its beginning to its end, compared with the lower bounds.
 * The drive (--disk) is given a file system; a file of `bytes` is written in pieces of `piece` bytes and flushed
 * to the medium (fsync), and read in such pieces when no cache holds it any more. Prints, for op=write and op=read,
 *
 *   @file_rate op=... bytes=... piece=... cycles=... raw=... copy=... requests=...
 *
 * cycles     until the last byte is on the medium, or in the reader's memory
 * raw        the same bytes between the drive and memory by requests of 64 KiB, of which two are under way: the drive's
 * rate
 * copy       the same bytes copied once, from memory that no cache holds to the reader's
 * requests   for the file's transfer
 *
 * Boot arguments: bytes (131072), piece (4096), block (1024: bytes of the file system's), bufs (fs/bio.c).
 */
#include <string.h>

#include "arch/csr.h"
#include "bench/ext2_format.h"
#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/event.h"
#include "sched/master.h"
#include "sched/sched.h"

#define BYTES_MOST BOOT_MOST(bench_file_rate, bytes)
#define RAW 65536u
_Static_assert(BOOT_MOST(bench_file_rate, piece) <= RAW / 2, "memory holds two pieces");
#define RAW_LBA 12288u /* beyond the file's blocks */

static uint8_t memory[2][RAW] __attribute__((aligned(64), section(".noinit")));
static struct blockdev device;
static uint32_t file_rate_bytes, piece;
DEFINE_EVENT(first_done, "file rate", SPL_BIO);
DEFINE_EVENT(second_done, "file rate", SPL_BIO);

static void file_rate_check(int error, const char *what)
{
    if (error)
        panic("run=file-rate: %s: error %d", what, error);
}

static struct vnode *mounted(struct block_device *disk, unsigned flags)
{
    struct mount *m;
    struct vnode *vp;
    blockdev_of(&device, disk);
    file_rate_check(ext2_mount(&device, false, &m), "mount");
    file_rate_check(vfs_mount_root(m), "mount of the root");
    file_rate_check(vfs_open(0, "/file", flags, 0644, &vp), "open");
    return vp;
}

static void file_rate_unmount(struct vnode *vp)
{
    vrele(vp);
    file_rate_check(vfs_unmount_all(), "unmount");
}

static uint32_t file_rate_transfer(struct vnode *vp, bool write)
{
    uint32_t begin = cycles32();
    for (uint32_t at = 0, n; at < file_rate_bytes; at += n) {
        struct uio uio;
        n = MIN(file_rate_bytes - at, piece);
        uio_kernel(&uio, memory[0], n, at, write);
        file_rate_check(write ? vfs_write(vp, &uio, false) : vfs_read(vp, &uio), write ? "write" : "read");
        if (uio.left)
            panic("run=file-rate: %lu bytes are missing", (unsigned long)uio.left);
    }
    if (write)
        file_rate_check(vfs_fsync(vp), "fsync");
    return cycles32() - begin;
}

/* Always two requests under way. */
static uint32_t raw(struct block_device *disk, unsigned op)
{
    static struct block_io io[2];
    struct event *done[] = {&first_done, &second_done};
    uint32_t begin = cycles32();
    for (uint32_t at = 0, i = 0; at < file_rate_bytes + 2 * RAW; at += RAW, i ^= 1) {
        if (at >= 2 * RAW) {
            event_take(done[i]);
            file_rate_check(io[i].error, "the drive");
        }
        if (at >= file_rate_bytes)
            continue;
        uint32_t n = MIN(file_rate_bytes - at, RAW);
        io[i] = (struct block_io){.op = (uint8_t)op,
                                  .lba = RAW_LBA + at / SECTOR_SIZE,
                                  .count = n / SECTOR_SIZE,
                                  .data = memory[i],
                                  .event = done[i]};
        file_rate_check(block_submit(disk, &io[i]), "a request");
    }
    return cycles32() - begin;
}

/* Copies between halves of memory, alternately, which the data cache does not hold. */
static uint32_t copied(void)
{
    uint32_t begin = cycles32();
    for (uint32_t at = 0; at < file_rate_bytes; at += piece)
        memcpy(memory[0] + at % RAW / 2, memory[1] + at % RAW / 2, piece);
    return cycles32() - begin;
}

static void file_rate_print(const char *op, uint32_t cycles, uint32_t drive, uint32_t requests)
{
    kprintf("@file_rate op=%s bytes=%lu piece=%lu cycles=%lu raw=%lu copy=%lu requests=%lu\n", op,
            (unsigned long)file_rate_bytes, (unsigned long)piece, (unsigned long)cycles, (unsigned long)drive,
            (unsigned long)copied(), (unsigned long)requests);
}

static int file_rate(void)
{
    struct block_device *disk = disk_open(0);
    file_rate_bytes = bootargs_number(BOOT(bench_file_rate, bytes));
    piece = bootargs_number(BOOT(bench_file_rate, piece));
    if (!disk || disk->sectors < RAW_LBA + BYTES_MOST / SECTOR_SIZE)
        panic("run=file-rate: there is no drive of 7 MB: build the machine with disks=1 and give --disk IMAGE");
    if (!piece || piece % 8 || file_rate_bytes < 4 * RAW / 2 || file_rate_bytes % SECTOR_SIZE)
        panic("run=file-rate: give piece=8 at least, a multiple of it, and bytes=131072 at least, whole sectors");
    ext2_format(disk, bootargs_number(BOOT(bench_file_rate, block)));
    unix_enter();
    bio_init();
    inodes_init(16);
    namecache_init();
    struct vnode *vp = mounted(disk, VFS_CREATE | VFS_TRUNCATE | VFS_WRITE);
    uint32_t before = disk->submitted, took = file_rate_transfer(vp, true), requests = disk->submitted - before;
    file_rate_unmount(vp);
    file_rate_print("write", took, raw(disk, BLOCK_WRITE), requests);
    vp = mounted(disk, 0);
    before = disk->submitted;
    took = file_rate_transfer(vp, false);
    requests = disk->submitted - before;
    file_rate_print("read", took, raw(disk, BLOCK_READ), requests);
    file_rate_unmount(vp);
    unix_leave();
    return 0;
}

RUN("file-rate", "a file written and read from beginning to end, beside the drive's rate and a copy", file_rate);
