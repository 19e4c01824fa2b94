/*
 * Breakpoints: places in main RAM where an EBREAK stands while the machine runs. While it is stopped the code is as it
 * was, so memory that GDB reads or writes never holds one of ours. Every hart fetches its code anew when it is let go
 * (FENCE.I, stop.c).
 */
#ifndef DEBUG_BREAK_H
#define DEBUG_BREAK_H

#include <stdbool.h>
#include <stdint.h>

/* GDB's, by the machine's address; false where none can be. Setting twice, and clearing none, is right. */
bool break_set(uint32_t address);
bool break_clear(uint32_t address);
bool break_is_set(uint32_t address);
void break_clear_all(void);

/* For a step: gone when the machine stops, or at once. */
bool break_set_once(uint32_t address);
void break_clear_once(void);

void break_insert(void); /* before the machine runs */
void break_remove(void); /* when it has stopped */
#endif
