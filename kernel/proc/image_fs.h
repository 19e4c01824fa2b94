/*
 * Two file systems that always exist: the image's archive, which is read-only, and the devices, for /dev. Without a
 * disk the archive is the root: all its files are in /, which is also /bin, beside the folders /dev and /mnt, to mount
 * on.
 */
#ifndef USER_IMAGE_FS_H
#define USER_IMAGE_FS_H

#include "fs/vnode.h"

struct mount *archive_mount(void);
struct mount *devices_mount(void);

/* The archive's file with that name, / and bin/ optional, with a reference. 0, -ENOENT or -ENOMEM. */
int archive_vnode(const char *path, struct vnode **vpp);
#endif
