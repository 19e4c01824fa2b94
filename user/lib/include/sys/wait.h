/* picolibc's, and what it lacks. */
#ifndef USER_SYS_WAIT_H
#define USER_SYS_WAIT_H

#include_next <sys/wait.h>

struct rusage;

#define WCOREDUMP(status) 0
#define WIFCONTINUED(status) 0
#define WCONTINUED 4
#undef WIFSIGNALED
#define WIFSIGNALED(status) (((status) & 0x7f) > 0 && ((status) & 0x7f) < 0x7f)

pid_t wait3(int *status, int options, struct rusage *usage);
pid_t wait4(pid_t id, int *status, int options, struct rusage *usage);
#endif
