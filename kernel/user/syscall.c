/* System calls (syscall.h). */
#include "user/syscall.h"

#include <errno.h>

#include "arch/path.h"
#include "lib/syscall.h"
#include "user/process.h"

extern const struct syscall _syscalls[], _syscalls_end[];

static syscall_fn *calls[SYS_CALLS] __attribute__((section(".bss_syscalls"))); /* placed by arch/kernel.ld */

static int no_call(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p, (void)space, (void)a;
    return -ENOSYS;
}

void syscall_init(void)
{
    syscalls_gather(_syscalls, _syscalls_end, no_call, calls, SYS_CALLS);
}

USER_PATH void system_call(struct frame *frame)
{
    uint32_t number = frame->a[7];
    struct process *p = user_self()->process;
    user_hart()->system_calls++; /* roughly: a thread may be moved to another hart while it counts */
    int result = number < SYS_CALLS ? calls[number](p, &p->space, frame->a) : -ENOSYS;
    frame->a[0] = (uint32_t)result;
}
