/* The function that picolibc's lacks. */
#ifndef USER_UTIME_H
#define USER_UTIME_H

#include <sys/types.h>
#include <time.h>

struct utimbuf {
    time_t actime, modtime;
};

int utime(const char *path, const struct utimbuf *to);
#endif
