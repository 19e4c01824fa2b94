/*
 * Breakpoints: addresses in main RAM that hold an EBREAK while the machine runs. While it is stopped the original code
 * is in place, so memory that GDB reads or writes never holds one of these EBREAKs. Every hart refetches its code when
 * it is released (FENCE.I, stop.c).
 */
#ifndef DEBUG_BREAK_H
#define DEBUG_BREAK_H

#include <stdbool.h>
#include <stdint.h>

/* GDB's, by physical address; false where none is allowed. Setting one twice, or clearing none, succeeds. */
bool break_set(uint32_t address);
bool break_clear(uint32_t address);
bool break_is_set(uint32_t address);
void break_clear_all(void);

/* For a step: removed when the machine stops, or at once. */
bool break_set_once(uint32_t address);
void break_clear_once(void);

void break_insert(void); /* before the machine runs */
void break_remove(void); /* when it has stopped */
#endif
