/* The table of system calls (syscall.h). */
#include "lib/syscall.h"

#include "lib/panic.h"

void syscalls_gather(const struct syscall *first, const struct syscall *end, syscall_fn *none, syscall_fn **table,
                     uint32_t size)
{
    for (uint32_t n = 0; n < size; n++)
        table[n] = none;
    for (const struct syscall *call = first; call < end; call++) {
        unsigned n = call->number;
        if (n >= size)
            panic("system call %u: its number is not below SYS_CALLS, which is %u (user/abi.h)", n, (unsigned)size);
        if (table[n] != none)
            panic("system call %u is registered twice: give each a number of its own (user/abi.h)", n);
        table[n] = call->fn;
    }
}
