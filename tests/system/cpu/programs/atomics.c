// All harts at once on the same words: sums made with LR/SC, AMO and under an amoswap lock are exact.
#include "bench.h"

#define ROUNDS 200

static volatile uint32_t by_amo, by_lrsc, highest;
// The lock lies beside what it protects: spinning harts keep taking the line from the holder.
static struct {
    volatile uint32_t lock, sum;
} beside __attribute__((aligned(64)));
static volatile uint32_t neighbours[16];   // one line: LR/SC beside other harts' stores

static void lrsc_add(volatile uint32_t *p, uint32_t v)
{
    uint32_t old, failed_;
    do {
        __asm__ volatile("lr.w %0, (%2)\n add %0, %0, %3\n sc.w %1, %0, (%2)"
                         : "=&r"(old), "=&r"(failed_)
                         : "r"(p), "r"(v)
                         : "memory");
    } while (failed_);
}

void hart_main(int hart)
{
    barrier();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        amoadd(&by_amo, i);
        lrsc_add(&by_lrsc, i);
        neighbours[hart] = i;
        lrsc_add(&neighbours[15], 1);
        uint32_t held;
        do
            __asm__ volatile("amoswap.w.aq %0, %1, (%2)" : "=r"(held) : "r"(1), "r"(&beside.lock) : "memory");
        while (held);
        beside.sum = beside.sum + i;
        __asm__ volatile("amoswap.w.rl x0, x0, (%0)" ::"r"(&beside.lock) : "memory");
        __asm__ volatile("amomaxu.w x0, %0, (%1)" ::"r"(i * HARTS + hart), "r"(&highest) : "memory");
    }
    barrier();
    uint32_t sum = HARTS * (ROUNDS * (ROUNDS - 1) / 2);
    CHECK_EQUAL(by_amo, sum);
    CHECK_EQUAL(by_lrsc, sum);
    CHECK_EQUAL(beside.sum, sum);
    CHECK_EQUAL(neighbours[15], HARTS * ROUNDS);
    CHECK_EQUAL(highest, ROUNDS * HARTS - 1);

    // A store by another hart between LR and SC makes the SC fail, which then does not store.
    static volatile uint32_t word, step;
    barrier();
#if HARTS > 1
    if (hart == 0) {
        uint32_t failed_;
        word = 1;
        fence();
        __asm__ volatile("lr.w x0, (%0)" ::"r"(&word) : "memory");
        step = 1;
        while (step != 2)
            continue;
        __asm__ volatile("sc.w %0, %1, (%2)" : "=r"(failed_) : "r"(99), "r"(&word) : "memory");
        CHECK_EQUAL(failed_, 1);
        CHECK_EQUAL(word, 7);
    } else if (hart == 1) {
        while (step != 1)
            continue;
        word = 7;
        fence();
        step = 2;
    }
#else
    (void)word, (void)step;
#endif
    // Every AMO does what it says, also at the signs' edges.
    static volatile uint32_t cells[HARTS];
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < 6; j++) {
            uint32_t a = values[i], b = values[j];
#define AMO(op, wanted)                                                                            \
    do {                                                                                           \
        uint32_t old;                                                                              \
        cells[hart] = a;                                                                           \
        __asm__ volatile(op ".w %0, %1, (%2)" : "=r"(old) : "r"(b), "r"(&cells[hart]) : "memory"); \
        CHECK_EQUAL(old, a);                                                                       \
        CHECK_EQUAL(cells[hart], wanted);                                                          \
    } while (0)
            AMO("amoswap", b);
            AMO("amoadd", a + b);
            AMO("amoxor", a ^ b);
            AMO("amoand", a & b);
            AMO("amoor", a | b);
            AMO("amomin", (int32_t)a < (int32_t)b ? a : b);
            AMO("amomax", (int32_t)a > (int32_t)b ? a : b);
            AMO("amominu", a < b ? a : b);
            AMO("amomaxu", a > b ? a : b);
        }
}
