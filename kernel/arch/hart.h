/*
 * The data that each hart keeps for itself. `tp` points to it at all times in the kernel, so a field of the running
 * hart is one load or store: a thread that is moved to another hart between two of them finds the new hart's.
 *
 * The block is made of parts, one for each subsystem that needs one. A subsystem defines its part in a header of its
 * own; this header gives only the size of each, so that the offset from tp is known when code is compiled, and nothing
 * here depends on the layers above.
 *
 *   HART_PART_OF(sync);                in sync/hart_part.h, after struct sync_hart
 *   sync_hart()->level                 of the running hart
 *   sync_hart_of(&harts[h])->level     of another
 *
 * Locking: only the hart itself writes its own block, from thread level and from its interrupts, except where the part
 * says otherwise.
 */
#ifndef ARCH_HART_H
#define ARCH_HART_H

#define MAX_HARTS 8
#define HART_STACK_SIZE 8192

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

struct hart {
    uint32_t tls[4];          /* the C library's errno: thread-local storage starts at tp */
    uint32_t id;
    uint32_t mark;            /* id + 1: names this hart in a word where 0 is no hart */
    struct thread *thread;    /* the running thread (sched/sched.h) */
    volatile uint32_t online; /* the hart runs threads */
#define HART_PART(subsystem, words) uintptr_t subsystem##_part[words]
    HART_PART(sched, 12); /* sched/hart_part.h */
    HART_PART(vm, 2);     /* vm/mmu.h */
    HART_PART(user, 2);   /* proc/process.h */
    HART_PART(dev, 4);    /* dev/clock.h */
    HART_PART(intr, 8);   /* intr/call.h */
    HART_PART(sync, 136); /* sync/hart_part.h */
    HART_PART(lock, 272) __attribute__((aligned(64))); /* lock/hart_part.h */
} __attribute__((aligned(64))); /* no hart writes a cache line of another's */

extern struct hart harts[MAX_HARTS];
extern unsigned hart_count;
extern uint8_t boot_stacks[]; /* HART_STACK_SIZE bytes for each hart (start.S) */

#ifdef __riscv
register struct hart *curhart __asm__("tp");

/* The thread may have been moved to another hart: copies of tp from before this point must not be used any more. */
static inline void hart_may_have_changed(void)
{
    __asm__ volatile("" : "+r"(curhart) : : "memory");
}

/* The running thread, by one load: valid also where the thread can be moved to another hart. */
static inline __attribute__((always_inline)) struct thread *hart_thread(void)
{
    struct thread *t;
    __asm__ volatile("lw %0, %1(tp)" : "=r"(t) : "i"(offsetof(struct hart, thread)));
    return t;
}
#else
extern struct hart *curhart; /* unit tests on the host: test/host/host.h */

static inline struct thread *hart_thread(void)
{
    return curhart->thread;
}
#endif

/*
 * Access to a subsystem's part. The compiler might copy tp to another register first, and a thread that is moved
 * between the copy and its use would access the hart that it has left: where a thread can be moved, a part is used for
 * one load or by hart_store. The test test_schemes.py::test_no_copy_of_tp_outlives_a_move finds such copies.
 */
#define HART_PART_OF(subsystem)                                                                                     \
    _Static_assert(sizeof(struct subsystem##_hart) <= sizeof(((struct hart *)0)->subsystem##_part), "arch/hart.h"); \
    static inline __attribute__((always_inline)) struct subsystem##_hart *subsystem##_hart_of(struct hart *h)       \
    {                                                                                                               \
        return (struct subsystem##_hart *)h->subsystem##_part;                                                      \
    }                                                                                                               \
    static inline __attribute__((always_inline)) struct subsystem##_hart *subsystem##_hart(void)                    \
    {                                                                                                               \
        return subsystem##_hart_of(curhart);                                                                        \
    }

#define barrier() __asm__ volatile("" ::: "memory")

/* This hart's stores are in memory before its next I/O store takes effect: an I/O access does not wait for them. */
#define io_fence() __asm__ volatile("fence w, o" ::: "memory")
#endif
#endif
