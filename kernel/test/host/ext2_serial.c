/*
 * The same as ext2.c, for the serial kernel: I/O ends with interrupts, wherever the level lets them. Sources:
 * fs/bio.c fs/freelist.c fs/serial.c fs/ext2_mount.c fs/ext2_alloc.c fs/ext2_inode.c fs/ext2_bmap.c fs/ext2_dir.c
 * fs/ext2_ops.c fs/ext2_journal.c fs/ext2_transaction.c fs/vfs.c fs/namecache.c mem/zone.c mem/page.c
 * lock/simple_lock.c lib/printf.c lib/bootargs.c. Options: UNIX_SERIAL=1 SERIAL_CHECKS=1 BUFFERS_BUCKETS=0
 * ALLOC_GROUPS=0
 */
#define TRANSFERS_EACH 29u /* ext2.c tries most of them */
#include "ext2.c"

#include "sched/master.h"

static bool master = true;

bool unix_is_master(void)
{
    return master;
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    (void)channel;
    simple_unlock(interlock);
    crit_sec_leave(SPL_NONE);
    others_run();
    crit_sec_enter(SPL_BIO);
    simple_lock(interlock);
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

static int off_the_master(void)
{
    struct vnode *vp;
    master = false;
    return namei(0, "/x", true, &vp);
}

HOST_TEST(who_has_not_the_master_is_kept_out)
{
    begin(256, "-b 1024", 16, 8, 3);
    CHECK_PANICS("in the file system of the serial kernel without unix_master, on hart 0", off_the_master());
}
