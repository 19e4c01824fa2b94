/* Calls between harts (call.h). */
#include "intr/call.h"

#include "arch/atomic.h"
#include "arch/clint.h"
#include "arch/csr.h"
#include "arch/panic.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock_debug.h"
#include "lock/spin/spin.h"
#include "sync/hart_part.h"

#define HALT_CYCLES 1000000u /* how long a panic waits for a hart that masks all interrupts on chip */

static hart_call_fn *call_fn[CALLS];

/* The call that hart h requests; the harts called own it until they have cleared their bits in `harts`. */
static struct request {
    void (*fn)(void *arg);
    void *arg;
    volatile uint32_t harts;
} __attribute__((aligned(64))) call_request[MAX_HARTS];

void hart_call_establish(enum hart_call type, hart_call_fn *fn)
{
    call_fn[type] = fn;
}

void hart_call(uint32_t harts_to_call, enum hart_call type)
{
    for (unsigned h = 0; harts_to_call; h++, harts_to_call >>= 1)
        if (harts_to_call & 1) {
            fence_release();
            atomic_or(&intr_hart_of(&harts[h])->calls, 1u << type);
            io_fence();
            clint_set_software(h);
        }
}

void hart_calls_answer(void)
{
    uint32_t calls = atomic_swap_acquire_release(&intr_hart()->calls, 0);
    for (unsigned type = 0; calls; type++, calls >>= 1)
        if (calls & 1 && call_fn[type])
            call_fn[type]();
}

static void call_run(void)
{
    intr_hart()->runs = 1;
    uint32_t callers = atomic_swap_acquire_release(&intr_hart()->callers, 0);
    for (unsigned h = 0; callers; h++, callers >>= 1)
        if (callers & 1) {
            call_request[h].fn(call_request[h].arg);
            fence_release();
            atomic_add(&call_request[h].harts, -(1u << curhart->id));
        }
    intr_hart()->runs = 0;
}

void hart_call_run(uint32_t harts_to_call, void (*fn)(void *arg), void *arg)
{
    lock_check_waits_for_harts();
    uint32_t was = csr_read_clear(mstatus, MSTATUS_MIE);
    if (intr_hart()->runs)
        panic("hart_call_run in a function that it calls: hart %u would wait twice at once", (unsigned)curhart->id);
    struct request *r = &call_request[curhart->id];
    uint32_t others = harts_to_call & ~(1u << curhart->id);
    r->fn = fn;
    r->arg = arg;
    r->harts = others;
    fence_release();
    for (unsigned h = 0; h < hart_count; h++)
        if (others >> h & 1)
            atomic_or(&intr_hart_of(&harts[h])->callers, 1u << curhart->id);
    hart_call(others, CALL_RUN);
    if (harts_to_call & ~others)
        fn(arg);
    while (r->harts) {
        hart_calls_answer();
        spin_pause(); /* a debugger or a panic can stop this hart here, too */
    }
    fence_acquire();
    if (sync_hart()->pending)
        clint_set_software(curhart->id); /* the trap checks for what was posted here meanwhile */
    csr_set(mstatus, was & MSTATUS_MIE);
}

static void halt(void)
{
    intr_disable();
    intr_hart()->halted = 1;
    csr_write(mie, 0); /* no interrupt wakes it */
    for (;;)
        __asm__ volatile("wfi");
}

static uint32_t call_deaf; /* harts that have not halted in time */

/* A hart that waits for a simple lock with interrupts off checks by itself. */
static bool poll_for_panic(void)
{
    panic_stop_if_other();
    return false;
}

/*
 * A hart that neither answers nor waits for a lock is named in the report, and halts when it next prints or ends the
 * run.
 */
static void halt_others(void)
{
    spin_poll = poll_for_panic;
    for (unsigned h = 0; h < hart_count; h++)
        if (h != curhart->id && harts[h].online) {
            lock_hart_of(&harts[h])->polls = 1;
            hart_call(1u << h, CALL_HALT);
        }
    uint32_t begin = cycles32();
    for (unsigned h = 0; h < hart_count; h++) {
        while (h != curhart->id && harts[h].online && !intr_hart_of(&harts[h])->halted &&
               cycles32() - begin < HALT_CYCLES)
            ;
        if (h != curhart->id && harts[h].online && !intr_hart_of(&harts[h])->halted)
            call_deaf |= 1u << h;
    }
}

static void report_deaf(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (call_deaf >> h & 1)
            kprintf("  hart %u did not stop in %u cycles: it keeps all interrupts off\n", h, HALT_CYCLES);
}

PANIC_REPORT(report_deaf);

void hart_calls_init(void)
{
    hart_call_establish(CALL_RUN, call_run);
    hart_call_establish(CALL_HALT, halt);
    panic_hooks.stop_others = halt_others;
    panic_hooks.halt = halt;
}
