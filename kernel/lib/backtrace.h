/*
 * Chains of callers: the return addresses on a stack, found by the frame pointers, which all of the kernel keeps
 * (-fno-omit-frame-pointer), and addresses printed with the names of their functions.
 */
#ifndef LIB_BACKTRACE_H
#define LIB_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

#define BACKTRACE_MOST 24 /* frames followed at most */

/* Whether `fp` can be a frame pointer at all. */
bool backtrace_is_frame(uint32_t fp);

/* Collects the return addresses from the frame `fp` on, innermost first, at most `most`; returns their number. */
unsigned backtrace_collect(uint32_t fp, uint32_t *address, unsigned most);

/* One address a line: "  40001234 function+0x56". */
void backtrace_print(const uint32_t *address, unsigned n);
void backtrace_print_place(uint32_t pc);
#endif
