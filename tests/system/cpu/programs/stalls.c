// What each kind of access costs: the cycles between two reads of mcycle around it, less those around nothing.
#include "bench.h"

static struct {
    volatile uint32_t word[16];
} line[68] __attribute__((aligned(64)));

// The code is in cache lines of its own and runs three times, after a pause in which stores under way are done;
// `prepare` runs before each.
#define AROUND(prepare, access)                                                                              \
    ({                                                                                                       \
        uint32_t begin_, end_;                                                                               \
        __asm__ volatile("fence\n j 1f\n .align 6\n 1: li t0, 3\n"                                           \
                         "3: " prepare "\n li t1, 100\n 2: addi t1, t1, -1\n bnez t1, 2b\n"                  \
                         "csrr %0, mcycle\n" access "\n csrr %1, mcycle\n addi t0, t0, -1\n bnez t0, 3b"     \
                         : "=&r"(begin_), "=&r"(end_)                                                        \
                         : "r"(&line[3]), "r"(&line[3 + 64]), "r"(0xE0000000), "r"(0xE1000000), "r"(DEVICE), \
                           "r"(CLINT)                                                                        \
                         : "t0", "t1", "t2", "memory");                                                      \
        end_ - begin_;                                                                                       \
    })
#define MEASURE(key, prepare, access) print(hart, #key, AROUND(prepare, access) - nothing)

void late_trap(void);
__asm__(".align 6\nlate_trap: csrr a0, time\n csrr t1, mepc\n jr t1\n");   // in a0: when the timer's trap began
void quick_trap(void);
__asm__(".align 6\nquick_trap: csrr a0, mcycle\n csrr t1, mepc\n addi t1, t1, 4\n csrw mepc, t1\n"
        " csrr a1, mcycle\n mret\n");

void hart_main(int hart)
{
    uint32_t nothing = AROUND("", "");
    MEASURE(nop, "", "nop");
    MEASURE(csr_read, "", "csrr t2, mscratch");
    MEASURE(csr_mask, "", "csrrci t2, mstatus, 8");
    MEASURE(load_hit, "lw t2, 0(%2)", "lw t2, 0(%2)");
    MEASURE(load_hit_used, "lw t2, 0(%2)", "lw t2, 0(%2)\n addi t2, t2, 0");
    MEASURE(load_miss, "lw t2, 0(%3)", "lw t2, 0(%2)");   // the two lines share a place in the cache
    MEASURE(store, "", "sw x0, 0(%2)");
    MEASURE(amo, "", "amoadd.w t2, x0, (%2)");
    MEASURE(amo_acquire, "", "amoadd.w.aq t2, x0, (%2)");
    MEASURE(lr, "", "lr.w t2, (%2)");
    MEASURE(lr_sc, "", "lr.w t2, (%2)\n sc.w t2, t2, (%2)");
    MEASURE(fence, "", "fence");
    MEASURE(fence_store, "", "sw x0, 0(%2)\n fence\n lw t2, 0(%2)");
    MEASURE(hart_io_load, "", "lw t2, 0(%4)");
    MEASURE(hart_io_store, "", "sw x0, 0(%4)");
    MEASURE(hart_io_trace, "", "sw x0, 0(%5)");
    MEASURE(hart_io_trace_2, "", "sw x0, 0(%5)\n sw x0, 4(%5)");
    MEASURE(hart_io_trace_4, "", "sw x0, 0(%5)\n sw x0, 4(%5)\n sw x0, 8(%5)\n sw x0, 12(%5)");
    MEASURE(bus_load, "", "lw t2, 0x28(%6)");
    MEASURE(bus_store, "", "sw x0, 0x28(%6)");
    MEASURE(clint_load, "", "lw t2, 0(%7)");
    MEASURE(clint_store, "", "sw x0, 0(%7)");
    MEASURE(fence_i, "", "fence.i");

    // Traps: from the read of mcycle before ECALL to the first instruction of the handler; from that before MRET to the
    // instruction it returns to.
    register uint32_t entered __asm__("a0"), leaving __asm__("a1");
    uint32_t before = 0, after = 0, entry = 0, leave = 0;
    csr_write(mtvec, (uint32_t)quick_trap);
    for (volatile int turn = 0; turn < 3; turn++) {
        __asm__ volatile("csrr %0, mcycle\n ecall\n csrr %1, mcycle"
                         : "=&r"(before), "=&r"(after), "=r"(entered), "=r"(leaving)::"t1", "memory");
        entry = entered, leave = leaving;
    }
    print(hart, "trap_entry", entry - before - nothing);
    print(hart, "mret", after - leave - nothing);

    // From the cycle in which the timer is due to the read of time at the handler's first instruction, out of a loop of
    // additions; and out of WFI.
    csr_write(mtvec, (uint32_t)late_trap);
    csr_set(mie, MIE_MTIE);
    for (int from_wfi = 0; from_wfi < 2; from_wfi++) {
        uint32_t due = 0, began = 0;
        for (volatile int turn = 0; turn < 3; turn++) {
            MTIMECMP_HIGH(hart) = 0xFFFFFFFF;
            due = MTIME_LOW + 500;
            MTIMECMP_LOW(hart) = due;
            MTIMECMP_HIGH(hart) = 0;
            // The handler returns to where it was taken, in machine mode with interrupts off; `2` sees a0.
            __asm__ volatile(
                "li a0, 0\n csrsi mstatus, 8\n bnez %1, 3f\n 2: beqz a0, 2b\n j 4f\n 3: wfi\n beqz a0, 3b\n 4:"
                : "=r"(entered)
                : "r"(from_wfi)
                : "t1", "memory");
            began = entered;
        }
        print(hart, from_wfi ? "timer_from_wfi" : "timer_from_loop", began - due);
    }
}
