/* The table of system calls. Sources: lib/syscall.c */
#include "lib/syscall.h"

#include "lib/random.h"
#include "test/host/host.h"

#define SIZE 20

static int none(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return -1;
}

static int odd(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return 1;
}

static int even(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return 2;
}

static syscall_fn *table[SIZE + 1];

/* Some of the numbers below SIZE, in any order. Returns how many; `there` says which. */
static unsigned some_calls(struct random *r, struct syscall *calls, bool *there)
{
    unsigned n = 0;
    for (unsigned number = 0; number < SIZE; number++) {
        there[number] = random_below(r, 3);
        if (!there[number])
            continue;
        unsigned at = random_below(r, n + 1);
        calls[n++] = calls[at];
        calls[at] = (struct syscall){number, number % 2 ? odd : even};
    }
    return n;
}

HOST_TEST(each_call_is_under_its_number_and_none_elsewhere)
{
    struct random r = random_from(1, 0);
    for (unsigned turn = 0; turn < 1000; turn++) {
        struct syscall calls[SIZE];
        bool there[SIZE];
        unsigned n = some_calls(&r, calls, there);
        table[SIZE] = odd;
        syscalls_gather(calls, calls + n, none, table, SIZE);
        for (unsigned number = 0; number < SIZE; number++)
            CHECK(table[number] == (!there[number] ? none : number % 2 ? odd : even));
        CHECK(table[SIZE] == odd);
    }
}

HOST_TEST(a_number_that_two_have_panics)
{
    struct random r = random_from(2, 0);
    for (unsigned turn = 0; turn < 1000; turn++) {
        struct syscall calls[SIZE + 1];
        bool there[SIZE];
        unsigned n = some_calls(&r, calls, there);
        if (!n)
            continue;
        calls[n] = calls[random_below(&r, n)];
        calls[n].fn = random_below(&r, 2) ? odd : even;
        CHECK_PANICS("is registered twice", (syscalls_gather(calls, calls + n + 1, none, table, SIZE), 0));
    }
}

HOST_TEST(a_number_beyond_the_table_panics)
{
    static const uint32_t beyond[] = {SIZE, SIZE + 1, 0x80000000, 0xffffffff};
    for (unsigned i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        const struct syscall call = {beyond[i], odd};
        CHECK_PANICS("not below SYS_CALLS, which is 20", (syscalls_gather(&call, &call + 1, none, table, SIZE), 0));
    }
}
