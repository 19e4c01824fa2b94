/*
 * csloop: what a raw switch of contexts costs, and what it is to be held against. Prints
 *   @csloop switch=N build=N null=N registers=N all=N call=N
 * each the cycles of 100: a switch, of a pair of contexts; building one; a system call that does nothing; saving and
 * restoring the registers that C keeps across calls; saving and restoring all of them; a call of C. 0 on the host.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "csw.h"

#define STACK 16000
#define ROUNDS 100 /* as the line says */

_Alignas(16) static char main_context[CSW_LEAST]; /* saved only: its stack is elsewhere, above it */
static char *other;

_Noreturn static void wrong(const char *what)
{
    printf("%s\n", what);
    exit(1);
}

void mpd_stk_overflow(void)
{
    wrong("a stack overflows");
}

void mpd_stk_underflow(void)
{
    wrong("a stack underflows");
}

void mpd_stk_corrupted(void)
{
    wrong("a stack is overwritten");
}

static uint32_t now(void)
{
#if defined(__riscv)
    uint32_t v;
    __asm__ volatile("rdcycle %0" : "=r"(v)::"memory");
    return v;
#else
    return 0;
#endif
}

static void answers(long a, long b, long c, long d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    for (;;)
        mpd_chg_context(main_context, other);
}

static void two_switches(void)
{
    mpd_chg_context(other, main_context);
}

static void build(void)
{
    mpd_build_context(answers, other, STACK, 1, 2, 3, 4);
}

static void null_call(void)
{
    getppid();
}

static void nothing(void)
{
    __asm__ volatile("");
}

#if defined(__riscv)
#define EACH_SAVED(op)                                                                                         \
    op(s0, 0) op(s1, 4) op(s2, 8) op(s3, 12) op(s4, 16) op(s5, 20) op(s6, 24) op(s7, 28) op(s8, 32) op(s9, 36) \
        op(s10, 40) op(s11, 44) op(ra, 48)
#define EACH(op)                                                                                                  \
    EACH_SAVED(op)                                                                                                \
    op(gp, 52) op(tp, 56) op(t0, 60) op(t1, 64) op(t2, 68) op(a0, 72) op(a1, 76) op(a2, 80) op(a3, 84) op(a4, 88) \
        op(a5, 92) op(a6, 96) op(a7, 100) op(t3, 104) op(t4, 108) op(t5, 112) op(t6, 116)
#define SAVE(r, at) "sw " #r ", " #at "(sp)\n"
#define LOAD(r, at) "lw " #r ", " #at "(sp)\n"
#define BOTH(each) "addi sp, sp, -128\n" each(SAVE) each(LOAD) "addi sp, sp, 128\n"
#else
#define BOTH(each) ""
#endif

static void registers(void)
{
    __asm__ volatile(BOTH(EACH_SAVED)::: "memory");
}

static void all_registers(void)
{
    __asm__ volatile(BOTH(EACH)::: "memory");
}

/* Cycles of ROUNDS, without the loop's and the call's; the first time is left out, so that all is in the caches. */
static long cost(void (*volatile one)(void), uint32_t without)
{
    uint32_t took = 0;
    for (int again = 0; again < 2; again++) {
        uint32_t begin = now();
        for (int i = 0; i < ROUNDS; i++)
            one();
        took = now() - begin;
    }
    return (long)(took - without);
}

int main(void)
{
    void (*volatile code)(void) = nothing;
    other = aligned_alloc(16, STACK);
    if (!other)
        wrong("no memory");
    *(uintptr_t *)(void *)(main_context + CSW_MAGIC) = CSW_MAGIC_WORD;
    long call = cost(code, 0);
    uint32_t without = (uint32_t)call;
    build();
    long a_switch = cost(two_switches, without) / 2;
    long a_build = cost(build, without), null = cost(null_call, without);
    printf("@csloop switch=%ld build=%ld null=%ld registers=%ld all=%ld call=%ld\n", a_switch, a_build, null,
           cost(registers, without), cost(all_registers, without), call);
    return 0;
}
