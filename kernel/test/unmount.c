/*
 * run=test-unmount: the second disk's file system is unmounted and mounted again while threads look up files in a
 * folder of it, /m/z, and hold the files that they have found as long as an attempt to unmount goes on. When it is
 * unmounted, no thread holds one.
 *
 *   @test name=unmount looked=... held=... busy=... again=...
 *
 * Boot arguments: rounds (of unmounting; 20), tries (refused at most; 2000), workers (1), files (y00, y01, ...
 * in /m/z; 30), filler (files w000, w001, ... of the first disk whose inodes are in the table; 0), there (1: so are
 * those of /m/z, after each mount; 0).
 */
#include <errno.h>
#include <stdio.h>

#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "sched/master.h"
#include "test/test.h"

#define MOST_THREADS BOOT_MOST(test_unmount, workers)

static struct blockdev devices[2];
static bool unmount_holds[MOST_THREADS];
static uint32_t unmount_attempt; /* odd: an attempt is under way */
static uint32_t files, looked, held;
static bool stop;

/* Looks up all files of /m/z, or some of /, and releases them: their inodes are in the table. */
static void all_come_to_the_table(const char *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char path[32];
        struct vnode *vp;
        snprintf(path, sizeof path, names, (unsigned long)i);
        if (UNIX_CALL(namei(0, path, true, &vp)))
            panic("no file %s", path);
        UNIX_CALL((vrele(vp), 0));
    }
}

static void looker(void *arg)
{
    unsigned me = (uintptr_t)arg;
    struct random r = random_from(run_seed, 700 + me);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        char path[32];
        struct vnode *vp;
        snprintf(path, sizeof path, "/m/z/y%02lu", (unsigned long)random_below(&r, files));
        __atomic_fetch_add(&looked, 1, __ATOMIC_RELAXED);
        if (!UNIX_CALL(namei(0, path, true, &vp))) {
            __atomic_store_n(&unmount_holds[me], true, __ATOMIC_SEQ_CST);
            __atomic_fetch_add(&held, 1, __ATOMIC_RELAXED);
            uint32_t a = __atomic_load_n(&unmount_attempt, __ATOMIC_SEQ_CST);
            while (a & 1 && __atomic_load_n(&unmount_attempt, __ATOMIC_SEQ_CST) == a)
                thread_yield();
            __atomic_store_n(&unmount_holds[me], false, __ATOMIC_SEQ_CST);
            UNIX_CALL((vrele(vp), 0));
        }
        test_spin(random_below(&r, 600));
    }
}

static void mount_both(void)
{
    struct mount *m;
    for (unsigned i = 0; i < 2; i++) {
        struct block_device *disk = disk_open(i);
        if (!disk)
            panic("run=test-unmount: give --disk IMAGE twice, on a machine with disks=2");
        unix_enter();
        blockdev_of(&devices[i], disk);
        unix_leave();
        if (UNIX_CALL(ext2_mount(&devices[i], false, &m)) || (i ? UNIX_CALL(vfs_mount(0, "/m", m)) : vfs_mount_root(m)))
            panic("disk %u is not mounted", i);
        if (!i && UNIX_CALL(vfs_make(0, "/m", VDIR, 0755, 0, 0)))
            panic("no directory /m");
    }
}

static int test_unmount(void)
{
    static struct thread *threads[MOST_THREADS];
    uint32_t rounds = bootargs_number(BOOT(test_unmount, rounds)), tries = bootargs_number(BOOT(test_unmount, tries));
    uint32_t busy = 0, again = 0;
    unsigned n = bootargs_number(BOOT(test_unmount, workers));
    struct random r = random_from(run_seed, 699);
    struct mount *m;
    uint32_t filler = bootargs_number(BOOT(test_unmount, filler));
    files = bootargs_number(BOOT(test_unmount, files));
    unix_enter();
    bio_init();
    inodes_init(bootargs_number(BOOT_WITHIN(kernel, inodes, 24, 1000)));
    namecache_init();
    unix_leave();
    mount_both();
    all_come_to_the_table("/w%03lu", filler); /* so that searching it takes longer */
    uint32_t there = bootargs_number(BOOT(test_unmount, there)) ? files : 0;
    all_come_to_the_table("/m/z/y%02lu", there);
    for (unsigned i = 0; i < n; i++)
        threads[i] = thread_create(looker, (void *)(uintptr_t)i, PRI_NORMAL, ANY_HART, "looks up");
    while (again < rounds && busy < tries) {
        test_spin(random_below(&r, 15000));
        __atomic_fetch_add(&unmount_attempt, 1, __ATOMIC_SEQ_CST);
        int error = UNIX_CALL(vfs_unmount(0, "/m"));
        for (unsigned i = 0; !error && i < n; i++)
            if (__atomic_load_n(&unmount_holds[i], __ATOMIC_SEQ_CST))
                panic("unmounted while thread %u has a file of it", i);
        __atomic_fetch_add(&unmount_attempt, 1, __ATOMIC_SEQ_CST);
        if (error && error != -EBUSY)
            panic("unmount: error %d", error);
        if (error) {
            busy++;
            thread_yield();
        } else {
            if (UNIX_CALL(ext2_mount(&devices[1], false, &m)) || UNIX_CALL(vfs_mount(0, "/m", m)))
                panic("it is not mounted again");
            all_come_to_the_table("/m/z/y%02lu", there);
            again++;
        }
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < n; i++)
        thread_join(threads[i]);
    if (UNIX_CALL(vfs_unmount_all()))
        panic("something is in use still");
    unix_enter();
    assert(!inodes_referenced() && !bio_busy());
    unix_leave();
    kprintf("@test name=unmount looked=%lu held=%lu busy=%lu again=%lu\n", (unsigned long)looked, (unsigned long)held,
            (unsigned long)busy, (unsigned long)again);
    return 0;
}

RUN("test-unmount", "an ext2 file system is unmounted beside look-ups in it (rounds=, tries=, workers=)", test_unmount);
