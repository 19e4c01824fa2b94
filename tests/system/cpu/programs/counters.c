// Cycle, time and instruction counters: exact, the same on all harts, written and read by their CSRs.
#include "bench.h"

static volatile uint32_t gap[HARTS];

void hart_main(int hart)
{
    barrier();
    // mcycle and mtime run from the same reset: the middle of three reads that are equally far apart lies in the
    // middle.
    uint32_t before, time, after;
    for (int i = 0; i < 3; i++) { // the last turn finds everything in the cache
        __asm__ volatile(".align 6\n csrr %0, mcycle\n csrr %1, time\n csrr %2, mcycle"
                         : "=&r"(before), "=&r"(time), "=&r"(after)::"memory");
    }
    CHECK_EQUAL(after - time, time - before);
    gap[hart] = time - before;
    barrier();
    CHECK_EQUAL(gap[hart], gap[0]);

    // The outside world counts the same cycles: it reads its counter somewhere between two reads of ours.
    uint32_t begin = csr_read(mcycle), outside = CYCLE, end = csr_read(mcycle);
    CHECK(begin < outside && outside < end);

    // Instructions: ten between two reads, and the read itself.
    uint32_t first, last;
    __asm__ volatile("csrr %0, minstret\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n csrr %1, minstret"
                     : "=&r"(first), "=&r"(last));
    CHECK_EQUAL(last - first, 11);
    __asm__ volatile("csrr %0, instret\n csrr %1, minstret" : "=&r"(first), "=&r"(last));
    CHECK_EQUAL(last - first, 1);

    // The probe counts what minstret counts, through branches, memory accesses, AMO and cache misses.
    static volatile uint32_t work[HARTS][1100];
    uint32_t seen[2], counted[2];
    for (int turn = 0; turn < 2; turn++) {
        seen[turn] = RETIRED(hart);
        counted[turn] = csr_read(minstret);
        if (turn)
            break;
        for (int i = 0; i < 1100; i += 3) {
            work[hart][i] += i;
            if (i % 7 == 0)
                amoadd(&work[hart][i], 1);
        }
    }
    CHECK_EQUAL(seen[1] - seen[0], counted[1] - counted[0]);
    CHECK(counted[1] - counted[0] > 2000);

    // 64 bits, and writable.
    csr_write(minstret, 0);
    CHECK(csr_read(minstret) < 20);
    csr_write(minstreth, 5);
    CHECK_EQUAL(csr_read(instreth), 5);
    csr_write(mcycleh, 3);
    csr_write(mcycle, 0xFFFFFFF0u);
    for (int i = 0; i < 10; i++)
        __asm__ volatile("nop\n nop");
    CHECK_EQUAL(csr_read(cycleh), 4);
    CHECK_EQUAL(csr_read(timeh), 0);
}
