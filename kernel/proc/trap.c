/* Traps from user mode: interrupts, system calls, and exceptions that end a program. */
#include <errno.h>

#include "arch/accounting.h"
#include "arch/csr.h"
#include "arch/exception.h"
#include "lib/printf.h"
#include "sync/sync.h"
#include "proc/process.h"
#include "proc/signal.h"
#include "proc/syscall.h"
#include "vm/mmu.h"

static int trap_signal_of(uint32_t cause)
{
    switch (cause) {
    case CAUSE_ILLEGAL: return USER_SIGILL;
    case CAUSE_BREAKPOINT: return USER_SIGTRAP;
    case CAUSE_FETCH_PAGE_FAULT:
    case CAUSE_LOAD_PAGE_FAULT:
    case CAUSE_STORE_PAGE_FAULT: return USER_SIGSEGV;
    default: return USER_SIGBUS;
    }
}

/* The rights that a page fault needs; 0: it is none. */
static unsigned wanted(uint32_t cause)
{
    return cause == CAUSE_FETCH_PAGE_FAULT   ? PAGE_EXECUTE
           : cause == CAUSE_LOAD_PAGE_FAULT  ? PAGE_READ
           : cause == CAUSE_STORE_PAGE_FAULT ? PAGE_WRITE
                                             : 0;
}

/* For every signal of a trap: SEGV_MAPERR, BUS_ADRALN, ILL_ILLOPC, TRAP_BRKPT. */
#define FIRST_CODE 1
_Static_assert(USER_SEGV_MAPERR == 1 && USER_BUS_ADRALN == 1 && USER_ILL_ILLOPC == 1 && USER_TRAP_BRKPT == 1, "traps");

static void user_exception(uint32_t cause, const struct frame *frame)
{
    struct process *p = user_self()->process;
    uint32_t value = csr_read(mtval);
    unsigned rights = wanted(cause);
    intr_enable();
    int error = rights ? vm_fault(p->map, value, rights) : -EFAULT;
    if (!error) {
        intr_disable();
        mmu_flush(); /* the hart may cache a missing entry, or fewer rights */
        return;
    }
    int signal = error == -ENOMEM || error == -EIO ? USER_SIGBUS : trap_signal_of(cause);
    int code = signal == USER_SIGSEGV && error == -EACCES ? USER_SEGV_ACCERR
               : signal == USER_SIGBUS && rights          ? USER_BUS_ADRERR
                                                          : FIRST_CODE;
    if (signal_trap(signal, code, value))
        return;
    kprintf("%s, process %d: %s at pc %#lx, address %#lx; it is ended\n", p->name, p->id, exception_name(cause),
            (unsigned long)frame->mepc, (unsigned long)value);
}

/*
 * Called by trap.S with interrupts off on chip; they are off again on return. It lies beside trap.S in the instruction
 * cache.
 */
void user_trap(uint32_t cause, struct frame *frame)
{
    account_switch(ACCOUNT_SYSTEM);
    if (cause == CAUSE_USER_ECALL) {
        intr_enable();
        frame->mepc += 4;
        system_call(frame);
    } else if (cause == CAUSE_EXTERNAL) {
        struct thread *self = curhart->thread;
        uint32_t before = self->ticks;
        interrupt(frame);
        self->user->user_ticks += self->ticks - before;
    } else if (cause & CAUSE_INTERRUPT) {
        trap(cause, frame);
    } else if (!(trap_hook && trap_hook(cause, frame))) {
        user_exception(cause, frame);
    }
    user_leave_kernel();
}
