/*
 * Two file systems that are always there: the image's archive, which cannot be written, and the devices, for /dev.
 * Where there is no disk the archive is the root: all its files are in /, which is also /bin, beside the folders /dev
 * and /mnt, to mount on.
 */
#ifndef USER_IMAGE_FS_H
#define USER_IMAGE_FS_H

#include "fs/vnode.h"

struct mount *archive_mount(void);
struct mount *devices_mount(void);

/* The archive's file of that name, / and bin/ may be in front, with a reference. 0, -ENOENT or -ENOMEM. */
int archive_vnode(const char *path, struct vnode **vpp);
#endif
