/*
 * ext2: files by inode and generation (ext2.h), for a caller that has no name, and perhaps a number that never was a
 * file's: the NFS server (nfs/server.h).
 */
#include "fs/ext2.h"

#include <errno.h>

#include "sched/sched.h"

void ext2_handle(const struct vnode *vp, uint32_t *number, uint32_t *generation)
{
    const struct inode *ip = INODE(vp);
    *number = ip->number;
    *generation = ip->disk.generation;
}

/*
 * Reads the inode from the device first, into no table: there a look-up of a free number must not meet its next owner.
 * The second look finds what changes after the first.
 */
int ext2_by_handle(struct mount *m, uint32_t number, uint32_t generation, struct vnode **vpp)
{
    struct ext2 *fs = EXT2(m);
    struct inode copy, *ip;
    if (!number || number > fs->super.inodes || (number < fs->first_inode && number != EXT2_ROOT))
        return -ESTALE;
    int error = ext2_inode_on_disk(fs, number, &copy);
    if (error)
        return error;
    if (!copy.disk.links || copy.disk.generation != generation || copy.v.type == VNON)
        return -ESTALE;
    error = ext2_iget(fs, number, HANDLE, &ip);
    if (error)
        return error;
    lock_read(&ip->v.lock);
    bool is = ip->disk.links && ip->disk.generation == generation;
    lock_done(&ip->v.lock);
    if (!is) {
        ext2_release(&ip->v);
        return -ESTALE;
    }
    *vpp = &ip->v;
    return 0;
}

/* One more than that of the number's last file: a removed file leaves its own on the device. */
uint32_t ext2_next_generation(struct inode *ip)
{
    struct inode before;
    return ext2_inode_on_disk(ip->fs, ip->number, &before) ? fs_time() : before.disk.generation + 1;
}

uint32_t ext2_volume(const struct mount *m)
{
    const uint8_t *id = EXT2(m)->super.uuid;
    return (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3];
}

void ext2_handle_wait(void)
{
    thread_delay(1);
}
