/*
 * run=test-fs: the ext2 file system on disk 0 is mounted, and threads work in it at once: each in a directory of its
 * own, where every result is checked, and all in one shared directory, where files are made, linked, renamed and
 * removed under the same few names, and only impossible results are errors. Then the file system is unmounted. Each
 * thread's own directory keeps a file `log` that the host can compare: its contents follow from this thread's seed.
 *
 *   @test name=fs operations=... refused=... reads=... writes=... hits=... misses=... delayed=... waits=...
 *   conflicts=...
 *
 * Boot arguments: rounds (of each thread, 40), bytes (of a file at most, 6000), workers (threads, two for each
 * hart), bufs, bufchains, inodes (in memory while unused, 24).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "lib/minmax.h"
#include "sched/master.h"
#include "test/test.h"

#define MOST_THREADS BOOT_MOST(test_fs, workers)
#define MOST_BYTES BOOT_MOST(test_fs, bytes)
#define LOG_BYTES 3000u

static uint8_t test_fs_data[MOST_THREADS][MOST_BYTES] __attribute__((section(".noinit")));
static uint8_t back[MOST_THREADS][MOST_BYTES] __attribute__((section(".noinit")));
static uint32_t rounds, test_fs_bytes, operations, refused;

static int test_fs_count(int error)
{
    __atomic_fetch_add(&operations, 1, __ATOMIC_RELAXED);
    if (error)
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
    return error;
}

static void went_well(int error, const char *what, const char *path)
{
    test_fs_count(error);
    if (error)
        panic("%s %s: error %d", what, path, error);
}

#define well(operation, what, path) went_well(UNIX_CALL(operation), what, path)

static int test_fs_transfer(const char *path, void *memory, uint32_t size, uint32_t offset, bool write)
{
    struct vnode *vp;
    struct uio uio;
    int error = vfs_open(0, path, write ? VFS_CREATE | VFS_WRITE : 0, 0644, &vp);
    if (error)
        return error;
    uio_kernel(&uio, memory, size, offset, write);
    error = write ? vfs_write(vp, &uio, false) : vfs_read(vp, &uio);
    if (!error && uio.left)
        error = -EIO;
    vrele(vp);
    return error;
}

/* A file is written in pieces, renamed, linked, cut, read, and removed. */
static void test_fs_alone(unsigned me, uint32_t round, struct random *r)
{
    char a[48], b[48];
    snprintf(a, sizeof a, "/t%u/f%lu", me, (unsigned long)round % 5);
    snprintf(b, sizeof b, "/t%u/d/g%lu", me, (unsigned long)round % 3);
    uint32_t size = 1 + random_below(r, test_fs_bytes - 1), cut = random_below(r, size);
    for (uint32_t i = 0; i < size; i++)
        test_fs_data[me][i] = (uint8_t)random_next(r);
    for (uint32_t at = 0, n; at < size; at += n) {
        n = 1 + random_below(r, size - at);
        well(test_fs_transfer(a, test_fs_data[me] + at, n, at, true), "write", a);
    }
    well(vfs_rename(0, a, b), "rename to", b);
    well(vfs_link(0, b, a), "link", a);
    memset(back[me], 0, size);
    well(test_fs_transfer(a, back[me], size, 0, false), "read", a);
    if (memcmp(test_fs_data[me], back[me], size))
        panic("%s is not what was written", a);
    struct vnode *vp;
    struct vattr attr;
    well(namei(0, b, true, &vp), "look up", b);
    well(vfs_truncate(vp, cut), "truncate", b);
    well(vfs_getattr(vp, &attr), "stat", b);
    if (attr.size != cut || attr.nlink != 2)
        panic("%s: %lu bytes and %u links", b, (unsigned long)attr.size, attr.nlink);
    unix_enter();
    vrele(vp);
    unix_leave();
    well(vfs_remove(0, a, false), "remove", a);
    if (test_fs_count(UNIX_CALL(namei(0, a, true, &vp))) != -ENOENT)
        panic("%s is still there", a);
    if (random_below(r, 2))
        well(vfs_remove(0, b, false), "remove", b);
}

static bool may_be(int error)
{
    return !error || error == -ENOENT || error == -EEXIST || error == -ENOTDIR || error == -EISDIR ||
           error == -ENOTEMPTY || error == -EINVAL || error == -EPERM;
}

static bool any(void *arg, const struct dirent_out *entry)
{
    (void)arg, (void)entry;
    return true;
}

