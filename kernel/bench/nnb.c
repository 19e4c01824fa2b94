/*
 * run=nnb: the Neal Nelson Benchmark's tests (nnb_tests.h) by programs (by=processes; by=threads: threads that share a
 * descriptor table; user/programs/nnb.c), with root=disk0; or, by=kernel, by threads of the kernel, which enter the
 * file system where system calls do and by the same rules (sched/master.h: unix_enter), without the programs and calls
 * above. All drives are given a file system and mounted, the first as the root, the second at /1; each drive has the
 * same share of the users' working files. Each test is done by as many users at once as the list `users` says, who all
 * begin at the same moment:
 *
 *   @nnb test=... users=... disks=... harts=... cycles=... mean=... hits=... misses=... read_ahead=... delayed=...
 *   waits=...
 *        conflicts=...
 *
 * cycles   from the beginning until the last user has finished: the paper's completion time
 * mean     the mean over the users
 * others   of the buffer cache, in that time (fs/buf.h); by=kernel only, as is
 *
 * the measured part (probes WINDOW_BEGIN and _END), which encloses each, so that a run of one test with one number
 * of users shows which locks it needs.
 *
 * Boot arguments: by (processes), tests (1,3,8,18), users (1,2,3,4,6,8,11,16,20), file (KiB of each working file, 12),
 * average, loops, calls, reads (how much of each test, nnb_tests.h), size (a factor for it), bufs, bufchains,
 * biodone.threads, seed. It needs a clock (hz), so that users take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/csr.h"
#include "arch/probe.h"
#include "bench/ext2_format.h"
#include "dev/clock.h"
#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/master.h"
#include "sched/sched.h"
#include "proc/mounts.h"
#include "proc/run.h"

#define USERS_MOST 20
#define DISKS_MOST 2
#define FILES 2 /* that a user has open */

struct user {
    struct vnode *vp[FILES];
    uint64_t offset[FILES];
    char path[16], temporary[16];
    unsigned test;
    uint64_t ended;
};

static void nnb_check(int error, const char *what)
{
    if (error)
        panic("run=nnb: %s: error %d", what, error);
}

/* As system calls -------------------------------------------------------------------------------------------------- */

static int nnb_open(void *arg, const char *path, bool create)
{
    struct user *u = arg;
    int fd = u->vp[0] ? 1 : 0;
    unix_enter();
    nnb_check(vfs_open(0, path, create ? VFS_CREATE | VFS_TRUNCATE | VFS_WRITE : VFS_WRITE, 0644, &u->vp[fd]), "open");
    unix_leave();
    u->offset[fd] = 0;
    return fd;
}

static void nnb_close(void *arg, int fd)
{
    struct user *u = arg;
    unix_enter();
    vrele(u->vp[fd]);
    unix_leave();
    u->vp[fd] = 0;
}

static void nnb_seek(void *arg, int fd, uint32_t offset)
{
    struct user *u = arg;
    unix_enter();
    u->offset[fd] = offset;
    unix_leave();
}

static void nnb_transfer(struct user *u, int fd, void *memory, uint32_t n, bool write)
{
    struct uio uio;
    uio_kernel(&uio, memory, n, u->offset[fd], write);
    unix_enter();
    nnb_check(write ? vfs_write(u->vp[fd], &uio, false) : vfs_read(u->vp[fd], &uio), write ? "write" : "read");
    unix_leave();
    if (uio.left)
        panic("run=nnb: %lu bytes were not %s", (unsigned long)uio.left, write ? "written" : "read");
    u->offset[fd] = uio.offset;
}

static void nnb_read(void *arg, int fd, void *to, uint32_t n)
{
    nnb_transfer(arg, fd, to, n, false);
}

static void nnb_write(void *arg, int fd, const void *from, uint32_t n)
{
    nnb_transfer(arg, fd, (void *)from, n, true);
}

static void nnb_unlink(void *arg, const char *path)
{
    (void)arg;
    unix_enter();
    nnb_check(vfs_remove(0, path, false), "unlink");
    unix_leave();
}

#include "lib/minmax.h"
#include "user/programs/nnb_tests.h"

/* The driver ------------------------------------------------------------------------------------------------------- */

