/* 4.4BSD's, of mounted file systems. */
#ifndef USER_SYS_MOUNT_H
#define USER_SYS_MOUNT_H

#include "user/abi.h"

#define MNT_RDONLY USER_MNT_RDONLY

int mount(const char *type, const char *path, int flags, const char *device);
int unmount(const char *path, int flags);
#endif
