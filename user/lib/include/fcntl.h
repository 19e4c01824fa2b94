/* picolibc's, whose O_CLOEXEC, O_NOFOLLOW and O_DIRECTORY have no values. */
#ifndef USER_FCNTL_H
#define USER_FCNTL_H

#define _FNOINHERIT 0x40000
#define _FNOFOLLOW 0x100000
#define _FDIRECTORY 0x200000

#include_next <fcntl.h>
#endif