static struct user users[USERS_MOST];
static struct nnb_scale scale;
static uint32_t file_bytes;
static uint32_t not_ready;
DEFINE_EVENT(start, "nnb start", SPL_SCHED);
DEFINE_EVENT(all_ready, "nnb ready", SPL_SCHED);

static const uint8_t zeros[4096];

static void nnb_user(void *arg)
{
    struct user *u = arg;
    struct nnb n = {
        .user = u, .file = file_bytes, .temporary = u->temporary, .random = run_seed + (uint32_t)(u - users)};
    n.fd = nnb_open(u, u->path, !u->test);
    if (!u->test) /* the working file is created */
        for (uint32_t at = 0, piece; at < file_bytes; at += piece) {
            piece = MIN(file_bytes - at, sizeof zeros);
            nnb_write(u, n.fd, zeros, piece);
        }
    if (!__atomic_sub_fetch(&not_ready, 1, __ATOMIC_SEQ_CST))
        event_post(&all_ready);
    event_wait(&start);
    nnb_run(&n, u->test, &scale);
    u->ended = cycles64();
    nnb_close(u, n.fd);
}

/* The sum of all changes. */
static void print_cache(const struct bufstats *before)
{
    kprintf(" hits=%lu misses=%lu read_ahead=%lu delayed=%lu waits=%lu conflicts=%lu\n",
            (unsigned long)(bufstats.hits - before->hits), (unsigned long)(bufstats.misses - before->misses),
            (unsigned long)(bufstats.read_ahead - before->read_ahead),
            (unsigned long)(bufstats.delayed - before->delayed), (unsigned long)(bufstats.waits - before->waits),
            (unsigned long)(bufstats.conflicts - before->conflicts));
}

static uint64_t run_test(unsigned test, unsigned count, unsigned disks)
{
    struct thread *threads[USERS_MOST];
    not_ready = count;
    event_clear(&start);
    unix_enter();
    nnb_check(vfs_sync(), "sync"); /* earlier writes are not the test's */
    unix_leave();
    for (unsigned i = 0; i < count; i++) {
        users[i].test = test;
        threads[i] = thread_create(nnb_user, &users[i], PRI_NORMAL, ANY_HART, "user");
    }
    event_take(&all_ready);
    thread_yield(); /* lets the last one go to sleep */
    struct bufstats before = bufstats;
    uint64_t begin = cycles64(), last = 0, sum = 0;
    PROBE(WINDOW_BEGIN);
    event_post(&start);
    for (unsigned i = 0; i < count; i++)
        thread_join(threads[i]);
    PROBE(WINDOW_END);
    for (unsigned i = 0; i < count; i++) {
        uint64_t took = users[i].ended - begin;
        last = MAX(took, last);
        sum += took;
    }
    if (test) {
        kprintf("@nnb test=%u users=%u disks=%u harts=%u cycles=%lu mean=%lu", test, count, disks, hart_count,
                (unsigned long)last, (unsigned long)(sum / count));
        print_cache(&before);
    }
    return last;
}

static unsigned nnb_mount_all(void)
{
    static struct blockdev devices[DISKS_MOST];
    unsigned disks = 0;
    for (; disks < DISKS_MOST; disks++) {
        struct block_device *disk = disk_open(disks);
        struct mount *m;
        if (!disk)
            break;
        ext2_format(disk, 1024);
        blockdev_of(&devices[disks], disk);
        nnb_check(ext2_mount(&devices[disks], false, &m), "mount");
        if (!disks) {
            nnb_check(vfs_mount_root(m), "mount of the root");
        } else {
            nnb_check(vfs_make(0, "/1", VDIR, 0755, 0, 0), "mkdir");
            nnb_check(vfs_mount(0, "/1", m), "mount at /1");
        }
    }
    if (!disks)
        panic("run=nnb: there is no drive: build the machine with disks=1 and give --disk IMAGE");
    return disks;
}

