/*
 * What each hart does with its time, in images with ACCOUNTING: cycles in user mode, in the kernel's threads (system),
 * in interrupts, spinning for a simple lock, and idle. Each cycle since the hart started the scheduler is in one of
 * them, so they sum to what has elapsed, exactly. Paper `mach`, section 2: which processors go idle while the master's
 * load grows.
 *
 *   user       from the return to user mode to the next trap
 *   system     all that is nothing else: thread code of the kernel, system calls, thread switches
 *   interrupt  from the trap's first C function to its last, soft interrupts and replayed ones included
 *   spinning   in the contended path of a simple lock, at whatever level
 *   idle       in WFI, in the idle thread
 *
 * Without ACCOUNTING there is nothing of it in the image.
 *
 * Locking: a hart writes its own account, with interrupts off on chip for the few instructions that takes; others read
 * it, and read again if it was written meanwhile.
 */
#ifndef ARCH_ACCOUNTING_H
#define ARCH_ACCOUNTING_H

#include <stdint.h>

enum account { ACCOUNT_USER, ACCOUNT_SYSTEM, ACCOUNT_INTERRUPT, ACCOUNT_SPINNING, ACCOUNT_IDLE, ACCOUNTS };

#if ACCOUNTING
struct accounting {
    uint64_t cycles[ACCOUNTS];
    uint64_t elapsed; /* cycles since the hart started the scheduler */
};

void accounting_start_hart(void);

/*
 * From now on the hart's cycles go to `to`; gives where they went before, to be restored at the end of what begins
 * here.
 */
enum account account_switch(enum account to);

/* The account of a hart, up to now. */
struct accounting accounting_read(unsigned hart);

/* A table, for the monitor; and a line for each hart, of its cycles:
   @accounting hart=... user=... system=... interrupt=... spinning=... idle=... elapsed=... */
void accounting_show(void);
void accounting_print_results(void);
#else
static inline void accounting_start_hart(void) {}

static inline enum account account_switch(enum account to)
{
    return to;
}
#endif
#endif
