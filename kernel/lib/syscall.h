/*
 * System calls register here, each beside the code that it is about, in whichever layer:
 *
 *   static int sys_getpid(struct process *p, struct vm_map *map, const uint32_t *a) { return p->id; }
 *   SYSCALL(SYS_GETPID, sys_getpid);
 *
 * The numbers are in user/abi.h. The linker gathers the calls of the kernel proper (arch/kernel.ld); proc/syscall.c
 * carries them out.
 */
#ifndef LIB_SYSCALL_H
#define LIB_SYSCALL_H

#include <stdint.h>

struct process; /* proc/process.h: layers below user/ have no use for it */
struct vm_map;  /* vm/map.h: its memory, where the caller's pointers point to */

/*
 * Carries a call out for the calling thread, of process `p`, interrupts on and no lock held. a[0] to a[5] are its
 * arguments: whatever they are, the worst is an error for the caller. Gives its result, or minus a number of <errno.h>.
 */
typedef int syscall_fn(struct process *p, struct vm_map *map, const uint32_t *a);

struct syscall {
    uint32_t number;
    syscall_fn *fn;
};

#define SYSCALL(call_number, call_fn)                \
    static const struct syscall syscall_of_##call_fn \
        __attribute__((used, section(".syscalls"))) = {call_number, call_fn}

/*
 * Fill `table` of `size` with the calls from `first` to before `end`, each under its number, and `none` elsewhere.
 * Panics if a number is not below `size`, or registered twice.
 */
void syscalls_gather(const struct syscall *first, const struct syscall *end, syscall_fn *none, syscall_fn **table,
                     uint32_t size);
#endif
