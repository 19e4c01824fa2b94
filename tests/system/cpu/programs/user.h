// Runs a piece of code in user (or supervisor) mode under Sv32 until it traps to machine mode.
#pragma once
#include "bench.h"

#define PTE_V 1
#define PTE_R 2
#define PTE_W 4
#define PTE_X 8
#define PTE_U 16

#define USER_CODE 0x00400000u      // where the section .user is mapped, for user mode
#define SUPERVISOR_CODE 0x00800000u  // and again, not for user mode

static struct {
    uint32_t entry[1024];
} roots[HARTS] __attribute__((aligned(4096)));
static struct {
    uint32_t entry[1024];
} leaves[HARTS][2] __attribute__((aligned(4096)));
static struct {
    volatile uint32_t word[1024];
} pages[HARTS][4] __attribute__((aligned(4096)));

static inline uint32_t pte(const volatile void *page, uint32_t flags)
{
    return ((uint32_t)page >> 12) << 10 | flags | PTE_V | 0xC0;   // accessed and dirty
}

// Page `index` (0 to 1023) of the 4 MiB at USER_CODE or SUPERVISOR_CODE.
static inline void map(int hart, uint32_t base, uint32_t index, const volatile void *page, uint32_t flags)
{
    int table = base >> 22;
    roots[hart].entry[table] = ((uint32_t)&leaves[hart][table - 1] >> 12) << 10 | PTE_V;
    leaves[hart][table - 1].entry[index] = pte(page, flags);
    fence();
    __asm__ volatile("sfence.vma" ::: "memory");
}

static inline void paging_on(int hart)
{
    csr_write(satp, 1u << 31 | (uint32_t)&roots[hart] >> 12);
}

// The last trap of user code.
static volatile uint32_t cause[HARTS], tval[HARTS], epc[HARTS], result[HARTS][3];
static volatile uint32_t resume_sp[HARTS], expecting[HARTS];

uint32_t run_at(uint32_t mode, uint32_t pc, uint32_t a0, uint32_t a1, volatile uint32_t *save_sp);
void run_at_return(void);
__asm__(
    ".text\n.align 2\n.globl run_at\nrun_at:\n"
    " addi sp, sp, -64\n sw ra, 0(sp)\n sw s0, 4(sp)\n sw s1, 8(sp)\n sw s2, 12(sp)\n sw s3, 16(sp)\n sw s4, 20(sp)\n"
    " sw s5, 24(sp)\n sw s6, 28(sp)\n sw s7, 32(sp)\n sw s8, 36(sp)\n sw s9, 40(sp)\n sw s10, 44(sp)\n sw s11, 48(sp)\n"
    " sw sp, 0(a4)\n"
    " li t0, 0x1800\n csrc mstatus, t0\n slli a0, a0, 11\n csrs mstatus, a0\n"
    " csrw mepc, a1\n mv a0, a2\n mv a1, a3\n mret\n"
    ".globl run_at_return\nrun_at_return:\n"
    " lw ra, 0(sp)\n lw s0, 4(sp)\n lw s1, 8(sp)\n lw s2, 12(sp)\n lw s3, 16(sp)\n lw s4, 20(sp)\n"
    " lw s5, 24(sp)\n lw s6, 28(sp)\n lw s7, 32(sp)\n lw s8, 36(sp)\n lw s9, 40(sp)\n lw s10, 44(sp)\n lw s11, 48(sp)\n"
    " addi sp, sp, 64\n ret\n");

// Keep the trap's registers, and return to machine mode behind run_at.
static inline void back_to_machine(struct frame *frame)
{
    int hart = hartid();
    cause[hart] = frame->mcause, tval[hart] = frame->mtval, epc[hart] = frame->mepc;
    for (int i = 0; i < 3; i++)
        result[hart][i] = frame->x[10 + i];
    frame->mepc = (uint32_t)run_at_return;
    frame->x[2] = resume_sp[hart];
    csr_set(mstatus, MSTATUS_MPP(3));
    csr_clear(mstatus, MSTATUS_MPIE);
}

// Where a function of the section .user is for user mode.
#define USER(function) (USER_CODE + ((uint32_t)(function) - (uint32_t)user_start))
#define SUPERVISOR(function) (SUPERVISOR_CODE + ((uint32_t)(function) - (uint32_t)user_start))
#define USER_FUNCTION(name, body) \
    void name(void);              \
    __asm__(".section .user, \"ax\"\n.align 2\n.globl " #name "\n" #name ":\n" body "\n.text\n")
