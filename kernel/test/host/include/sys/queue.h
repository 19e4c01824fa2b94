/* The lists of the kernel's C library, picolibc: those of the host's have no _SAFE forms. */
#include <stddef.h>

#ifndef __containerof /* picolibc's, for STAILQ_LAST */
#define __containerof(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))
#endif
#include "/usr/lib/picolibc/riscv64-unknown-elf/include/sys/queue.h"
