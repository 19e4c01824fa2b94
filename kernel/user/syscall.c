/* System calls (syscall.h). */
#include "user/syscall.h"

#include <errno.h>

#include "arch/path.h"
#include "lib/syscall.h"
#include "file/file.h"
#include "user/process.h"
#include "user/signal.h"

extern const struct syscall _syscalls[], _syscalls_end[];

static syscall_fn *calls[SYS_CALLS] __attribute__((section(".bss_syscalls"))); /* placed by arch/kernel.ld */

static int no_call(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return -ENOSYS;
}

void syscall_init(void)
{
    syscalls_gather(_syscalls, _syscalls_end, no_call, calls, SYS_CALLS);
}

/* A call that gives -ERESTART was interrupted; what sigreturn gives is not its own result. */
static OFF_PATH void interrupted(int result, uint32_t number, uint32_t a0)
{
    if (number != SYS_SIGRETURN)
        signals_call_interrupted(result, a0);
}

USER_PATH void system_call(struct frame *frame)
{
    uint32_t number = frame->a[7], a0 = frame->a[0];
    struct process *p = user_self()->process;
    user_hart()->system_calls++; /* roughly: a thread may be moved to another hart while it counts */
    int result = number < SYS_CALLS ? calls[number](p, p->map, frame->a) : -ENOSYS;
    frame->a[0] = (uint32_t)result;
    if (unlikely(result == -ERESTART || result == -ERESTART_UNLESS_HANDLED))
        interrupted(result, number, a0);
}
