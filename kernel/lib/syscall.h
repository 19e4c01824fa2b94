/*
 * System calls register here, each beside the code that implements it, in any layer:
 *
 *   static int sys_getpid(struct process *p, struct vm_map *map, const uint32_t *a) { return p->id; }
 *   SYSCALL(SYS_GETPID, sys_getpid);
 *
 * The numbers are in user/abi.h. The linker gathers the calls of the kernel proper (arch/kernel.ld); proc/syscall.c
 * executes them.
 */
#ifndef LIB_SYSCALL_H
#define LIB_SYSCALL_H

#include <stdint.h>

struct process; /* proc/process.h: layers below user/ do not use it */
struct vm_map;  /* vm/map.h: the process's memory, in which the caller's pointers are valid */

/*
 * Executes a call for the calling thread, of process `p`, interrupts on and no lock held. a[0] to a[5] are its
 * arguments, which may have any value: a bad one gives the caller an error. Returns the result, or a negative errno.
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
 * Fill `table` of `size` entries with the calls from `first` up to before `end`, each at its number, and `none`
 * elsewhere. Panics if a number is not below `size`, or registered twice.
 */
void syscalls_gather(const struct syscall *first, const struct syscall *end, syscall_fn *none, syscall_fn **table,
                     uint32_t size);
#endif
