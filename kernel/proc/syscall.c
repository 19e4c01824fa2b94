/* System calls (syscall.h). */
#include "proc/syscall.h"

#include <errno.h>

#include "lib/compiler.h"
#include "file/file.h"
#include "lib/syscall.h"
#include "sched/master.h"
#include "proc/process.h"
#include "proc/signal.h"

extern const struct syscall _syscalls[], _syscalls_end[];

#if UNIX_SERIAL
/* Mach's own calls, for any hart: threads, waiting, memory (paper `mach`, section 1). The others are 4.3BSD's. */
static bool is_machs(uint32_t number)
{
    switch (number) {
    case SYS_SCHED_YIELD:
    case SYS_THREAD_SPAWN:
    case SYS_FUTEX_WAIT:
    case SYS_FUTEX_WAKE:
    case SYS_SBRK:
    case SYS_MPROTECT:
    case SYS_MINHERIT:
    case SYS_PORT_ALLOCATE:
    case SYS_PORT_DEALLOCATE:
    case SYS_MESSAGE:
    case SYS_TASK_SELF:
    case SYS_BOOTSTRAP:
    case SYS_SET_BOOTSTRAP:
    case SYS_NODE: return true;
    default: return false;
    }
}
#else
#define is_machs(number) true
#endif

static syscall_fn *syscall_calls[SYS_CALLS];

static int no_call(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return -ENOSYS;
}

int system_call_of(uint32_t number, struct process *p, const uint32_t *a)
{
    return syscall_calls[number](p, p->map, a);
}

void syscall_init(void)
{
    syscalls_gather(_syscalls, _syscalls_end, no_call, syscall_calls, SYS_CALLS);
}

/* A call that returns -ERESTART was interrupted; the value of sigreturn is not its own result. */
static COLD void interrupted(int result, uint32_t number, uint32_t a0)
{
    if (number != SYS_SIGRETURN)
        signals_call_interrupted(result, a0);
}

/* The call ends as soon as the thread is cancelled, unless it has had an effect. */
static COLD int call_cancellable(uint32_t number, struct process *p, const uint32_t *a)
{
    struct user_thread *self = user_self();
    self->cancels = true;
    int result = self->cancelled ? -ECANCELED : syscall_calls[number](p, p->map, a);
    self->cancels = false;
    if (!self->cancelled || (result != -EINTR && result != -ERESTART && result != -ERESTART_UNLESS_HANDLED))
        return result;
    self->thread->attention = true; /* as for an interrupted call */
    return -ECANCELED;
}

static inline int carry_out(uint32_t number, bool cancels, struct process *p, const uint32_t *a)
{
    return unlikely(cancels) ? call_cancellable(number, p, a) : syscall_calls[number](p, p->map, a);
}

void system_call(struct frame *frame)
{
    bool cancels = frame->a[7] & USER_CANCELS;
    uint32_t number = frame->a[7] & ~(uint32_t)USER_CANCELS, a0 = frame->a[0];
    struct process *p = user_self()->process;
    user_hart()->system_calls++; /* approximate: the thread may migrate while it counts */
    bool native = is_machs(number);
    if (!native)
        unix_master();
    int result = number < SYS_CALLS ? carry_out(number, cancels, p, frame->a) : -ENOSYS;
    if (!native)
        unix_release();
    frame->a[0] = (uint32_t)result;
    if (unlikely(result == -ERESTART || result == -ERESTART_UNLESS_HANDLED))
        interrupted(result, number, a0);
}
