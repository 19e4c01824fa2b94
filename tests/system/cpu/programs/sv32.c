// User mode under Sv32: permitted accesses work, and each fault reaches machine mode with its cause, address and pc.
#include "user.h"

USER_FUNCTION(user_start, "nop");
USER_FUNCTION(user_load, "lw a0, 0(a0)\n ecall");
USER_FUNCTION(user_store, "sw a1, 0(a0)\n ecall");
USER_FUNCTION(user_jump, "jr a0");
USER_FUNCTION(user_return_at_data, "ecall");
USER_FUNCTION(user_csr, "csrr a0, mstatus\n ecall");
USER_FUNCTION(user_mret, "mret\n ecall");
USER_FUNCTION(user_sret, "sret\n ecall");
USER_FUNCTION(user_wfi, "wfi\n ecall");
USER_FUNCTION(user_fence_all, "sfence.vma\n ecall");
USER_FUNCTION(user_fence_one, "sfence.vma a0, a1\n ecall");
USER_FUNCTION(user_satp, "csrw satp, zero\n ecall");
USER_FUNCTION(user_ebreak, "ebreak\n ecall");
USER_FUNCTION(user_counters, "csrr a0, cycle\n csrr a1, instret\n csrr a2, time\n ecall");
USER_FUNCTION(user_amo, "amoadd.w a0, a1, (a0)\n ecall");
USER_FUNCTION(user_spin, "1: addi a0, a0, -1\n bnez a0, 1b\n ecall");

enum { CODE = 0, DATA = 1, READ_ONLY = 2, KERNEL = 3, ABSENT = 4, NO_EXECUTE = 5, IO_PAGE = 6 };
#define AT(page) (USER_CODE + 4096u * (page))

void trap(struct frame *frame)
{
    back_to_machine(frame);
}

static void user(int hart, void (*function)(void), uint32_t a0, uint32_t a1)
{
    cause[hart] = ~0u;
    run_at(0, USER(function), a0, a1, &resume_sp[hart]);
}

#define FAULTS(function, a0, a1, wanted_cause, wanted_tval, offset) \
    do {                                                            \
        user(hart, function, a0, a1);                               \
        CHECK_EQUAL(cause[hart], wanted_cause);                     \
        CHECK_EQUAL(tval[hart], wanted_tval);                       \
        CHECK_EQUAL(epc[hart], USER(function) + (offset));          \
    } while (0)

