/* Where instructions lead. Sources: debug/step.c */
#include "debug/step.h"

#include "test/host/host.h"

#define BASE 0x40000000u

/* A test's instructions, from BASE on; hexadecimal as the assembler gives them (riscv64-unknown-elf-objdump). */
static const uint32_t *code;
static unsigned code_length;
static uint32_t registers[32];

static bool instruction(void *arg, uint32_t address, uint32_t *i)
{
    (void)arg;
    if (address < BASE || (address - BASE) / 4 >= code_length)
        return false;
    *i = code[(address - BASE) / 4];
    return true;
}

static uint32_t register_(void *arg, unsigned number)
{
    (void)arg;
    return registers[number];
}

static const struct step_source source = {instruction, register_, 0};
static uint32_t targets[STEP_MAX_TARGETS];

#define CODE(...)                                      \
    do {                                               \
        static const uint32_t code_[] = {__VA_ARGS__}; \
        code = code_;                                  \
        code_length = sizeof code_ / sizeof *code_;    \
    } while (0)

static void leads_to(uint32_t offset)
{
    CHECK_EQUAL(step_targets(&source, BASE, targets), 1);
    CHECK_EQUAL(targets[0], BASE + offset);
}

HOST_TEST(most_lead_to_the_next)
{
    CODE(0x00000013); /* nop */
    leads_to(4);
    CODE(0x00c5a5af); /* amoadd.w a1,a2,... */
    leads_to(4);
    CODE(0x00000073); /* ecall: returns behind it */
    leads_to(4);
}

HOST_TEST(jumps_are_followed)
{
    CODE(0x0080006f); /* j .+8 */
    leads_to(8);
    CODE(0xff9ff06f); /* j .-8 */
    leads_to(-8u);
    CODE(0x7ffff0ef); /* jal .+0xffffe */
    leads_to(0xffffe);
    registers[1] = BASE + 0x101;
    CODE(0x00008067); /* ret: the lowest bit is ignored */
    leads_to(0x100);
    registers[10] = BASE + 0x1000;
    CODE(0xffc500e7); /* jalr -4(a0) */
    leads_to(0xffc);
}

HOST_TEST(branches_depend_on_registers)
{
    static const struct {
        uint32_t instruction;
        bool equal, less, greater, below, above; /* taken for 1,1; -1,1; 1,-1: signed, and the same unsigned */
    } branch[] = {
        {0x00b50863, true, false, false, 0, 0},  /* beq a0,a1,.+16 */
        {0x00b51863, false, true, true, 0, 0},   /* bne */
        {0x00b54863, false, true, false, 0, 0},  /* blt */
        {0x00b55863, true, false, true, 0, 0},   /* bge */
        {0x00b56863, false, false, true, 0, 0},  /* bltu: -1 is the greatest */
        {0x00b57863, true, true, false, 0, 0},   /* bgeu */
    };
    for (unsigned i = 0; i < sizeof branch / sizeof *branch; i++) {
        code = &branch[i].instruction;
        code_length = 1;
        registers[10] = registers[11] = 1;
        leads_to(branch[i].equal ? 16 : 4);
        registers[10] = -1u;
        leads_to(branch[i].less ? 16 : 4);
        registers[10] = 1, registers[11] = -1u;
        leads_to(branch[i].greater ? 16 : 4);
    }
    registers[10] = registers[11];
    CODE(0xfeb50ee3); /* beq a0,a1,.-4 */
    leads_to(-4u);
    CODE(0x80b500e3); /* beq a0,a1,.-0x1000+... the farthest back is -4096 */
    CHECK_EQUAL(step_targets(&source, BASE, targets), 1);
    CHECK(targets[0] < BASE && targets[0] >= BASE - 4096);
}

HOST_TEST(from_lr_to_sc_is_one_step)
{
    CODE(0x100522af,  /* lr.w t0,(a0) */
         0x00029863,  /* bnez t0,.+16 */
         0x18b522af,  /* sc.w t0,a1,(a0) */
         0xfe029ae3); /* bnez t0,.-12 */
    CHECK_EQUAL(step_targets(&source, BASE, targets), 2);
    CHECK_EQUAL(targets[0], BASE + 12);
    CHECK_EQUAL(targets[1], BASE + 20);
}

HOST_TEST(a_sequence_that_is_none_is_stepped_singly)
{
    CODE(0x100522af,  /* lr.w t0,(a0) */
         0xfe029ee3,  /* bnez t0,.-4: waits for the place to change */
         0x18b522af); /* sc.w t0,a1,(a0) */
    leads_to(4);
    CODE(0x100522af, 0x00000013); /* no SC before the end of memory */
    leads_to(4);
    CODE(0x100522af, 0x00008067, 0x18b522af); /* leaves */
    leads_to(4);
}

HOST_TEST(what_cannot_be_told)
{
    CODE(0x30200073); /* mret */
    CHECK_EQUAL(step_targets(&source, BASE, targets), 0);
    CHECK_EQUAL(step_targets(&source, BASE + 4, targets), 0);
}

HOST_TEST(instructions_that_need_care)
{
    CHECK(step_is_wfi(0x10500073));
    CHECK(!step_is_wfi(0x30200073));
    CHECK(step_is_ecall(0x00000073));
    CHECK(!step_is_ecall(EBREAK));
}
