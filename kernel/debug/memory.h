/*
 * Memory and devices as GDB reads and writes them. A hart that stopped in user mode has the addresses of its address
 * space (Sv32), and above them, where nothing is mapped, physical addresses; one that stopped in the kernel has
 * physical addresses, and where the machine has nothing those of the process whose thread it runs. Only a process's
 * resident pages are accessed: no page is faulted in. A device gets one access of the widest aligned size, at most
 * four bytes. Addresses where the SoC has nothing are not accessed.
 */
#ifndef DEBUG_MEMORY_H
#define DEBUG_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct debug_hart;

/* False where there is no memory or device; then nothing has been written. */
bool memory_read(const struct debug_hart *h, uint32_t address, uint8_t *to, uint32_t n);
bool memory_write(const struct debug_hart *h, uint32_t address, const uint8_t *from, uint32_t n);

/* The physical address of the four bytes at an aligned address; false if they are not in main RAM, as code is. */
bool memory_code(const struct debug_hart *h, uint32_t address, uint32_t *physical);

/* The same for the pc of a hart that is about to stop: its frame and CSRs are noted. */
bool memory_pc(const struct debug_hart *h, uint32_t *physical);
#endif
