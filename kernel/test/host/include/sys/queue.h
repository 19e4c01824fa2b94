/* The lists of the kernel's C library, picolibc: those of the host's have no _SAFE forms. */
#include "/usr/lib/picolibc/riscv64-unknown-elf/include/sys/queue.h"
