/* There is no list of mounted file systems. */
#ifndef TOYBOX_MNTENT_H
#define TOYBOX_MNTENT_H

#include <stdio.h>

struct mntent {
    char *mnt_fsname, *mnt_dir, *mnt_type, *mnt_opts;
    int mnt_freq, mnt_passno;
};
FILE *setmntent(const char *path, const char *type);
struct mntent *getmntent(FILE *f);
int endmntent(FILE *f);
char *hasmntopt(const struct mntent *of, const char *option);
#endif
