/* How a hart enters and leaves the debugging module (debug.h). */
#include "debug/debug.h"

#include <string.h>

#include "arch/atomic.h"
#include "arch/clint.h"
#include "arch/csr.h"
#include "arch/exception.h"
#include "arch/frame.h"
#include "arch/panic.h"
#include "debug/break.h"
#include "debug/harts.h"
#include "debug/line.h"
#include "debug/memory.h"
#include "debug/rsp.h"
#include "debug/server.h"
#include "dev/serial.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lock/spin/spin.h"
#include "sync/pic.h"
#include "sync/spl.h"

#define POLL_TURNS 64 /* of a loop, between polls of the line */

struct debug_hart debug_harts[MAX_HARTS];

static bool debug_is_active;

static struct debug_hart *here(void)
{
    return &debug_harts[curhart->id];
}

bool debug_active(void)
{
    return debug_is_active && !here()->stopped;
}

static void note_csrs(struct debug_hart *me)
{
    uint32_t *csr = me->csr;
#define NOTE(name) csr[DEBUG_CSR_##name] = csr_read(name);
    DEBUG_CSRS(NOTE)
#undef NOTE
    /* its value before this trap, which has moved MIE to MPIE */
    uint32_t then = me->frame->mstatus;
    csr[DEBUG_CSR_mstatus] = (then & ~MSTATUS_MIE) | (then & MSTATUS_MPIE ? MSTATUS_MIE : 0);
}

/* Wait here until GDB releases this hart. `signal`: what is reported to GDB; 0: nothing. */
static void debug_stop(struct debug_hart *me, struct frame *frame, unsigned signal)
{
    here()->stop = 0;
    me->frame = frame;
    note_csrs(me);
    me->masked = false;
    me->signal = (uint8_t)signal;
    me->go = false;
    fence_release();
    me->stopped = true;
    while (!me->go)
        if (server_try()) {
            if (!me->go)
                server_serve(curhart->id);
            server_release();
        }
    fence_acquire();
    if (me->masked) {
        me->mie = csr_read(mie);
        csr_write(mie, 0);
    }
    __asm__ volatile("fence.i" ::: "memory"); /* breakpoints were inserted and removed */
}

/* Any trap ends a step: unmasks the interrupts that were masked for it. Returns whether there was a step. */
static bool end_step(struct debug_hart *me)
{
    bool was = me->stepping;
    if (was && me->masked)
        csr_write(mie, me->mie);
    me->stepping = false;
    return was;
}

static bool debug_breakpoint(struct debug_hart *me, struct frame *frame, bool stepping)
{
    uint32_t physical;
    bool ours;
    if (me->invited) {
        me->invited = false;
        frame->mepc += 4;
        frame->mstatus |= me->mpie;
        debug_stop(me, frame, 0);
        return true;
    }
    me->frame = frame;
    note_csrs(me);
    ours = memory_pc(me, &physical) && break_is_set(physical);
    if (debug_in_user(me) && !ours && !stepping)
        return false; /* an EBREAK of the program: ends it */
    me->breakpoint = ours;
    me->at_ebreak = !stepping;
    me->stepped = stepping;
    debug_stop(me, frame, stepping ? 0 : me->message ? RSP_SIGABRT : RSP_SIGTRAP);
    me->at_ebreak = false;
    return true;
}

static unsigned debug_signal_of(uint32_t cause)
{
    switch (cause) {
    case CAUSE_MISALIGNED_FETCH:
    case CAUSE_MISALIGNED_LOAD:
    case CAUSE_MISALIGNED_STORE: return RSP_SIGBUS;
    case CAUSE_ILLEGAL: return RSP_SIGILL;
    default: return RSP_SIGSEGV;
    }
}

/*
 * From the trap path (arch/exception.h), with a full frame and interrupts off on chip: true if only the debugger
 * handles the trap, and the hart continues as the frame says. An exception that was reported to GDB and that it
 * continues is returned to the kernel. A software interrupt was cleared before the call, and may have other causes
 * too: false.
 */
static bool debug_trap(uint32_t cause, struct frame *frame)
{
    struct debug_hart *me = here();
    if (!debug_active()) /* otherwise an exception in the module: the kernel panics */
        return false;
    bool stepping = end_step(me);
    if (cause == CAUSE_BREAKPOINT)
        return debug_breakpoint(me, frame, stepping);
    uint32_t pc = frame->mepc;
    if (cause & CAUSE_INTERRUPT) {
        if (cause == CAUSE_SOFTWARE && here()->stop)
            debug_stop(me, frame, 0);
        return false;
    }
    me->frame = frame;
    if (debug_in_user(me) && !stepping)
        return false; /* it ends the program only */
    me->breakpoint = me->at_ebreak = false;
    debug_stop(me, frame, debug_signal_of(cause));
    return frame->mepc != pc; /* GDB has changed it */
}

/* The port's handler. The hart stops when it has returned to the interrupted code. */
static void heard(void *arg)
{
    (void)arg;
    intr_disable(); /* a hart that holds the server lock must not be stopped */
    if (server_try()) {
        server_listen();
        server_release();
    }
    if (server_wants_stop()) {
        here()->stop = 1;
        clint_set_software(curhart->id);
    }
}

/* Called in each turn of a loop that waits for another hart (lock/spin/spin.h): whether to stop, by EBREAK. */
static bool debug_poll(void)
{
    static uint32_t turns[MAX_HARTS];
    uint32_t mie = csr_read_clear(mstatus, MSTATUS_MIE) & MSTATUS_MIE;
    if (turns[curhart->id]++ % POLL_TURNS == 0 && server_try()) {
        server_listen();
        server_release();
    }
    if (!here()->stop && !server_wants_stop()) {
        csr_set(mstatus, mie);
        return false;
    }
    /* Interrupts stay off until the EBREAK: one could move the thread off this hart, or handle the request first. */
    struct debug_hart *me = here();
    here()->stop = 1;
    me->invited = true;
    me->mpie = (uint8_t)(mie * (MSTATUS_MPIE / MSTATUS_MIE));
    return true;
}

/* Notes the reason of the next EBREAK; returns whether there is a debugger to report it to. */
static bool debug_note_panic(const char *message)
{
    if (!debug_active())
        return false;
    here()->message = message;
    return true;
}

void debug_exit(uint32_t code)
{
    if (!debug_active())
        return;
    for (intr_disable(); !server_try(); intr_disable())
        intr_enable(); /* the hart that holds the lock may need to stop this one */
    server_exit(code);
    server_release();
}

bool debug_init(void)
{
    char value[8];
    const char *gdb = bootargs_string(BOOT(kernel, gdb), value, sizeof value);
    bool wait = !strcmp(gdb, "wait");
    if (!strcmp(gdb, "0"))
        return false;
    if (!wait && strcmp(gdb, "1"))
        panic("boot argument gdb=%s: give 0, 1 or wait", gdb);
    line_open(bootargs_number(BOOT(kernel, gdb_baud)));
    server_init(hart_count, wait);
    for (unsigned h = 0; h < hart_count; h++)
        lock_hart_of(&harts[h])->polls = 1;
    spin_poll = debug_poll;
    trap_hook = debug_trap;
    panic_hooks.note = debug_note_panic;
    panic_hooks.ended = debug_exit;
    debug_is_active = true;
    intr_establish(serial_data.source, SPL_HIGH, INTR_LEVEL, PIC_ANY_HART, heard, 0, "gdb");
    return wait;
}