static void test_fs_together(unsigned me, struct random *r)
{
    static const char *const names[] = {"/s/a", "/s/b", "/s/d", "/s/d/a", "/s/d/b", "/s/e", "/s/e/a"};
    const char *a = names[random_below(r, 7)], *b = names[random_below(r, 7)];
    struct vnode *vp;
    int error = 0;
    unix_enter();
    switch (random_below(r, 7)) {
    case 0: error = vfs_make(0, a, VDIR, 0755, 0, 0); break;
    case 1:
        error = test_fs_transfer(a, test_fs_data[me], 1 + random_below(r, 2000), random_below(r, 3000), true);
        break;
    case 2: error = vfs_remove(0, a, false); break;
    case 3: error = vfs_remove(0, a, true); break;
    case 4: error = vfs_rename(0, a, b); break;
    case 5: error = vfs_link(0, a, b); break;
    default:
        error = namei(0, a, true, &vp);
        if (!error) {
            if (vp->type == VDIR)
                error = vfs_readdir(vp, 0, any, 0);
            vrele(vp);
        }
    }
    unix_leave();
    if (!may_be(test_fs_count(error)))
        panic("in the common directory, %s and %s: error %d", a, b, error);
}

static void test_fs_worker(void *arg)
{
    unsigned me = (uintptr_t)arg;
    struct random r = random_from(run_seed, 700 + me);
    char path[32];
    snprintf(path, sizeof path, "/t%u", me);
    well(vfs_make(0, path, VDIR, 0755, 0, 0), "mkdir", path);
    snprintf(path, sizeof path, "/t%u/d", me);
    well(vfs_make(0, path, VDIR, 0755, 0, 0), "mkdir", path);
    for (uint32_t round = 0; round < rounds; round++) {
        test_fs_alone(me, round, &r);
        test_fs_together(me, &r);
    }
    snprintf(path, sizeof path, "/t%u/log", me);
    for (uint32_t i = 0; i < LOG_BYTES; i++)
        test_fs_data[me][i] = (uint8_t)(i * 7 + me * 31 + run_seed);
    well(test_fs_transfer(path, test_fs_data[me], LOG_BYTES, 0, true), "write", path);
}

static int test_fs(void)
{
    static struct blockdev device;
    static struct thread *threads[MOST_THREADS];
    struct block_device *disk = disk_open(0);
    if (!disk)
        panic("run=test-fs: there is no drive: build the machine with disks=1 and give --disk IMAGE");
    rounds = bootargs_number(BOOT(test_fs, rounds));
    test_fs_bytes = bootargs_number(BOOT(test_fs, bytes));
    if (test_fs_bytes < 2)
        panic("run=test-fs: bytes=%lu: give 2 to %u", (unsigned long)test_fs_bytes, MOST_BYTES);
    unix_enter();
    bio_init();
    inodes_init(bootargs_number(BOOT_WITHIN(kernel, inodes, 24, 1000)));
    namecache_init();
    blockdev_of(&device, disk);
    unix_leave();
    struct mount *m;
    well(ext2_mount(&device, false, &m), "mount", "disk 0");
    well(vfs_mount_root(m), "mount", "/");
    well(vfs_make(0, "/s", VDIR, 0755, 0, 0), "mkdir", "/s");
    unsigned n = bootargs_number(BOOT_OR(test_fs, workers, MIN(test_harts() * 2, MOST_THREADS)));
    for (unsigned i = 0; i < n; i++)
        threads[i] = thread_create(test_fs_worker, (void *)(uintptr_t)i, PRI_NORMAL, ANY_HART, "fs test");
    for (unsigned i = 0; i < n; i++)
        thread_join(threads[i]);
    well(vfs_sync(), "sync", "/");
    well(vfs_unmount_all(), "unmount", "/");
    unix_enter();
    assert(!bio_busy() && !inodes_referenced());
    unix_leave();
    well(block_transfer(disk, BLOCK_FLUSH, 0, 0, 0), "flush", "disk 0");
    kprintf(
        "@test name=fs operations=%lu refused=%lu reads=%lu writes=%lu hits=%lu misses=%lu read_ahead=%lu delayed=%lu "
        "waits=%lu conflicts=%lu name_hits=%lu name_misses=%lu\n",
        (unsigned long)operations, (unsigned long)refused, (unsigned long)bufstats.reads,
        (unsigned long)bufstats.writes, (unsigned long)bufstats.hits, (unsigned long)bufstats.misses,
        (unsigned long)bufstats.read_ahead, (unsigned long)bufstats.delayed, (unsigned long)bufstats.waits,
        (unsigned long)bufstats.conflicts, (unsigned long)namecache_counts.hits,
        (unsigned long)namecache_counts.misses);
    return 0;
}

RUN("test-fs", "threads work in an ext2 file system on a disk, apart and together", test_fs);
