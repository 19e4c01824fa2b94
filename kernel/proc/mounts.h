/*
 * What is mounted where when programs run. Boot argument root=: `archive` (the default), or disk0 or disk1, an ext2
 * file system. Then the devices are mounted on its /dev, and the archive on its /bin if nothing is in there; a folder
 * that is missing is made. With swap=/FILE, pages that have to leave memory go to that file (fs/swap_file.h); if they
 * cannot, it panics. A disk beside the root is mounted by whoever wants it, on /mnt for example (mount(2): "ext2",
 * path, flags, "disk0"), as is another node's with the build option nfs ("nfs", path, flags, "10.0.0.2:/"); with
 * nfs=10.0.0.2:/ it is on /mnt from the beginning, but for that node itself.
 */
#ifndef USER_MOUNTS_H
#define USER_MOUNTS_H

#include "fs/vnode.h"

/* Unless it has been done. Before a program runs; from a thread. A root that cannot be mounted panics. */
void mounts_start(void);

/* All is written and unmounted, when no program is left. 0, or an error, which has been told. */
int mounts_stop(void);

/*
 * The file system of that type on the device of that name. -ENODEV: no such type; -ENOENT: no such device; or as
 * ext2_mount.
 */
int mount_device(const char *type, const char *device, bool read_only, struct mount **mp);
#endif
