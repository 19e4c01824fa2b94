/* What picolibc's <dirent.h> lacks. An entry is as the kernel gives it (struct user_dirent of user/abi.h). */
#ifndef _SYS_DIRENT_H
#define _SYS_DIRENT_H

#include <stdint.h>
#include <sys/types.h>

typedef struct __dir DIR;

struct dirent {
    uint32_t d_ino;
    uint32_t d_off; /* of the next entry: what telldir returns then */
    uint16_t d_reclen;
    uint8_t d_type, d_namlen;
    char d_name[256];
};

#define DT_UNKNOWN 0
#define DT_FIFO 1
#define DT_CHR 2
#define DT_DIR 4
#define DT_BLK 6
#define DT_REG 8
#define DT_LNK 10
#define DT_SOCK 12

DIR *opendir(const char *path);
DIR *fdopendir(int fd);
struct dirent *readdir(DIR *d);
void rewinddir(DIR *d);
long telldir(DIR *d);
void seekdir(DIR *d, long where);
int dirfd(DIR *d);
int closedir(DIR *d);
#endif
