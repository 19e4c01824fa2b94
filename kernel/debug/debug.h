/*
 * Remote debugging, as in paper `mach`, section 5: a low-level, nearly stand-alone module in every kernel that
 * understands how to observe and control the execution of the rest, and talks to a debugger over a serial line. Here
 * it speaks GDB's protocol (rsp.h) on the data port. GDB sees each hart as a thread; when one stops, all stop.
 *
 * Boot arguments: gdb=1: the module listens on the data port, at gdb.baud bit/s (115200); gdb=wait: also, the run
 * begins when a debugger continues it. Without gdb= it is inactive, and costs a load and a branch in each turn of a
 * loop that waits for a simple lock (lock/spin/spin.h: spin_poll).
 *
 * A hart is stopped by its software interrupt (CLINT), so the PIC's level does not matter; a hart that waits for a
 * simple lock, perhaps with interrupts off, polls. A hart that does neither within DEBUG_STOP_CYCLES is shown as
 * not answering. A step masks the hart's interrupts, so it does not end in a handler.
 *
 * Breakpoints are refused in the trap's entry and return (arch/trap.S), where their trap would destroy what
 * is being saved, and in this module.
 *
 * Locking: the hart that talks to GDB holds the server lock (server.h), which is acquired only by trying and with
 * interrupts off on chip, and guards all of the module's state. A hart writes its entry of debug_harts while it
 * runs; the server writes it from when the hart is marked as stopped until it is released.
 */
#ifndef DEBUG_DEBUG_H
#define DEBUG_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#define DEBUG_STOP_CYCLES 1000000u
#define DEBUG_KILLED_EXIT_CODE 0xdeb /* GDB's command "kill" ends the run */

struct frame;

/*
 * By the boot arguments; from the first thread, when all harts run. Returns whether the caller is to wait for a
 * debugger, by debug_break. Panics on a bad argument.
 */
bool debug_init(void);

/* Whether there is a debugger to report to: gdb= was given, and this hart is not already in the module. */
bool debug_active(void);

/* The run is about to end with this code. */
void debug_exit(uint32_t code);

/* Stop here, as at a breakpoint. Inlined, so that GDB shows, and steps through, the caller's code. */
static inline __attribute__((always_inline)) void debug_break(void)
{
    if (debug_active())
        __asm__ volatile("ebreak" ::: "memory");
}
#endif
