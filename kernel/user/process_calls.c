/* System calls about processes and threads (process.h, abi.h). */
#include <errno.h>
#include <string.h>

#include "arch/path.h"
#include "lib/syscall.h"
#include "user/process.h"

static int sys_exit(struct process *p, struct space *space, const uint32_t *a)
{
    (void)space;
    process_end(p, (int)(a[0] & 0xff) << 8);
    return 0;
}
SYSCALL(SYS_EXIT, sys_exit);

/* The strings that the vector at user address `vector` points to. 0, -EFAULT or -E2BIG. */
static int copy_in_arguments(struct space *space, uint32_t vector, struct arguments *to)
{
    for (to->count = to->size = 0;; to->count++) {
        uint32_t string;
        if (space_copy_in(space, &string, vector + 4 * to->count, sizeof string))
            return -EFAULT;
        if (!string)
            return 0;
        if (to->count == USER_ARGUMENT_COUNT)
            return -E2BIG;
        char *at = to->text + to->size;
        int error = space_copy_in_string(space, at, string, sizeof to->text - to->size);
        if (error)
            return error;
        to->size += strlen(at) + 1;
    }
}

static int sys_spawn(struct process *p, struct space *space, const uint32_t *a)
{
    char name[USER_NAME_SIZE];
    struct arguments arguments;
    int error = space_copy_in_string(space, name, a[0], sizeof name);
    if (error)
        return error == -E2BIG ? -ENOENT : error;
    error = copy_in_arguments(space, a[1], &arguments);
    return error ? error : process_spawn(p, name, &arguments, p->bound);
}
SYSCALL(SYS_SPAWN, sys_spawn);

/* Any child, without options, until processes have groups. */
static int sys_wait4(struct process *p, struct space *space, const uint32_t *a)
{
    int status;
    if (a[0] != (uint32_t)-1 || a[2] || a[3])
        return -EINVAL;
    if (a[1] && !space_lookup(space, a[1], PAGE_WRITE)) /* before a child's status is lost */
        return -EFAULT;
    int id = process_wait(p, &status);
    if (id > 0 && a[1] && space_copy_out(space, a[1], &status, sizeof status))
        return -EFAULT;
    return id;
}
SYSCALL(SYS_WAIT4, sys_wait4);

USER_PATH_CALL static int sys_getpid(struct process *p, struct space *space, const uint32_t *a)
{
    (void)space, (void)a;
    return p->id;
}
SYSCALL(SYS_GETPID, sys_getpid);

USER_PATH_CALL static int sys_gettid(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p, (void)space, (void)a;
    return user_self()->id;
}
SYSCALL(SYS_GETTID, sys_gettid);

static int sys_sbrk(struct process *p, struct space *space, const uint32_t *a)
{
    (void)space;
    return process_raise_break(p, (int32_t)a[0]);
}
SYSCALL(SYS_SBRK, sys_sbrk);

USER_PATH_CALL static int sys_sched_yield(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p, (void)space, (void)a;
    thread_yield();
    return 0;
}
SYSCALL(SYS_SCHED_YIELD, sys_sched_yield);

static int sys_thread_spawn(struct process *p, struct space *space, const uint32_t *a)
{
    (void)space;
    return process_add_thread(p, a[0], a[2], a[1]);
}
SYSCALL(SYS_THREAD_SPAWN, sys_thread_spawn);

static int sys_thread_exit(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p, (void)space, (void)a;
    user_thread_end();
}
SYSCALL(SYS_THREAD_EXIT, sys_thread_exit);
