/*
 * What is mounted where when programs run. Boot argument root=: `archive` (the default), or disk0 or disk1, an ext2
 * file system. Then the devices are mounted on its /dev, and the archive on its /bin if that is empty; a missing folder
 * is created. With swap=/FILE, pages that have to leave memory are written to that file (fs/swap_file.h); if they
 * cannot be, it panics. A program may mount another disk, on /mnt for example (mount(2): "ext2", path, flags, "disk0"),
 * or, with the build option nfs, another node's file system ("nfs", path, flags, "10.0.0.2:/"); with nfs=10.0.0.2:/ it
 * is on /mnt from the beginning, except on that node itself.
 */
#ifndef USER_MOUNTS_H
#define USER_MOUNTS_H

#include "fs/vnode.h"

/* Mounts all this, once. Before a program runs; from a thread. A root that cannot be mounted panics. */
void mounts_start(void);

/* Writes and unmounts all, when no program is left. 0, or an error, which has been printed. */
int mounts_stop(void);

/*
 * The file system of type `type` on the device `device`. -ENODEV: no such type; -ENOENT: no such device; or as
 * ext2_mount.
 */
int mount_device(const char *type, const char *device, bool read_only, struct mount **mp);
#endif
