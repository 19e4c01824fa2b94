// Which hart waits, and how long: an I/O store waits for its response, a trace store does not, and a hart that waits
// for its private port delays no other.
#include "bench.h"

#define STALL 1000

static struct {
    volatile uint32_t word[1024];
} mine[HARTS];
static volatile uint32_t contended;

// Work of a fixed amount: hits, misses, stores, atomics; the cycles it takes.
static uint32_t work(int hart)
{
    uint32_t begin = csr_read(mcycle);
    for (uint32_t i = 0; i < 2000; i++) {
        mine[hart].word[i * 5 % 1024] += i;
        if (i % 32 == 0)
            amoadd(&contended, 1);
    }
    return csr_read(mcycle) - begin;
}

// Cycles from the read of mcycle before an access to the one behind it, code in the cache, nothing else under way.
#define TIMED(name, access)                                                                                 \
    static __attribute__((noinline)) uint32_t name(volatile uint32_t *where)                                \
    {                                                                                                       \
        uint32_t begin, end;                                                                                \
        __asm__ volatile("fence\n .align 6\n li t0, 2\n 1: li t1, 600\n 2: addi t1, t1, -1\n bnez t1, 2b\n" \
                         "csrr %0, mcycle\n" access "\n csrr %1, mcycle\n addi t0, t0, -1\n bnez t0, 1b"    \
                         : "=&r"(begin), "=&r"(end)                                                         \
                         : "r"(where)                                                                       \
                         : "t0", "t1", "memory");                                                           \
        return end - begin;                                                                                 \
    }
TIMED(timed_store, "sw x0, 0(%2)")
TIMED(timed_load, "lw x0, 0(%2)")

void hart_main(int hart)
{
    // Both ways that a port can be slow: late to accept, late to answer.
    for (int late = 0; late < 2; late++) {
        IO_STALL(hart) = 0;
        uint32_t store = timed_store(&IO(0)), load = timed_load(&IO(0)), trace = timed_store(&TRACE(0));
        IO_STALL(hart) = (late ? 0x80000000 : 0) | STALL;
        CHECK_EQUAL(timed_store(&IO(0)) - store, STALL);
        CHECK_EQUAL(timed_load(&IO(0)) - load, STALL);
        CHECK_EQUAL(timed_store(&TRACE(0)), trace);
        CHECK(trace < 10);
        (void)TRACE(0);
        IO_STALL(hart) = 0;
    }
    // The shared bus's stores wait as well.
    barrier();
    if (hart == 0) {
        uint32_t store = timed_store(&SLOW);
        SLOW_DELAY = STALL;
        CHECK_EQUAL(timed_store(&SLOW) - store, STALL);
        SLOW_DELAY = 0;
    }
    barrier();

    // Hart 0 waits again and again; the others work as fast as when it sleeps.
    static volatile uint32_t done;
    for (int late = 0; late < 2; late++) {
        uint32_t alone = 0, beside;
        work(hart); // everything cached that can be
        barrier();
        if (hart == 0) {
            csr_set(mie, MIE_MSIE); // sleeps, so as not to disturb
            __asm__ volatile("wfi");
            MSIP(0) = 0;
        } else {
            alone = work(hart);
            if (amoadd(&done, 1) == HARTS - 2)
                done = 0, MSIP(0) = 1;
        }
        barrier();
        if (hart == 0) {
            IO_STALL(0) = (late ? 0x80000000 : 0) | STALL;
            uint32_t begin = csr_read(mcycle);
            for (int i = 0; i < 20; i++)
                IO(i % 16) = i;
            CHECK(csr_read(mcycle) - begin >= 20 * STALL);
            IO_STALL(0) = 0;
        } else {
            beside = work(hart);
            print(hart, late ? "alone_late" : "alone", alone);
            print(hart, late ? "beside_late" : "beside", beside);
            CHECK(beside < alone + alone / 50);
        }
        barrier();
    }
}
