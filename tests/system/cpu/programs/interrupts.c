// Each hart takes its external, timer and software interrupt, each exactly once, and no other hart's.
#include "bench.h"

static volatile uint32_t external[HARTS], timer[HARTS], software[HARTS], other[HARTS];

void trap(struct frame *frame)
{
    int hart = hartid();
    switch (frame->mcause) {
    case INTERRUPT | 11:
        external[hart]++;
        EXTERNAL_CLEAR = 1 << hart;
        break;
    case INTERRUPT | 7:
        timer[hart]++;
        MTIMECMP_HIGH(hart) = 0xFFFFFFFF;
        break;
    case INTERRUPT | 3:
        software[hart]++;
        MSIP(hart) = 0;
        break;
    default: other[hart]++;
    }
    if (TRAP_CAUSE(hart) != frame->mcause || TRAP_PC(hart) != frame->mepc)
        other[hart]++;   // the probe saw the same
}

static void await(volatile uint32_t *count, uint32_t wanted)
{
    for (int i = 0; i < 20000 && *count < wanted; i++)
        continue;
    for (int i = 0; i < 50; i++)
        __asm__ volatile("nop");   // a second one would come now
    CHECK_EQUAL(*count, wanted);
}

void hart_main(int hart)
{
    int next = (hart + 1) % HARTS;
    uint32_t traps = TRAPS(hart);
    CHECK_EQUAL(csr_read(mip), 0);
    csr_set(mie, MIE_MEIE | MIE_MTIE | MIE_MSIE);

    // While mstatus.MIE is off they stay pending.
    EXTERNAL_SET = 1 << hart;
    for (int i = 0; i < 50; i++)
        __asm__ volatile("nop");
    CHECK_EQUAL(csr_read(mip), 1 << 11);
    CHECK_EQUAL(external[hart], 0);
    EXTERNAL_CLEAR = 1 << hart;
    CHECK_EQUAL(csr_read(mip), 0);
    barrier();

    csr_set(mstatus, MSTATUS_MIE);
    for (uint32_t round = 1; round <= 20; round++) {
        EXTERNAL_SET = 1 << hart;
        await(&external[hart], round);

        uint64_t due = MTIME_LOW + 300;
        MTIMECMP_LOW(hart) = due;
        MTIMECMP_HIGH(hart) = 0;
        await(&timer[hart], round);
        CHECK(MTIME_LOW >= due);

        barrier();
        MSIP(next) = 1;
        await(&software[hart], round);
        barrier();
    }
    csr_clear(mstatus, MSTATUS_MIE);
    CHECK_EQUAL(other[hart], 0);
    CHECK_EQUAL(TRAPS(hart) - traps, 60);
    print(hart, "traps", TRAPS(hart) - traps);

    // An interrupt raised at one hart's wire reaches no other hart.
    barrier();
    if (hart == 0)
        EXTERNAL_SET = 1 << (HARTS - 1);
    barrier();
    for (int i = 0; i < 20; i++)
        __asm__ volatile("nop");
    CHECK_EQUAL(csr_read(mip) >> 11 & 1, hart == HARTS - 1);
}
