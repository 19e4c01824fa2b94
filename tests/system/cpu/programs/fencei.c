// Code that a hart has just written runs after FENCE.I: called, as the very next instruction, and from another hart.
#include "bench.h"

#define SW_A1_TO_A2 0x00B62023u
#define FENCE_I 0x0000100Fu
#define NOP 0x00000013u
#define RET 0x00008067u
#define LI_A0(v) (0x00000513u | (uint32_t)(v) << 20)

typedef uint32_t (*patcher)(uint32_t, uint32_t instruction, volatile uint32_t *where);

static struct {
    volatile uint32_t word[64];
} code[HARTS] __attribute__((aligned(64)));
static struct {
    volatile uint32_t word[16];
} shared __attribute__((aligned(64)));

void hart_main(int hart)
{
    volatile uint32_t *mine = code[hart].word;
    barrier();

    for (uint32_t i = 0; i < 100; i++) {
        mine[0] = LI_A0(i);
        mine[1] = RET;
        __asm__ volatile("fence.i" ::: "memory");
        CHECK_EQUAL(((uint32_t (*)(void))mine)(), i);
    }

    // The store, FENCE.I, and at once the instruction stored; everywhere in and around a cache line.
    for (uint32_t at = 0; at < 20; at++) {
        for (uint32_t i = 0; i < 24; i++)
            mine[i] = NOP;
        mine[at] = SW_A1_TO_A2;
        mine[at + 1] = FENCE_I;
        mine[at + 3] = RET;
        for (uint32_t i = 0; i < 20; i++) {
            mine[at + 2] = LI_A0(2000);
            __asm__ volatile("fence.i" ::: "memory");
            CHECK_EQUAL(((patcher)&mine[at])(0, LI_A0(i), &mine[at + 2]), i);
        }
    }

    // Hart 0 writes, all run.
    for (uint32_t i = 0; i < 100; i++) {
        if (hart == 0) {
            shared.word[0] = LI_A0(i);
            shared.word[1] = RET;
        }
        barrier();
        __asm__ volatile("fence.i" ::: "memory");
        CHECK_EQUAL(((uint32_t (*)(void))shared.word)(), i);
        barrier();
    }
}
