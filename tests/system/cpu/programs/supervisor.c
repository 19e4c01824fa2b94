// Supervisor mode: delegated exceptions and interrupts reach it, others machine mode; sret and its CSRs work.
#include "user.h"

USER_FUNCTION(user_start, "nop");
USER_FUNCTION(user_ecall, "ecall\n 1: j 1b");
USER_FUNCTION(user_load, "lw a0, 0(a0)\n 1: j 1b");
USER_FUNCTION(user_spin, "1: j 1b");
// Enters user mode at a0, with a1 in a0.
USER_FUNCTION(supervisor_enter, "csrw sepc, a0\n li t0, 0x100\n csrc sstatus, t0\n mv a0, a1\n sret");
// The supervisor's trap handler: passes scause, stval and sepc on with an ecall of its own.
USER_FUNCTION(supervisor_trap, "csrr a0, scause\n csrr a1, stval\n csrr a2, sepc\n ecall");
USER_FUNCTION(supervisor_load, "lw a0, 0(a0)\n ecall");
USER_FUNCTION(supervisor_raise, "csrsi sip, 2\n csrsi sstatus, 2\n 1: j 1b");
USER_FUNCTION(supervisor_mcsr, "csrr a0, mstatus\n ecall");
USER_FUNCTION(supervisor_mret, "mret\n ecall");

#define AT(page) (USER_CODE + 4096u * (page))

void trap(struct frame *frame)
{
    back_to_machine(frame);
}

static void supervisor(int hart, void (*function)(void), uint32_t a0, uint32_t a1)
{
    cause[hart] = ~0u;
    run_at(1, SUPERVISOR(function), a0, a1, &resume_sp[hart]);
}

// The supervisor took a trap and reported it with its ecall.
#define DELEGATED(cause_, tval_, epc_)                            \
    do {                                                          \
        CHECK_EQUAL(cause[hart], 9);                              \
        CHECK_EQUAL(epc[hart], SUPERVISOR(supervisor_trap) + 12); \
        CHECK_EQUAL(result[hart][0], cause_);                     \
        CHECK_EQUAL(result[hart][1], tval_);                      \
        CHECK_EQUAL(result[hart][2], epc_);                       \
    } while (0)

void hart_main(int hart)
{
    map(hart, USER_CODE, 0, (void *)user_start, PTE_R | PTE_X | PTE_U);
    map(hart, USER_CODE, 1, &pages[hart][0], PTE_R | PTE_W | PTE_U);
    map(hart, SUPERVISOR_CODE, 0, (void *)user_start, PTE_R | PTE_X);
    map(hart, SUPERVISOR_CODE, 1, &pages[hart][1], PTE_R | PTE_W);
    paging_on(hart);
    csr_write(stvec, SUPERVISOR(supervisor_trap));
    pages[hart][0].word[0] = 10, pages[hart][1].word[0] = 20;

    for (int turn = 0; turn < 2; turn++) {
        // Nothing delegated: all traps go to machine mode.
        csr_write(medeleg, 0);
        csr_write(mideleg, 0);
        supervisor(hart, supervisor_enter, USER(user_ecall), 0);
        CHECK_EQUAL(cause[hart], 8);
        CHECK_EQUAL(epc[hart], USER(user_ecall));
        supervisor(hart, supervisor_enter, USER(user_load), AT(9));
        CHECK_EQUAL(cause[hart], 13);

        // Delegated.
        csr_write(medeleg, 1 << 8 | 1 << 13);
        CHECK_EQUAL(csr_read(medeleg), 1 << 8 | 1 << 13);
        supervisor(hart, supervisor_enter, USER(user_ecall), 0);
        CHECK_EQUAL(cause[hart], 9);
        CHECK_EQUAL(result[hart][0], 8);
        CHECK_EQUAL(result[hart][2], USER(user_ecall));
        supervisor(hart, supervisor_enter, USER(user_load), AT(9));
        DELEGATED(13, AT(9), USER(user_load));
        supervisor(hart, supervisor_load, SUPERVISOR_CODE + 4096u * 7, 0);   // its own fault, too
        DELEGATED(13, SUPERVISOR_CODE + 4096u * 7, SUPERVISOR(supervisor_load));

        // A supervisor loads its own page, and a user's only with SUM.
        supervisor(hart, supervisor_load, SUPERVISOR_CODE + 4096, 0);
        CHECK_EQUAL(cause[hart], 9);
        CHECK_EQUAL(result[hart][0], 20);
        supervisor(hart, supervisor_load, AT(1), 0);
        DELEGATED(13, AT(1), SUPERVISOR(supervisor_load));
        csr_set(sstatus, MSTATUS_SUM);
        supervisor(hart, supervisor_load, AT(1), 0);
        CHECK_EQUAL(result[hart][0], 10);
        csr_clear(sstatus, MSTATUS_SUM);

        // What only machine mode may do traps there.
        supervisor(hart, supervisor_mcsr, 0, 0);
        CHECK_EQUAL(cause[hart], 2);
        supervisor(hart, supervisor_mret, 0, 0);
        CHECK_EQUAL(cause[hart], 2);

        // Interrupts: its software interrupt, raised by itself; its timer's, raised by machine mode, found in user
        // mode.
        csr_write(mideleg, 1 << 1 | 1 << 5 | 1 << 9);
        csr_write(sie, 1 << 1 | 1 << 5 | 1 << 9);
        supervisor(hart, supervisor_raise, 0, 0);
        CHECK_EQUAL(cause[hart], 9);
        CHECK_EQUAL(result[hart][0], INTERRUPT | 1);
        CHECK_EQUAL(result[hart][2] & ~4u, (SUPERVISOR(supervisor_raise) + 8) & ~4u);
        csr_clear(mip, 1 << 1);
        csr_set(mip, 1 << 5);
        supervisor(hart, supervisor_enter, USER(user_spin), 0);
        CHECK_EQUAL(cause[hart], 9);
        CHECK_EQUAL(result[hart][0], INTERRUPT | 5);
        CHECK_EQUAL(result[hart][2], USER(user_spin));
        csr_clear(mip, 1 << 5);

        // A supervisor does not mask a machine interrupt.
        EXTERNAL_SET = 1 << hart;
        csr_set(mie, MIE_MEIE);
        supervisor(hart, supervisor_enter, USER(user_spin), 0);
        CHECK_EQUAL(cause[hart], INTERRUPT | 11);
        EXTERNAL_CLEAR = 1 << hart;
        csr_clear(mie, MIE_MEIE);
    }
}
