/*
 * System V's user contexts: getcontext, setcontext, and both in one. The run-time system of a language switches its
 * processes by them if it knows neither the processor nor a library that does: paper `mpd` measures their cost. The
 * caller saves the registers that C saves across calls, as it does for every system call.
 */
#include <errno.h>

#include "lib/syscall.h"
#include "proc/process.h"
#include "proc/signal.h"
#include "proc/syscall.h"

enum { PC, RA, SP, GP, TP, KEPT };

static int get(struct vm_map *map, uint32_t to)
{
    const struct user_thread *self = user_self();
    const struct frame *f = self->frame;
    uint32_t kept[KEPT] = {[PC] = f->mepc, [RA] = f->ra, [SP] = f->sp, [GP] = f->gp, [TP] = f->tp};
    uint32_t mask = self->mask;
    int error = copyout(map, to + offsetof(struct user_context, x), kept, sizeof kept);
    return error ? error : copyout(map, to + offsetof(struct user_context, mask), &mask, sizeof mask);
}

static int set(struct vm_map *map, uint32_t from)
{
    struct user_thread *self = user_self();
    struct frame *f = self->frame;
    uint32_t kept[KEPT], mask;
    if (copyin(map, kept, from + offsetof(struct user_context, x), sizeof kept) ||
        copyin(map, &mask, from + offsetof(struct user_context, mask), sizeof mask))
        return -EFAULT;
    f->mepc = kept[PC];
    f->ra = kept[RA];
    f->sp = kept[SP];
    f->gp = kept[GP];
    f->tp = kept[TP];
    f->a[1] = from;
    crit_t s = simple_lock_enter(&user_lock);
    signals_mask(self, mask);
    simple_lock_leave(&user_lock, s);
    return 0;
}

static int sys_getcontext(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    uint32_t to = a[0];
    user_self()->frame->a[1] = to;
    return get(map, to);
}
SYSCALL(SYS_GETCONTEXT, sys_getcontext);

static int sys_setcontext(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    return set(map, a[0]);
}
SYSCALL(SYS_SETCONTEXT, sys_setcontext);

static int sys_swapcontext(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    uint32_t to = a[1];
    int error = get(map, a[0]);
    return error ? error : set(map, to);
}
SYSCALL(SYS_SWAPCONTEXT, sys_swapcontext);
