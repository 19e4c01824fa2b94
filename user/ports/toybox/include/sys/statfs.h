/* Sizes of file systems are not reported. */
#ifndef TOYBOX_STATFS_H
#define TOYBOX_STATFS_H

#define BLKGETSIZE64 0x80041272

struct statfs {
    long f_type, f_bsize, f_frsize, f_namelen;
    unsigned long long f_blocks, f_bfree, f_bavail, f_files, f_ffree;
    struct {
        int __val[2];
    } f_fsid;
};
int statfs(const char *path, struct statfs *to);
#endif
