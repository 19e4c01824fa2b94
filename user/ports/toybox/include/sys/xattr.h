/* Files have no further attributes. */
#ifndef TOYBOX_XATTR_H
#define TOYBOX_XATTR_H

#include <sys/types.h>

ssize_t getxattr(const char *path, const char *name, void *to, size_t size);
ssize_t lgetxattr(const char *path, const char *name, void *to, size_t size);
ssize_t fgetxattr(int fd, const char *name, void *to, size_t size);
ssize_t listxattr(const char *path, char *to, size_t size);
ssize_t llistxattr(const char *path, char *to, size_t size);
ssize_t flistxattr(int fd, char *to, size_t size);
int setxattr(const char *path, const char *name, const void *from, size_t size, int how);
int lsetxattr(const char *path, const char *name, const void *from, size_t size, int how);
int fsetxattr(int fd, const char *name, const void *from, size_t size, int how);
#endif
