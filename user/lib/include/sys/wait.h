/* picolibc's, and what it lacks. */
#ifndef USER_SYS_WAIT_H
#define USER_SYS_WAIT_H

#include_next <sys/wait.h>

#include <signal.h>

struct rusage;

#define WCOREDUMP(status) 0
#define WIFCONTINUED(status) ((status) == 0xffff)
#define WEXITED 4
#define WSTOPPED WUNTRACED
#define WCONTINUED 8
#define WNOWAIT 0x1000000
#undef WIFSTOPPED
#define WIFSTOPPED(status) (((status) & 0xff) == 0x7f)
#undef WIFSIGNALED
#define WIFSIGNALED(status) (((status) & 0x7f) > 0 && ((status) & 0x7f) < 0x7f)

typedef enum { P_ALL, P_PID, P_PGID } idtype_t;

int waitid(idtype_t which, id_t id, siginfo_t *to, int options);
pid_t wait3(int *status, int options, struct rusage *usage);
pid_t wait4(pid_t id, int *status, int options, struct rusage *usage);
#endif
