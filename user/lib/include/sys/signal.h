/* picolibc's, with POSIX's sigaction and siginfo_t, as the kernel has them (user/abi.h), and what else it lacks. */
#ifndef USER_SYS_SIGNAL_H
#define USER_SYS_SIGNAL_H

#define sigaction picolibc_sigaction
#define siginfo_t picolibc_siginfo_t
#define sigevent picolibc_sigevent
#define sigwaitinfo picolibc_sigwaitinfo
#define sigtimedwait picolibc_sigtimedwait
#include_next <sys/signal.h>
#undef sigaction
#undef siginfo_t
#undef sigevent
#undef sigwaitinfo
#undef sigtimedwait
#undef SI_USER
#undef SI_QUEUE
#undef SI_TIMER
#undef SI_ASYNCIO
#undef SI_MESGQ

#define SI_USER 0
#define SI_KERNEL 0x80
#define SI_QUEUE -1
#define SI_TIMER -2
#define SI_MESGQ -3
#define SI_ASYNCIO -4
#define SI_TKILL -6
#define CLD_EXITED 1
#define CLD_KILLED 2
#define CLD_DUMPED 3
#define CLD_TRAPPED 4
#define CLD_STOPPED 5
#define CLD_CONTINUED 6
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define BUS_ADRALN 1
#define BUS_ADRERR 2
#define ILL_ILLOPC 1
#define TRAP_BRKPT 1

typedef struct {
    int si_signo, si_code, si_errno;
    pid_t si_pid;
    unsigned si_uid;
    int si_status;
    void *si_addr;
    union sigval si_value;
} siginfo_t;

struct sigevent {
    int sigev_notify, sigev_signo;
    union sigval sigev_value;
    void (*sigev_notify_function)(union sigval value);
    void *sigev_notify_attributes; /* pthread_attr_t */
};

struct sigaction {
    union {
        _sig_func_ptr sa_handler;
        void (*sa_sigaction)(int, siginfo_t *, void *);
    };
    sigset_t sa_mask;
    int sa_flags;
};

int sigaction(int number, const struct sigaction *action, struct sigaction *old);
int sigwaitinfo(const sigset_t *set, siginfo_t *to);
int sigtimedwait(const sigset_t *set, siginfo_t *to, const struct timespec *limit);
#endif