/* The numbers of a list, each below `most`; returns how many there are. */
static unsigned numbers(const char *name, const char *otherwise, unsigned most, unsigned *to, unsigned room)
{
    char text[64], *rest;
    unsigned n = 0;
    rest = (char *)bootargs_string(name, otherwise, text, sizeof text);
    for (char *word; n < room && (word = strtok_r(rest, ",", &rest));) {
        to[n] = (unsigned)atoi(word);
        if (!to[n] || to[n] > most)
            panic("boot argument %s: %s is not 1 to %u", name, word, most);
        n++;
    }
    return n;
}

static void nnb_add_number(struct arguments *to, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%lu", (unsigned long)n);
    arguments_add(to, text);
}

/* Gives the drives file systems, and runs the program for the rest. */
static int by_programs(bool threads)
{
    static struct arguments arguments;
    char text[64];
    unsigned disks = 0;
    struct block_device *disk;
    for (; disks < DISKS_MOST && (disk = disk_open(disks)); disks++)
        ext2_format(disk, 1024);
    if (!disks || strcmp(bootargs_string(BOOT(kernel, root), text, sizeof text), "disk0"))
        panic("run=nnb by programs needs a drive and root=disk0: build the machine with disks=1, give --disk IMAGE");
    arguments_clear(&arguments);
    arguments_add(&arguments, "nnb");
    arguments_add(&arguments, bootargs_string(BOOT(bench_nnb, tests), text, sizeof text));
    arguments_add(&arguments, bootargs_string(BOOT(bench_nnb, users), text, sizeof text));
    nnb_add_number(&arguments, file_bytes / 1024);
    nnb_add_number(&arguments, scale.average);
    nnb_add_number(&arguments, scale.loops);
    nnb_add_number(&arguments, scale.calls);
    nnb_add_number(&arguments, scale.reads);
    nnb_add_number(&arguments, disks);
    nnb_add_number(&arguments, hart_count);
    nnb_add_number(&arguments, threads);
    int id = process_spawn(0, "nnb", &arguments, ANY_HART);
    nnb_check(id < 0 ? id : 0, "start of the program nnb");
    int status = user_wait_for_all(id);
    return mounts_stop() ? 1 : status >> 8 | (status & 0xff);
}

static int nnb(void)
{
    unsigned tests[8], counts[16];
    unsigned test_count = numbers(BOOT(bench_nnb, tests), 18, tests, 8);
    unsigned count_count = numbers(BOOT(bench_nnb, users), USERS_MOST, counts, 16), most = 0;
    uint32_t size = bootargs_number(BOOT(bench_nnb, size));
    char by[16];
    bootargs_string(BOOT(bench_nnb, by), by, sizeof by);
    file_bytes = bootargs_number(BOOT(bench_nnb, file)) * 1024;
    scale = (struct nnb_scale){
        size * bootargs_number(BOOT(bench_nnb, average)), size * bootargs_number(BOOT(bench_nnb, loops)),
        size * bootargs_number(BOOT(bench_nnb, calls)), size * bootargs_number(BOOT(bench_nnb, reads))};
    if (file_bytes < 10 * NNB_PIECE || !clock_hz())
        panic("run=nnb needs file=5 at least, and a clock (hz)");
    if (!strcmp(by, "processes") || !strcmp(by, "threads"))
        return by_programs(by[0] == 't');
    if (strcmp(by, "kernel"))
        panic("boot argument by=%s: give processes, threads or kernel", by);
    unix_enter();
    bio_init();
    inodes_init(3 * USERS_MOST);
    namecache_init();
    unsigned disks = nnb_mount_all();
    unix_leave();
    for (unsigned i = 0; i < count_count; i++)
        most = MAX(counts[i], most);
    for (unsigned i = 0; i < most; i++) {
        const char *top = i % disks ? "/1" : "";
        snprintf(users[i].path, sizeof users[i].path, "%s/f%u", top, i);
        snprintf(users[i].temporary, sizeof users[i].temporary, "%s/t%u", top, i);
    }
    run_test(0, most, disks);
    for (unsigned t = 0; t < test_count; t++)
        for (unsigned i = 0; i < count_count; i++)
            run_test(tests[t], counts[i], disks);
    unix_enter();
    nnb_check(vfs_unmount_all(), "unmount");
    unix_leave();
    return 0;
}

RUN("nnb", "the Neal Nelson Benchmark's tests 1, 3, 8, 18 (paper mach, 3.3)", nnb);
