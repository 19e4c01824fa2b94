/*
 * Remote debugging, as in paper `mach`, section 5: a low-level, nearly stand-alone module in every kernel that
 * understands how to observe and control the execution of the rest, and talks to a debugger over a serial line. Here
 * it speaks GDB's protocol (rsp.h) on the data port. GDB sees each hart as a thread; when one stops, all stop.
 *
 * Boot arguments: gdb=1: the module listens on the data port, at gdb.baud bit/s (115200); gdb=wait: and the run
 * begins when a debugger continues it. Without gdb= it does nothing, and costs a load and a branch in each turn of a
 * loop that waits for a simple lock (lock/spin/spin.h: spin_poll).
 *
 * A hart is stopped by its software interrupt (CLINT), so the PIC's level does not matter; one that waits for a
 * simple lock, perhaps with interrupts off, looks for itself. One that does neither in DEBUG_STOP_CYCLES is shown as
 * one that does not answer. A step keeps interrupts from the hart, so it does not end in a handler.
 *
 * Breakpoints are refused in the trap's entry and return (arch/trap.S), where the trap they cause would destroy what
 * is being saved, and in this module.
 *
 * Locking: the server lock (server.h), taken only by trying and with interrupts off on chip, is held by the hart that
 * talks to GDB, and guards all of the module's state. A hart's entry of debug_harts is written by the hart while it
 * runs, and by the server from when it is marked as stopped until it is let go.
 */
#ifndef DEBUG_DEBUG_H
#define DEBUG_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#define DEBUG_STOP_CYCLES 1000000u
#define DEBUG_KILLED_EXIT_CODE 0xdeb /* GDB's command "kill" ends the run */

struct frame;

/*
 * As the boot arguments say; from the first thread, when all harts run. Whether the caller is to wait for a debugger,
 * by debug_break. Panics on a bad argument.
 */
bool debug_init(void);

/* Whether there is a debugger to report to: gdb= was given, and this hart is not in the module already. */
bool debug_active(void);

/* The run is about to end with this code. */
void debug_exit(uint32_t code);

/* Stop here, as at a breakpoint. In the caller's own code, so that GDB shows, and steps through, that. */
static inline __attribute__((always_inline)) void debug_break(void)
{
    if (debug_active())
        __asm__ volatile("ebreak" ::: "memory");
}
#endif
