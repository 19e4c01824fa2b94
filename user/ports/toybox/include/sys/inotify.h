/* Changes of files are not reported. */
#ifndef TOYBOX_INOTIFY_H
#define TOYBOX_INOTIFY_H

#include <stdint.h>

#define IN_MODIFY 2

struct inotify_event {
    int wd;
    uint32_t mask, cookie, len;
    char name[];
};
int inotify_init(void);
int inotify_add_watch(int fd, const char *path, uint32_t mask);
#endif
