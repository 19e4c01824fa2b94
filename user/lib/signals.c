/* Signals: POSIX's calls on the kernel's (abi.h), which numbers them as <signal.h> does. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>

#include "user/lib/cancel.h"

_Static_assert(sizeof(struct sigaction) == sizeof(struct user_sigaction), "the kernel reads struct sigaction");
_Static_assert(sizeof(siginfo_t) == sizeof(struct user_siginfo), "the kernel writes siginfo_t");

/* Handlers return here, with sp as the kernel set it. */
__attribute__((naked)) static void trampoline(void)
{
    __asm__("mv a0, sp\n li a7, %0\n ecall" ::"i"(SYS_SIGRETURN));
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return with_errno(
        system_call6(SYS_SIGACTION, (uint32_t)number, (uint32_t)action, (uint32_t)old, (uint32_t)trampoline, 0, 0));
}

/* BSD's: the handler stays installed, and interrupted calls restart. */
_sig_func_ptr signal(int number, _sig_func_ptr handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return with_errno(system_call(SYS_SIGPROCMASK, (uint32_t)how, (uint32_t)set, (uint32_t)old));
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return -system_call(SYS_SIGPROCMASK, (uint32_t)how, (uint32_t)set, (uint32_t)old);
}

int sigpending(sigset_t *to)
{
    return with_errno(system_call(SYS_SIGPENDING, (uint32_t)to, 0, 0));
}

int sigsuspend(const sigset_t *mask)
{
    return with_errno(cancel_point(SYS_SIGSUSPEND, (uint32_t)mask, 0, 0));
}

int sigaltstack(const stack_t *stack, stack_t *old)
{
    return with_errno(system_call(SYS_SIGALTSTACK, (uint32_t)stack, (uint32_t)old, 0));
}

int pause(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    return sigsuspend(&mask);
}

int kill(pid_t id, int number)
{
    return with_errno(system_call(SYS_KILL, (uint32_t)id, (uint32_t)number, 0));
}

int killpg(pid_t group, int number)
{
    return with_errno(system_call(SYS_KILLPG, (uint32_t)group, (uint32_t)number, 0));
}

/* POSIX: to this thread. */
int raise(int number)
{
    return with_errno(system_call(SYS_THREAD_KILL, (uint32_t)system_call(SYS_GETTID, 0, 0, 0), (uint32_t)number, 0));
}

int sigtimedwait(const sigset_t *set, siginfo_t *to, const struct timespec *limit)
{
    return with_errno(cancel_point(SYS_SIGTIMEDWAIT, (uint32_t)set, (uint32_t)to, (uint32_t)limit));
}

int sigwaitinfo(const sigset_t *set, siginfo_t *to)
{
    return sigtimedwait(set, to, 0);
}

/* POSIX: it returns the error. */
int sigwait(const sigset_t *set, int *number)
{
    int result;
    do
        result = cancel_point(SYS_SIGTIMEDWAIT, (uint32_t)set, 0, 0);
    while (result == -EINTR);
    if (result > 0)
        *number = result;
    return result < 0 ? -result : 0;
}

int sigqueue(pid_t id, int number, const union sigval value)
{
    return with_errno(system_call(SYS_SIGQUEUE, (uint32_t)id, (uint32_t)number, (uint32_t)value.sival_int));
}

int siginterrupt(int number, int interrupts)
{
    struct sigaction action;
    if (sigaction(number, 0, &action))
        return -1;
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, 0);
}

int __sigjmp_save(sigjmp_buf env, int save)
{
    env->saved = save;
    return save ? sigprocmask(SIG_BLOCK, 0, &env->mask) : 0;
}

_Noreturn void siglongjmp(sigjmp_buf env, int value)
{
    if (env->saved)
        sigprocmask(SIG_SETMASK, &env->mask, 0);
    longjmp(env->env, value);
}
