/*
 * ext2: files by inode and generation (ext2.h), for who comes with no name, and perhaps with a number that never was
 * one: the server of NFS (nfs/server.h).
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
 * First as it is on the device, in no table: there a number that is free must not be met by who has just been given it.
 * What changes behind that look is found by the second one.
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

/* One more than the number's last file had: what was removed leaves it on the device. */
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
