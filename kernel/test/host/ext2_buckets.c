/*
 * The same as ext2.c, for the kernel that unix=beyond builds. Sources: fs/bio.c fs/freelist.c fs/ext2_mount.c
 * fs/ext2_alloc.c fs/ext2_inode.c fs/ext2_bmap.c fs/ext2_dir.c fs/ext2_ops.c fs/ext2_journal.c fs/ext2_transaction.c
 * fs/vfs.c fs/namecache.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c lib/bootargs.c. Options:
 * BUFFERS_BUCKETS=1 BUFFERS_SHARED=1 ALLOC_GROUPS=1 INODES_SHARED=1
 */
#define TRANSFERS_EACH 29u /* ext2.c tries most of them */
#include "ext2.c"

HOST_TEST(readers_share_a_buffer_and_it_is_nobody_elses_meanwhile)
{
    begin(256, "-b 1024", 16, 8, 5);
    struct buf *one = bread_shared(&device, 2, 1024, UINT32_MAX), *two = bread_shared(&device, 2, 1024, UINT32_MAX);
    CHECK(one == two && !one->error);
    for (uint32_t sector = 4; sector < 64; sector += 2) { /* every other buffer becomes another block's */
        struct buf *bp = bread(&device, sector, 1024);
        CHECK(bp != one);
        brelse(bp);
    }
    CHECK(one->sector == 2 && bread_shared(&device, 2, 1024, UINT32_MAX) == one);
    CHECK_EQUAL(bio_busy(), 1);
    for (unsigned i = 0; i < 3; i++)
        brelse(one);
    end();
}

HOST_TEST(what_is_read_is_used_last)
{
    chains = 1; /* each has an order of its own */
    begin(256, "-b 1024", 16, 8, 6);
    brelse(bread_shared(&device, 2, 1024, UINT32_MAX));
    for (uint32_t sector = 4; sector < 400; sector += 2) {
        brelse(bread(&device, sector, 1024));
        uint32_t reads = bufstats.reads;
        brelse(bread_shared(&device, 2, 1024, UINT32_MAX));
        CHECK_EQUAL(bufstats.reads, reads); /* it is there still */
    }
    end();
}

HOST_TEST(a_write_in_place_wants_the_inode_for_reading_only)
{
    begin(256, "-b 1024", 16, 8, 7);
    static char text[1500];
    CHECK_EQUAL(pwrite_ours("/f", 0, text, sizeof text), 0);
    CHECK_EQUAL(host(pwrite_theirs("f", 0, text, sizeof text)), 0);
    struct vnode *vp;
    CHECK_EQUAL(namei(0, "/f", true, &vp), 0);
    lock_read(&vp->lock); /* held by another thread */
    memset(text, 'x', 400);
    CHECK_EQUAL(pwrite_ours("/f", 600, text, 400), 0);
    CHECK_EQUAL(host(pwrite_theirs("f", 600, text, 400)), 0);
    CHECK_PANICS("lock inode is waited for, for ever", pwrite_ours("/f", 700, text, 400)); /* two blocks */
    CHECK_PANICS("lock inode is waited for, for ever", pwrite_ours("/f", 1400, text, 400)); /* longer */
    lock_done(&vp->lock);
    same_file("f", vp, sizeof text);
}
