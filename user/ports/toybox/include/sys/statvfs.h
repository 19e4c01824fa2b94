/* Sizes of file systems are not told. */
#ifndef TOYBOX_STATVFS_H
#define TOYBOX_STATVFS_H

struct statvfs {
    unsigned long f_bsize, f_frsize, f_namemax, f_flag, f_fsid;
    unsigned long long f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail;
};
int statvfs(const char *path, struct statvfs *to);
#endif
