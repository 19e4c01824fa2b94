/*
 * The trace port (hw/trace): one store logs cycle, hart, event and argument, on the chip, and never waits for the PIC.
 * Events 0..1023; those below are the kernel's.
 */
#ifndef ARCH_TRACE_H
#define ARCH_TRACE_H

#include <stdint.h>

#include <generated/mem.h>

#define TRACE_THREAD_SWITCH 1 /* argument: the thread that runs from now on */
#define TRACE_ETHER_FRAMES 1020 /* argument: frames of the next ... */
#define TRACE_ETHER_FLOOD 1021  /* ... load from the wire's far end: cycles between them, and bytes above bit 20 */
#define TRACE_ETHER_GO 1022   /* the same for the Ethernet wire */
#define TRACE_SERIAL_GO 1023  /* the program is ready: the sender on the data port may begin */

static inline void trace(unsigned event, uint32_t argument)
{
    ((volatile uint32_t *)TRACE_WINDOW_BASE)[event] = argument;
}
#endif
