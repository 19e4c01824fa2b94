/*
 * The NFS server on a descriptor: reads calls and writes answers there, each behind its length of four bytes,
 * for calls that another implementation makes (tests/unit/test_nfs_judge.py). In the environment, NFS_FD is the
 * descriptor, NFS_IMAGE where the image is left. Sources: nfs/server.c nfs/serve.c nfs/cache.c nfs/nfs_xdr.c
 * nfs/rpc.c nfs/ops.c nfs/node.c nfs/mount.c fs/ext2_handle.c fs/bio.c fs/freelist.c fs/ext2_mount.c fs/ext2_alloc.c
 * fs/ext2_inode.c fs/ext2_bmap.c fs/ext2_dir.c fs/ext2_ops.c fs/ext2_journal.c fs/ext2_transaction.c fs/vfs.c
 * fs/namecache.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c lib/bootargs.c. Options: BUFFERS_BUCKETS=0
 * ALLOC_GROUPS=0 NFS=1 TCPIP_FILE="net/policy/connection.h"
 */
#include "test/host/nfs_world.h"

static bool transfer(int fd, void *data, uint32_t n, bool writes)
{
    for (uint8_t *at = data; n;) {
        ssize_t moved = writes ? write(fd, at, n) : read(fd, at, n);
        if (moved <= 0)
            return false;
        at += moved;
        n -= (uint32_t)moved;
    }
    return true;
}

HOST_TEST(messages_are_served)
{
    int fd = atoi(getenv("NFS_FD"));
    uint8_t size[4], message[RPC_MOST];
    begin(8192, "-b 1024 -I 128 -N 1024", 32, 40, 1);
    CHECK_EQUAL(nfs_server_begin(vfs_root(), false, 1), 0);
    while (transfer(fd, size, sizeof size, false)) {
        uint32_t n = get32(size);
        CHECK(n <= sizeof message && transfer(fd, message, n, false));
        uint8_t *reply = served(message, &n, 1000);
        put32(size, n);
        CHECK(transfer(fd, size, sizeof size, true) && transfer(fd, reply, n, true));
        free(reply);
    }
    nfs_server_end();
    CHECK(!strstr(host_output(), "is wrong"));
    end();
    shell("cp %s \"$NFS_IMAGE\"", image);
}
