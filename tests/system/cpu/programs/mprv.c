// Machine mode with mstatus.MPRV: loads and stores go through satp with the privilege in MPP, user bit and all.
#include "user.h"

USER_FUNCTION(user_start, "nop");

#define AT(page) (USER_CODE + 4096u * (page))

static volatile uint32_t faults[HARTS];

void trap(struct frame *frame)
{   // skip the instruction
    int hart = hartid();
    faults[hart]++;
    cause[hart] = frame->mcause, tval[hart] = frame->mtval;
    frame->mepc += 4;
    csr_write(mstatus, (csr_read(mstatus) & ~(3u << 11)) | MSTATUS_MPP(3));
    frame->x[10] = 0xDEAD;
}

static uint32_t load_as(uint32_t mode, uint32_t address)
{
    register uint32_t a0 __asm__("a0") = address;
    csr_clear(mstatus, MSTATUS_MPP(3));
    csr_set(mstatus, MSTATUS_MPP(mode));
    __asm__ volatile("csrs mstatus, %1\n lw a0, 0(a0)\n csrc mstatus, %1" : "+r"(a0) : "r"(MSTATUS_MPRV) : "memory");
    return a0;
}

static void store_as(uint32_t mode, uint32_t address, uint32_t value)
{
    register uint32_t a0 __asm__("a0") = address;
    csr_clear(mstatus, MSTATUS_MPP(3));
    csr_set(mstatus, MSTATUS_MPP(mode));
    __asm__ volatile("csrs mstatus, %1\n sw %2, 0(a0)\n csrc mstatus, %1"
                     : "+r"(a0)
                     : "r"(MSTATUS_MPRV), "r"(value)
                     : "memory");
}

// The cause of the only fault since then, if it is at the expected address; else 0.
static uint32_t cause_of_one(int hart, uint32_t faults_before, uint32_t address)
{
    return faults[hart] == faults_before + 1 && tval[hart] == address ? cause[hart] : 0;
}

static uint32_t cause_of_load(int hart, uint32_t mode, uint32_t address)
{
    uint32_t before = faults[hart];
    load_as(mode, address);
    return cause_of_one(hart, before, address);
}

static uint32_t cause_of_store(int hart, uint32_t mode, uint32_t address)
{
    uint32_t before = faults[hart];
    store_as(mode, address, 0);
    return cause_of_one(hart, before, address);
}

void hart_main(int hart)
{
    map(hart, USER_CODE, 1, &pages[hart][0], PTE_R | PTE_W | PTE_U);
    map(hart, USER_CODE, 2, &pages[hart][1], PTE_R | PTE_U);
    map(hart, USER_CODE, 3, &pages[hart][2], PTE_R | PTE_W);
    paging_on(hart);
    for (int turn = 0; turn < 3; turn++) {
        pages[hart][0].word[1] = 11 + turn, pages[hart][1].word[1] = 22 + turn, pages[hart][2].word[1] = 33 + turn;
        uint32_t before = faults[hart];
        CHECK_EQUAL(load_as(0, AT(1) + 4), 11 + turn);
        CHECK_EQUAL(load_as(0, AT(2) + 4), 22 + turn);
        store_as(0, AT(1) + 8, 44 + turn);
        CHECK_EQUAL(pages[hart][0].word[2], 44 + turn);
        CHECK_EQUAL(load_as(1, AT(3) + 4), 33 + turn);
        CHECK_EQUAL(load_as(3, (uint32_t)&pages[hart][0].word[1]), 11 + turn);   // machine: no translation
        CHECK_EQUAL(faults[hart], before);

        CHECK_EQUAL(cause_of_store(hart, 0, AT(2) + 4), 15);
        CHECK_EQUAL(cause_of_load(hart, 0, AT(4)), 13);
        CHECK_EQUAL(cause_of_load(hart, 0, AT(3) + 4), 13);       // a kernel page, for a user
        CHECK_EQUAL(cause_of_store(hart, 0, AT(3) + 4), 15);
        CHECK_EQUAL(cause_of_load(hart, 1, AT(1) + 4), 13);       // a user page, for a supervisor without SUM
        csr_set(mstatus, MSTATUS_SUM);
        before = faults[hart];
        CHECK_EQUAL(load_as(1, AT(1) + 4), 11 + turn);
        CHECK_EQUAL(faults[hart], before);
        csr_clear(mstatus, MSTATUS_SUM);
    }
}
