/* How each hart spends its time (accounting.h). */
#include "arch/accounting.h"

#if ACCOUNTING
#include "arch/csr.h"
#include "arch/hart.h"
#include "lib/printf.h"

static struct {
    volatile uint32_t version; /* odd while it is written */
    enum account now;
    uint64_t began, since;
    uint64_t cycles[ACCOUNTS]; /* up to `since` */
} hart_accounts[MAX_HARTS] __attribute__((aligned(64)));

static const char *const account_name[ACCOUNTS] = {"user", "system", "interrupt", "spinning", "idle"};

void accounting_start_hart(void)
{
    hart_accounts[curhart->id].now = ACCOUNT_SYSTEM;
    hart_accounts[curhart->id].began = hart_accounts[curhart->id].since = cycles64();
}

enum account account_switch(enum account to)
{
    uint32_t before = csr_read_clear(mstatus, MSTATUS_MIE);
    __auto_type a = &hart_accounts[curhart->id];
    enum account was = a->now;
    uint64_t now = cycles64();
    a->version++;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    a->cycles[was] += now - a->since;
    a->since = now;
    a->now = to;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    a->version++;
    csr_set(mstatus, before & MSTATUS_MIE);
    return was;
}

struct accounting accounting_read(unsigned hart)
{
    __auto_type a = &hart_accounts[hart];
    struct accounting copy;
    uint32_t version;
    do {
        version = a->version;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        for (unsigned i = 0; i < ACCOUNTS; i++)
            copy.cycles[i] = a->cycles[i];
        uint64_t now = cycles64();
        copy.cycles[a->now] += now - a->since;
        copy.elapsed = now - a->began;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (version % 2 || version != a->version);
    return copy;
}

void accounting_show(void)
{
    kprintf("hart  elapsed, cycles      user    system  interrupt  spinning      idle\n");
    for (unsigned h = 0; h < hart_count; h++) {
        struct accounting a = accounting_read(h);
        kprintf("%4u  %15llu", h, (unsigned long long)a.elapsed);
        for (unsigned i = 0; i < ACCOUNTS; i++) {
            unsigned long permille = a.elapsed ? (unsigned long)(a.cycles[i] * 1000 / a.elapsed) : 0;
            kprintf("  %5lu.%lu %%", permille / 10, permille % 10);
        }
        kprintf("\n");
    }
}

void accounting_print_results(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        struct accounting a = accounting_read(h);
        kprintf("@accounting hart=%u", h);
        for (unsigned i = 0; i < ACCOUNTS; i++)
            kprintf(" %s=%llu", account_name[i], (unsigned long long)a.cycles[i]);
        kprintf(" elapsed=%llu\n", (unsigned long long)a.elapsed);
    }
}
#endif