void hart_main(int hart)
{
    map(hart, USER_CODE, CODE, (void *)user_start, PTE_R | PTE_X | PTE_U);
    map(hart, USER_CODE, DATA, &pages[hart][0], PTE_R | PTE_W | PTE_U);
    map(hart, USER_CODE, READ_ONLY, &pages[hart][1], PTE_R | PTE_U);
    map(hart, USER_CODE, KERNEL, &pages[hart][2], PTE_R | PTE_W);
    map(hart, USER_CODE, NO_EXECUTE, &pages[hart][3], PTE_R | PTE_W | PTE_U);
    map(hart, USER_CODE, IO_PAGE, (void *)0xE0000000, PTE_R | PTE_W | PTE_U);
    paging_on(hart);
    barrier();

    for (int turn = 0; turn < 3; turn++) {
        pages[hart][0].word[5] = 0x1000 + turn;
        user(hart, user_load, AT(DATA) + 20, 0);
        CHECK_EQUAL(cause[hart], 8);   // its ecall
        CHECK_EQUAL(epc[hart], USER(user_load) + 4);
        CHECK_EQUAL(result[hart][0], 0x1000 + turn);
        user(hart, user_store, AT(DATA) + 24, 77 + turn);
        CHECK_EQUAL(cause[hart], 8);
        CHECK_EQUAL(pages[hart][0].word[6], 77 + turn);
        user(hart, user_amo, AT(DATA) + 24, 3);
        CHECK_EQUAL(result[hart][0], 77 + turn);
        CHECK_EQUAL(pages[hart][0].word[6], 80 + turn);
        user(hart, user_store, AT(IO_PAGE) + 8, 0xABC + turn);   // its private port, mapped for it
        CHECK_EQUAL(cause[hart], 8);
        CHECK_EQUAL(IO(2), 0xABC + turn);

        FAULTS(user_load, AT(ABSENT) + 4, 0, 13, AT(ABSENT) + 4, 0);
        FAULTS(user_store, AT(ABSENT) + 8, 1, 15, AT(ABSENT) + 8, 0);
        FAULTS(user_load, 0x40000000, 0, 13, 0x40000000, 0);       // no entry in the root
        FAULTS(user_load, AT(KERNEL), 0, 13, AT(KERNEL), 0);
        FAULTS(user_store, AT(KERNEL), 1, 15, AT(KERNEL), 0);
        FAULTS(user_amo, AT(READ_ONLY), 1, 15, AT(READ_ONLY), 0);
        pages[hart][1].word[0] = 5;
        FAULTS(user_store, AT(READ_ONLY), 6, 15, AT(READ_ONLY), 0);
        CHECK_EQUAL(pages[hart][1].word[0], 5);
        FAULTS(user_load, AT(DATA) + 2, 0, 4, AT(DATA) + 2, 0);    // misaligned
        FAULTS(user_store, AT(DATA) + 1, 0, 6, AT(DATA) + 1, 0);
        FAULTS(user_csr, 0, 0, 2, 0x30002573, 0);                  // the instruction
        FAULTS(user_satp, 0, 0, 2, 0x18001073, 0);
        FAULTS(user_mret, 0, 0, 2, 0x30200073, 0);
        FAULTS(user_sret, 0, 0, 2, 0x10200073, 0);
        FAULTS(user_wfi, 0, 0, 2, 0x10500073, 0);
        FAULTS(user_fence_all, 0, 0, 2, 0x12000073, 0);
        FAULTS(user_fence_one, AT(DATA), 0, 2, 0x12b50073, 0);
        user(hart, user_ebreak, 0, 0);
        CHECK_EQUAL(cause[hart], 3);
        CHECK_EQUAL(epc[hart], USER(user_ebreak));

        user(hart, user_jump, AT(ABSENT), 0);
        CHECK_EQUAL(cause[hart], 12);
        CHECK_EQUAL(epc[hart], AT(ABSENT));
        CHECK_EQUAL(tval[hart], AT(ABSENT));
        pages[hart][3].word[0] = 0x00000073;                       // an ecall in a page without execute permission
        user(hart, user_jump, AT(NO_EXECUTE), 0);
        CHECK_EQUAL(cause[hart], 12);
        CHECK_EQUAL(epc[hart], AT(NO_EXECUTE));
    }

    uint32_t cycle = csr_read(mcycle), instructions = csr_read(minstret), time = csr_read(time);
    user(hart, user_counters, 0, 0);
    CHECK_EQUAL(cause[hart], 8);
    CHECK(result[hart][0] - cycle < 1000 && result[hart][1] - instructions < 200 && result[hart][2] - time < 1000);

    // The probe knows the mode: 1,000 turns of two instructions, and the ecall does not retire.
    uint32_t in_user = USER_RETIRED(hart);
    user(hart, user_spin, 1000, 0);
    CHECK_EQUAL(USER_RETIRED(hart) - in_user, 2000);

    // A new mapping holds after SFENCE.VMA, and a megapage works.
    pages[hart][0].word[0] = 1, pages[hart][1].word[0] = 2;
    user(hart, user_load, AT(DATA), 0);
    CHECK_EQUAL(result[hart][0], 1);
    map(hart, USER_CODE, DATA, &pages[hart][1], PTE_R | PTE_U);
    user(hart, user_load, AT(DATA), 0);
    CHECK_EQUAL(result[hart][0], 2);
    roots[hart].entry[0x100] = pte((void *)0x40000000, PTE_R | PTE_U);
    fence();
    __asm__ volatile("sfence.vma" ::: "memory");
    user(hart, user_load, (uint32_t)&pages[hart][1], 0);
    CHECK_EQUAL(result[hart][0], 2);
}
