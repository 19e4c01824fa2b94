/*
 * run=file-cost: what calls of the file system cost when all data are in the cache, on a file system in memory, without
 * waits for a drive; and how much faster several harts read several files than one hart one. A drive (--disk) of
 * `IMAGE` bytes is given a file system, which is copied to memory. Prints
 *
 *   @file_cost op=... count=... cycles=...      open (and close), stat, create, unlink, read and write of one byte
 *   @file_scale threads=... reads=... cycles=...    cached reads of 512 bytes, each thread's of a file of its own,
 *                                                   until the last has ended
 *
 * With the build option locks=none, on one hart, the first is the floor: the same kernel without its blocking locks.
 *
 * Boot arguments: iterations (200) of each call, reads (400) of each thread; readers: at most so many threads
 * (the harts; 0: none).
 */
#include <stdio.h>
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
#include "sched/master.h"
#include "sched/sched.h"

#define IMAGE (1u << 20)
#define MOST_THREADS BOOT_MOST(bench_file_cost, readers)
#define PIECE 512u
#define FILE_BYTES 16384u /* its blocks share a hash chain with no other file's */

static uint8_t image[IMAGE] __attribute__((aligned(64), section(".noinit")));
static uint8_t memory[MOST_THREADS][PIECE] __attribute__((aligned(64)));
static struct blockdev device;
static uint32_t reads;
static uint32_t ready, threads_of_run, began, ended[MOST_THREADS];
static volatile bool go;

#define CALL(operation)                                               \
    do {                                                              \
        int error_ = UNIX_CALL(operation);                            \
        if (error_)                                                   \
            panic("run=file-cost: %s: error %d", #operation, error_); \
    } while (0)

static int close(struct vnode *vp)
{
    vrele(vp);
    return 0;
}

static int opened(const char *path, unsigned flags)
{
    struct vnode *vp;
    int error = vfs_open(0, path, flags, 0644, &vp);
    return error ? error : close(vp);
}

static int stat(const char *path)
{
    struct vnode *vp;
    struct vattr attr;
    int error = namei(0, path, true, &vp);
    if (error)
        return error;
    error = vfs_getattr(vp, &attr);
    vrele(vp);
    return error;
}

static int file_cost_transfer(struct vnode *vp, void *data, uint32_t size, uint32_t offset, bool write)
{
    struct uio uio;
    uio_kernel(&uio, data, size, offset, write);
    return write ? vfs_write(vp, &uio, false) : vfs_read(vp, &uio);
}

static uint32_t iterations;

#define MEASURE(op, operation)                                                              \
    do {                                                                                    \
        uint32_t total_ = 0, begin_;                                                        \
        for (uint32_t i_ = 0; i_ < iterations + 2; i_++) {                                  \
            begin_ = cycles32();                                                            \
            CALL(operation);                                                                \
            total_ += i_ < 2 ? 0 : cycles32() - begin_; /* the first two fill the caches */ \
        }                                                                                   \
        file_cost_print(op, total_);                                                        \
    } while (0)

static void file_cost_print(const char *op, uint32_t cycles)
{
    kprintf("@file_cost op=%s count=%lu cycles=%lu\n", op, (unsigned long)iterations, (unsigned long)cycles);
}

/* A name is created and removed alternately, so that each is measured in the same directory. */
static void made_and_removed(void)
{
    uint32_t create = 0, unlink = 0;
    for (uint32_t i = 0; i < iterations + 2; i++) {
        uint32_t begin = cycles32();
        CALL(opened("/d/new", VFS_CREATE | VFS_WRITE));
        uint32_t between = cycles32();
        CALL(vfs_remove(0, "/d/new", false));
        create += i < 2 ? 0 : between - begin;
        unlink += i < 2 ? 0 : cycles32() - between;
    }
    file_cost_print("create", create);
    file_cost_print("unlink", unlink);
}

static void calls(void)
{
    struct vnode *vp;
    CALL(vfs_open(0, "/d/f0", VFS_WRITE, 0, &vp));
    MEASURE("open", opened("/d/f0", 0));
    MEASURE("stat", stat("/d/f0"));
    made_and_removed();
    MEASURE("read", file_cost_transfer(vp, memory[0], 1, 100, false));
    MEASURE("write", file_cost_transfer(vp, memory[0], 1, 100, true));
    CALL(close(vp));
}

static void file_cost_reader(void *arg)
{
    unsigned me = (uintptr_t)arg;
    char path[16];
    struct vnode *vp;
    snprintf(path, sizeof path, "/d/f%u", me);
    CALL(vfs_open(0, path, 0, 0, &vp));
    for (uint32_t at = 0; at < FILE_BYTES; at += PIECE)
        CALL(file_cost_transfer(vp, memory[me], PIECE, at, false));
    if (__atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL) == threads_of_run) {
        began = cycles32();
        go = true;
    }
    while (!go)
        thread_yield(); /* in the serial kernel the other threads run on the master's hart */
    for (uint32_t i = 0; i < reads; i++)
        CALL(file_cost_transfer(vp, memory[me], PIECE, i * PIECE % FILE_BYTES, false));
    ended[me] = cycles32();
    CALL(close(vp));
}

static void file_cost_together(unsigned n)
{
    struct thread *threads[MOST_THREADS];
    uint32_t took = 0;
    ready = 0;
    go = false;
    threads_of_run = n;
    for (unsigned i = 0; i < n; i++)
        threads[i] = thread_create(file_cost_reader, (void *)(uintptr_t)i, PRI_NORMAL, ANY_HART, "file cost");
    for (unsigned i = 0; i < n; i++) {
        thread_join(threads[i]);
        took = MAX(ended[i] - began, took);
    }
    kprintf("@file_scale threads=%u reads=%lu cycles=%lu\n", n, (unsigned long)reads, (unsigned long)took);
}

static int file_cost(void)
{
    struct block_device *disk = disk_open(0);
    iterations = bootargs_number(BOOT(bench_file_cost, iterations));
    reads = bootargs_number(BOOT(bench_file_cost, reads));
    if (!disk || disk->sectors != IMAGE / SECTOR_SIZE)
        panic("run=file-cost: there is no drive of 1 MiB: build the machine with disks=1 and give --disk IMAGE");
    if (!iterations || !reads)
        panic("run=file-cost: give iterations=1 and reads=1 at least");
    ext2_format(disk, 1024);
    if (block_transfer(disk, BLOCK_READ, 0, IMAGE / SECTOR_SIZE, image))
        panic("run=file-cost: the drive cannot be read");
    unix_enter();
    bio_init();
    inodes_init(32);
    namecache_init();
    unix_leave();
    blockdev_in_memory(&device, "memory", image, IMAGE / SECTOR_SIZE);
    struct mount *m;
    CALL(ext2_mount(&device, false, &m));
    CALL(vfs_mount_root(m));
    CALL(vfs_make(0, "/d", VDIR, 0755, 0, 0));
    uint32_t most = bootargs_number(BOOT(bench_file_cost, readers));
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        char path[16];
        struct vnode *vp;
        snprintf(path, sizeof path, "/d/f%u", i);
        CALL(vfs_open(0, path, VFS_CREATE | VFS_WRITE, 0644, &vp));
        for (uint32_t at = 0; at < FILE_BYTES; at += PIECE)
            CALL(file_cost_transfer(vp, memory[i], PIECE, at, true));
        CALL(close(vp));
    }
    CALL(vfs_sync());
    calls();
    for (unsigned n = 1; n <= hart_count && n <= most; n *= 2)
        file_cost_together(n);
    return 0;
}

RUN("file-cost", "calls of the file system on cached files, and several harts that read one each", file_cost);
