/*
 * What each hart keeps for itself. `tp` points to it at all times in the kernel, so a field of the hart that
 * runs is one load or store: a thread that is moved to another hart between two of them finds the new hart's.
 *
 * Locking: only the hart itself writes its own block, from thread level and from its interrupts. Fields marked
 * (i) are written with interrupts disabled on chip or by one store; `resched` is also set by other harts.
 */
#ifndef ARCH_HART_H
#define ARCH_HART_H

#define MAX_HARTS 8
#define HART_STACK_SIZE 8192
#define HART_SPIN_SPACE 1024 /* bytes */

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HART_SOURCES 32 /* of the PIC */

struct thread;

/* What a source calls; one that has no handler calls a function that panics. */
struct intr_vector {
    void (*fn)(void *arg);
    void *arg;
};

struct hart {
    uint32_t tls[4];          /* the C library's errno: thread-local storage starts at tp */
    volatile uint32_t level;  /* logical interrupt level now (sync/sync.h) */
    volatile uint32_t pending; /* (i) bit n: something waits at level n: a queued interrupt or a soft interrupt */
    uint32_t hw_level;        /* (i) level last written to the PIC, where a scheme keeps the two apart */
    uint32_t queued[16];      /* (i) by level: bit s set: interrupt of source s claimed, not yet handled */
    uint32_t intr_depth;      /* (i) interrupt handlers active on this hart's stack */
    uint32_t in_softint;      /* (i) soft interrupts active on this hart's stack */
    volatile uint32_t resched; /* the running thread is to be preempted at the next chance */
    struct thread *thread;    /* the thread that runs */
    struct thread *idle;      /* the thread that runs when no other can */
    uint32_t id;
    uint32_t mark;            /* id + 1: names this hart in a word where 0 is nobody */
    uint32_t ticks;           /* clock interrupts taken */
    uint32_t interrupts;      /* interrupts handled */
    uint32_t spurious;        /* claims that found nothing */
    uint32_t deferred;        /* interrupts queued by an optimistic scheme */
    uint32_t switches;        /* thread switches */
    volatile uint32_t online;
    /* scheduler */
    volatile uint32_t priority; /* of the thread that runs: other harts look whether theirs is more urgent */
    struct thread *leaving;     /* a thread that goes to another hart, until its registers are saved */
    uint32_t stolen;            /* threads taken from another hart's run queue */
    /* debugger */
    uint32_t debug_polls;         /* there is a debugger: a loop that waits for another hart calls debug_poll */
    volatile uint32_t debug_stop; /* the debugger stops all harts */
    /* interrupts: the same on every hart, written by intr_establish before the source is enabled; here, because nothing of
     * the way to a handler may evict what the way needs next */
    struct intr_vector vector[HART_SOURCES];
    uint32_t handled[HART_SOURCES]; /* interrupts, by source */
    /* spin locks: the algorithm's nodes, next to what else a hart uses, so that neither evicts the other */
    uint8_t spin_space[HART_SPIN_SPACE] __attribute__((aligned(64)));
#if CRIT_TIMING
    struct crit_timing {      /* sync/crit_timing.h */
        uint32_t depth, since; /* sections that are open; when the outermost of them began */
        uint32_t sections, longest;
        uint64_t cycles;
    } crit_timing;
#endif
    /* user mode */
    uint32_t system_calls;    /* made by threads of processes */
    uint32_t space;           /* (i) serial number of the address space in satp (vm/mmu.h) */
} __attribute__((aligned(64))); /* no line of one is written by another */

extern struct hart harts[MAX_HARTS];
extern unsigned hart_count;

#ifdef __riscv
register struct hart *curhart __asm__("tp");

/*
 * Set the level of the hart that runs, by one store through tp. The compiler might copy tp to another register first, and
 * a thread that is moved between the copy and the store would set the level of the hart that it has left. The test
 * test_schemes.py::test_no_copy_of_tp_outlives_a_move finds such copies.
 */
static inline void hart_set_level(uint32_t level)
{
    __asm__ volatile("sw %0, %1(tp)" ::"r"(level), "i"(offsetof(struct hart, level)) : "memory");
}

/* The thread may have been moved to another hart until now: a copy of tp from before is not to be used any more. */
static inline void hart_may_have_changed(void)
{
    __asm__ volatile("" : "+r"(curhart) : : "memory");
}
#else
extern struct hart *curhart; /* units on the host: test/host/host.h */
#endif

#define barrier() __asm__ volatile("" ::: "memory")

/* What this hart has stored is in memory before its next I/O store takes effect: an I/O access does not wait for it. */
#define io_fence() __asm__ volatile("fence w, o" ::: "memory")
#endif
#endif
