/* picolibc's, and what it lacks. */
#ifndef USER_SYS_STAT_H
#define USER_SYS_STAT_H

#include_next <sys/stat.h>

int lstat(const char *path, struct stat *to);
int mknod(const char *path, mode_t mode, dev_t device);

#define UTIME_NOW -2
#define UTIME_OMIT -1
#endif
