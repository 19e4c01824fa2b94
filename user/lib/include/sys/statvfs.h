/* The size of a file system, and its free space. Blocks have f_frsize bytes. */
#ifndef SYS_STATVFS_H
#define SYS_STATVFS_H

#include <sys/types.h>

#define ST_RDONLY 1 /* not told */
#define ST_NOSUID 2

struct statvfs {
    unsigned long f_bsize, f_frsize;
    fsblkcnt_t f_blocks, f_bfree, f_bavail;
    fsfilcnt_t f_files, f_ffree, f_favail;
    unsigned long f_fsid, f_flag, f_namemax; /* f_fsid is 0 */
};
int statvfs(const char *path, struct statvfs *to);
int fstatvfs(int fd, struct statvfs *to);
#endif
