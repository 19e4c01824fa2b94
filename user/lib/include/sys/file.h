/* flock and its LOCK_SH, LOCK_EX, LOCK_UN, LOCK_NB are in <fcntl.h>: picolibc's file reads its own. */
#ifndef USER_SYS_FILE_H
#define USER_SYS_FILE_H

#include <fcntl.h>
#endif
