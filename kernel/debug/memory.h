/*
 * Memory and devices as GDB reads and writes them. A hart that stopped in user mode has the addresses of its address
 * space (Sv32), and above them, where nothing is mapped, the machine's; one that stopped in the kernel has the
 * machine's, and where the machine has nothing those of the process whose thread it runs. Of a process there is what is
 * resident: nothing is faulted in. A device gets one access of the greatest aligned width, at most four bytes. Nothing
 * is touched where the SoC has nothing.
 */
#ifndef DEBUG_MEMORY_H
#define DEBUG_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct debug_hart;

/* False where there is nothing; then nothing has been written. */
bool memory_read(const struct debug_hart *h, uint32_t address, uint8_t *to, uint32_t n);
bool memory_write(const struct debug_hart *h, uint32_t address, const uint8_t *from, uint32_t n);

/* The machine's address of the four bytes at an aligned address; false if they are not main RAM, where code is. */
bool memory_code(const struct debug_hart *h, uint32_t address, uint32_t *physical);

/* The same of where a hart is that is about to stop: its frame and CSRs are noted. */
bool memory_pc(const struct debug_hart *h, uint32_t *physical);
#endif
