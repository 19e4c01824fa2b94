/*
 * run=vm-shootdown: the cost of removing a translation from the harts that may have it, over their number. They are
 * idle, or busy in the kernel with interrupts on; they are made to use the pmap, as if a thread of its program had
 * run there. Beside it the floor: an empty call to the same harts. Cycles, each the mean of several:
 *
 *   @vm_shootdown harts=... state=idle|busy cycles=... floor=...     harts: others than the caller
 */
#include "arch/csr.h"
#include "bench/result.h"
#include "init/run.h"
#include "intr/call.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "sched/sched.h"
#include "vm/internal.h"
#include "vm/mmu.h"

#define AT 0x10000000u
#define TIMES 8

static volatile bool stop;

static void vm_shootdown_busy(void *arg)
{
    (void)arg;
    while (!stop)
        barrier();
}

/* In a call: the hart takes the pmap as on its way to user mode. */
static void take_up(void *arg)
{
    mmu_use(arg);
}

static void vm_shootdown_nothing(void *arg)
{
    (void)arg;
}

static uint32_t cycles_of(struct vm_map *map, uint32_t others, bool floor)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < TIMES + 1; i++) {
        if (vm_fault(map, AT, PAGE_WRITE))
            panic("run=vm-shootdown: no page");
        if (others)
            hart_call_run(others, take_up, vm_map_pmap(map));
        uint32_t begin = cycles32();
        if (!floor)
            pmap_protect(vm_map_pmap(map), AT, AT + PAGE_SIZE, PAGE_READ);
        else if (others)
            hart_call_run(others, vm_shootdown_nothing, 0);
        if (i) /* the first one loads the code */
            sum += cycles32() - begin;
        pmap_remove(vm_map_pmap(map), AT, AT + PAGE_SIZE);
    }
    return sum / TIMES;
}

static void vm_shootdown_measure(struct vm_map *map, const char *state)
{
    for (unsigned n = 0; n < hart_count; n++) {
        uint32_t others = ((1u << n) - 1) << 1; /* the caller is bound to hart 0 */
        uint32_t cycles = cycles_of(map, others, false), floor = cycles_of(map, others, true);
        result("@vm_shootdown harts=%u state=%s cycles=%lu floor=%lu\n", n, state, (unsigned long)cycles,
               (unsigned long)floor);
    }
}

static int shootdowns(void)
{
    struct thread *threads[MAX_HARTS];
    struct vm_map *map = vm_map_create();
    uint32_t address = AT;
    if (!map || vm_allocate(map, &address, PAGE_SIZE, VM_FIXED))
        panic("run=vm-shootdown: no memory");
    int bound = thread_bind(0);
    vm_shootdown_measure(map, "idle");
    stop = false;
    for (unsigned h = 1; h < hart_count; h++)
        threads[h] = thread_create(vm_shootdown_busy, 0, PRI_NORMAL, (int)h, "busy");
    vm_shootdown_measure(map, "busy");
    stop = true;
    for (unsigned h = 1; h < hart_count; h++)
        thread_join(threads[h]);
    thread_bind(bound);
    vm_map_release(map);
    vm_check_no_leak();
    return 0;
}

RUN("vm-shootdown", "what taking a translation from harts costs, idle and busy", shootdowns);
