/* picolibc's, with the least that POSIX allows of each limit, and this system's own limits. */
#ifndef USER_LIMITS_H
#define USER_LIMITS_H

#include_next <limits.h>

#define _POSIX_ARG_MAX 4096
#define _POSIX_CHILD_MAX 25
#define _POSIX_HOST_NAME_MAX 255
#define _POSIX_LINK_MAX 8
#define _POSIX_LOGIN_NAME_MAX 9
#define _POSIX_MAX_CANON 255
#define _POSIX_MAX_INPUT 255
#define _POSIX_NAME_MAX 14
#define _POSIX_NGROUPS_MAX 8
#define _POSIX_OPEN_MAX 20
#define _POSIX_PATH_MAX 256
#define _POSIX_PIPE_BUF 512
#define _POSIX_SSIZE_MAX 32767
#define _POSIX_STREAM_MAX 8
#define _POSIX_SYMLINK_MAX 255
#define _POSIX_SYMLOOP_MAX 8
#define _POSIX_THREAD_DESTRUCTOR_ITERATIONS 4
#define _POSIX_THREAD_KEYS_MAX 128
#define _POSIX_THREAD_THREADS_MAX 64
#define _POSIX_TTY_NAME_MAX 9
#define _XOPEN_IOV_MAX 16

#undef ARG_MAX
#define ARG_MAX 32768 /* USER_ARGUMENTS_MOST */
#undef IOV_MAX
#define IOV_MAX 1024
#undef PATH_MAX
#define PATH_MAX 256 /* USER_PATH_SIZE */
#undef PIPE_BUF
#define PIPE_BUF 512
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 64
#endif
#ifndef SSIZE_MAX
#define SSIZE_MAX INT_MAX
#endif
#endif
