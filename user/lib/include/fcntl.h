/* picolibc's, which gives O_CLOEXEC, O_NOFOLLOW and O_DIRECTORY no values. */
#ifndef USER_FCNTL_H
#define USER_FCNTL_H

#define _FNOINHERIT 0x40000
#define _FNOFOLLOW 0x100000
#define _FDIRECTORY 0x200000

#define flock picolibc_flock /* whose l_pid has 16 bits */
#include_next <fcntl.h>
#undef flock

struct flock {
    short l_type, l_whence;
    off_t l_start, l_len;
    pid_t l_pid;
};
#endif
