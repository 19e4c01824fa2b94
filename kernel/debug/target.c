/* The machine as the protocol sees it (target.h). Uses no library. */
#include "debug/target.h"

#include "arch/csr.h"
#include "debug/break.h"
#include "debug/harts.h"
#include "debug/line.h"
#include "debug/memory.h"
#include "sched/sched.h"
#include "proc/process.h"

#define CSR_FIRST RSP_CORE_REGISTERS
#define PRIV (CSR_FIRST + DEBUG_CSR_COUNT)

static struct debug_hart *hart_of(unsigned thread)
{
    return &debug_harts[thread - 1];
}

bool debug_in_user(const struct debug_hart *h)
{
    return !(h->frame->mstatus & MSTATUS_MPP);
}

/* The place of an interrupted register in its frame; 0: x0. */
static uint32_t *target_place(struct frame *f, unsigned number)
{
    switch (number) {
    case 0: return 0;
    case 1: return &f->ra;
    case 2: return &f->sp;
    case 3: return &f->gp;
    case 4: return &f->tp;
    case 8: return &f->s0;
    case 9: return &f->s1_s11[0];
    case RSP_PC: return &f->mepc;
    default: break;
    }
    if (number < 8)
        return &f->t[number - 5];
    if (number < 18)
        return &f->a[number - 10];
    return number < 28 ? &f->s1_s11[number - 17] : &f->t[number - 25];
}

static bool target_read_register(unsigned thread, unsigned number, uint32_t *value)
{
    struct debug_hart *h = hart_of(thread);
    if (!h->stopped || number > PRIV)
        return false;
    if (number == PRIV) {
        *value = (h->frame->mstatus & MSTATUS_MPP) / (MSTATUS_MPP & -MSTATUS_MPP);
    } else if (number >= CSR_FIRST) {
        *value = h->csr[number - CSR_FIRST];
    } else {
        uint32_t *at = target_place(h->frame, number);
        *value = at ? *at : 0;
    }
    return true;
}

/* In the kernel sp and tp are used by the trap's own return, and gp by no code. CSRs can only be read. */
static bool target_write_register(unsigned thread, unsigned number, uint32_t value)
{
    struct debug_hart *h = hart_of(thread);
    uint32_t now;
    if (!target_read_register(thread, number, &now))
        return false;
    if (value == now)
        return true;
    uint32_t *at = number < CSR_FIRST ? target_place(h->frame, number) : 0;
    if (!at || (number >= 2 && number <= 4 && !debug_in_user(h)) || (number == RSP_PC && value & 3))
        return false;
    *at = value;
    if (number == RSP_PC)
        h->at_ebreak = false;
    return true;
}

static bool target_read_memory(unsigned thread, uint32_t address, uint8_t *to, uint32_t n)
{
    return memory_read(hart_of(thread), address, to, n);
}

static bool write_memory(unsigned thread, uint32_t address, const uint8_t *from, uint32_t n)
{
    return memory_write(hart_of(thread), address, from, n);
}

static bool set_breakpoint(unsigned thread, uint32_t address)
{
    uint32_t physical;
    return memory_code(hart_of(thread), address, &physical) && break_set(physical);
}

static bool clear_breakpoint(unsigned thread, uint32_t address)
{
    uint32_t physical;
    return memory_code(hart_of(thread), address, &physical) && break_clear(physical);
}

struct text {
    char *at, *end;
};

static void target_add(struct text *t, const char *what)
{
    while (*what && t->at < t->end)
        *t->at++ = *what++;
    *t->at = 0;
}

static void target_add_number(struct text *t, unsigned n)
{
    char digits[11], *d = digits + sizeof digits - 1;
    *d = 0;
    do
        *--d = (char)('0' + n % 10);
    while (n /= 10);
    target_add(t, d);
}

static void describe(unsigned thread, char *name, unsigned name_size, char *text, unsigned text_size)
{
    const struct sync_hart *h = sync_hart_of(&harts[thread - 1]);
    struct text n = {name, name + name_size - 1}, t = {text, text + text_size - 1};
    target_add(&n, "hart ");
    target_add_number(&n, thread - 1);
    if (!hart_of(thread)->stopped) {
        target_add(&t, "does not answer: it runs with interrupts off");
        return;
    }
    target_add(&t, "thread ");
    const struct user_thread *user = harts[thread - 1].thread->user;
    target_add(&t, harts[thread - 1].thread->name);
    if (user) {
        target_add(&t, ", process ");
        target_add_number(&t, (unsigned)user->process->id);
        target_add(&t, debug_in_user(hart_of(thread)) ? " in user mode" : " in the kernel");
    }
    target_add(&t, ", level ");
    target_add_number(&t, h->level);
    target_add(&t, ", handlers ");
    target_add_number(&t, h->intr_depth);
}

struct rsp_target debug_target = {
    .description = debug_target_xml,
    .put = line_put,
    .describe = describe,
    .read = target_read_memory,
    .write = write_memory,
    .read_register = target_read_register,
    .write_register = target_write_register,
    .set_breakpoint = set_breakpoint,
    .clear_breakpoint = clear_breakpoint,
};
