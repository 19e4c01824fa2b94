/*
 * How each hart spends its time, in images with ACCOUNTING: cycles in user mode, in the kernel's threads (system),
 * in interrupts, spinning for a simple lock, and idle. Each cycle since the hart started the scheduler belongs to
 * exactly one account, so they sum to the elapsed time. Paper `mach`, section 2: which processors go idle while the
 * master's load grows.
 *
 *   user       from the return to user mode to the next trap
 *   system     everything else: thread code of the kernel, system calls, thread switches
 *   interrupt  from the trap's first C function to its last, soft interrupts and replayed ones included
 *   spinning   in the contended path of a simple lock, at whatever level
 *   idle       in WFI, in the idle thread
 *
 * Without ACCOUNTING the image holds none of this code.
 *
 * Locking: a hart writes its own account, with interrupts off on chip for those few instructions; other harts read it,
 * and read again if it was written meanwhile.
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
 * From now on the hart's cycles count towards `to`. Returns the previous account, which the caller restores at the end
 * of what begins here.
 */
enum account account_switch(enum account to);

/* The account of a hart, up to now. */
struct accounting accounting_read(unsigned hart);

/* Print a table, for the monitor; and a line for each hart with its cycles:
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
