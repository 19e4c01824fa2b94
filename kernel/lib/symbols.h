/*
 * Names of the kernel's functions, by address, for backtraces. The table is made from the linked image and linked in
 * after the code (lib/ksyms.py), so making it moves nothing.
 */
#ifndef LIB_SYMBOLS_H
#define LIB_SYMBOLS_H

#include <stdint.h>

struct ksym {
    uint32_t address;
    const char *name;
};

extern const struct ksym ksyms[];
extern const uint32_t ksyms_count;

/* The function that `pc` lies in, or 0; `*offset` gets its distance in bytes from the function's beginning. */
const char *symbol_of(uint32_t pc, uint32_t *offset);
#endif
