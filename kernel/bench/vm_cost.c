/*
 * run=vm-cost: what page faults cost, each kind beside its floor, without the trap; copying a map, by its resident
 * pages; and faults on all harts at once, in a map each, beside all harts clearing pages (parallel=1: only that; with
 * LOCK_STATS, @lockstat lines for that; lockstat=none: no others). Cycles per page:
 *
 *   @vm_fault kind=zero|order|copy|shared|pager cycles=... floor=...  floor: clearing the page, copying it, nothing;
 *                                                                     order:
 *                                                                  pages of 0, one after the other
 *   @vm_fork pages=... cycles=...                                  to copy a map of so many pages, and end the copy not
 *   @vm_fork_page hundredths=... floor=...                         each page more; loading and storing an entry of the
 *                                                                  table
 *   @vm_parallel harts=... cycles=... floor=... pages=...          of all harts together
 *   @vm_trap cycles=...                                            the bare trap: what C may change is saved and
 *                                                                  restored
 */
#include <string.h>

#include "arch/csr.h"
#include "bench/pace.h"
#include "bench/result.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock_stats.h"
#include "vm/internal.h"

#define AT 0x10000000u
#define RW (PAGE_READ | PAGE_WRITE)

static uint32_t pages;

static void vm_cost_must(int error)
{
    if (error)
        panic("run=vm-cost: error %d: give fewer pages", -error);
}

static struct vm_map *map_with(uint32_t n)
{
    struct vm_map *map = vm_map_create();
    uint32_t address = AT;
    if (!map)
        panic("run=vm-cost: no memory for a map");
    vm_cost_must(vm_allocate(map, &address, n * PAGE_SIZE, VM_FIXED));
    return map;
}

/* Cycles of a fault, over all pages but the first two, which load tables and code. */
static uint32_t faults(struct vm_map *map, unsigned rights)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < pages + 2; i++) {
        if (i == 2)
            begin = cycles32();
        vm_cost_must(vm_fault(map, AT + i * PAGE_SIZE, rights));
    }
    return (cycles32() - begin) / pages;
}

/* The same from the last page to the first: no fault maps another page than its own. */
static uint32_t faults_down(struct vm_map *map, unsigned rights)
{
    uint32_t begin = 0;
    for (uint32_t i = pages + 2; i--;) {
        if (i + 1 == pages)
            begin = cycles32();
        vm_cost_must(vm_fault(map, AT + i * PAGE_SIZE, rights));
    }
    return (cycles32() - begin) / pages;
}

/* Faults at the first page that is not mapped, until n are. */
static void fault_up_to(struct vm_map *map, uint32_t n)
{
    while (map->pmap.resident < n)
        vm_cost_must(vm_fault(map, AT + map->pmap.resident * PAGE_SIZE, PAGE_WRITE));
}

/*
 * Per page, where user mode writes the region in order: a page that an earlier fault has mapped causes none.
 */
static uint32_t faults_in_order(struct vm_map *map)
{
    uint32_t begin = 0;
    vm_cost_must(vm_fault(map, AT, PAGE_WRITE));
    vm_cost_must(vm_fault(map, AT + PAGE_SIZE, PAGE_WRITE));
    begin = cycles32();
    uint32_t first = map->pmap.resident;
    fault_up_to(map, pages + first);
    return (cycles32() - begin) / pages;
}

static uint32_t clearing(void)
{
    uint32_t begin = 0, page[16];
    for (unsigned i = 0; i < 16; i++)
        if (!(page[i] = page_alloc_raw()))
            panic("run=vm-cost: no memory");
    for (unsigned i = 0; i < 16; i++) {
        if (i == 2)
            begin = cycles32();
        memset(page_pointer(page[i]), 0, PAGE_SIZE);
    }
    uint32_t cycles = (cycles32() - begin) / 14;
    for (unsigned i = 0; i < 16; i++)
        page_free(page[i]);
    return cycles;
}

static uint32_t copying(void)
{
    uint32_t begin = 0, page[16];
    for (unsigned i = 0; i < 16; i++)
        if (!(page[i] = page_alloc_raw()))
            panic("run=vm-cost: no memory");
    for (unsigned i = 1; i < 16; i++) {
        if (i == 2)
            begin = cycles32();
        memcpy(page_pointer(page[i]), page_pointer(page[i - 1]), PAGE_SIZE);
    }
    uint32_t cycles = (cycles32() - begin) / 14;
    for (unsigned i = 0; i < 16; i++)
        page_free(page[i]);
    return cycles;
}

static void vm_cost_report(const char *kind, uint32_t cycles, uint32_t floor)
{
    result("@vm_fault kind=%s cycles=%lu floor=%lu\n", kind, (unsigned long)cycles, (unsigned long)floor);
}

static void kinds(void)
{
    struct vm_map *map = map_with(pages + 2), *child, *other = vm_map_create();
    uint32_t clear = clearing(), copy = copying(), address = AT;
    vm_cost_report("zero", faults_down(map, PAGE_WRITE), clear);
    struct vm_map *in_order = map_with(pages + 3);
    vm_cost_report("order", faults_in_order(in_order), clear);
    vm_map_release(in_order);
    child = vm_map_fork(map);
    if (!child || !other)
        panic("run=vm-cost: no memory for a map");
    vm_cost_report("shared", faults(child, PAGE_READ), 0); /* the parent's pages, which are resident */
    vm_cost_report("copy", faults(child, PAGE_WRITE), copy);
    vm_map_release(child);
    struct vm_object *file = vm_object_of_bytes((const void *)0x40000000, (pages + 2) * PAGE_SIZE, pages + 2);
    if (!file)
        panic("run=vm-cost: no memory for an object");
    vm_cost_must(vm_map_object(other, &address, (pages + 2) * PAGE_SIZE, VM_FIXED, file, 0, false, PAGE_READ, PAGE_READ,
                               VM_INHERIT_COPY));
    vm_cost_report("pager", faults(other, PAGE_READ), copy);
    vm_object_release(file);
    vm_map_release(other);
    vm_map_release(map);
}

static uint32_t fork_of(uint32_t n)
{
    struct vm_map *map = map_with(n), *child;
    for (uint32_t i = 0; i < n; i++)
        vm_cost_must(vm_fault(map, AT + i * PAGE_SIZE, PAGE_WRITE));
    child = vm_map_fork(map); /* loads the code */
    if (!child)
        panic("run=vm-cost: no memory for a map");
    vm_map_release(child);
    for (uint32_t i = 0; i < n; i++)
        vm_cost_must(vm_fault(map, AT + i * PAGE_SIZE, PAGE_WRITE)); /* as before */
    uint32_t begin = cycles32();
    child = vm_map_fork(map);
    uint32_t cycles = cycles32() - begin;
    if (!child)
        panic("run=vm-cost: no memory for a map");
    vm_map_release(child);
    vm_map_release(map);
    result("@vm_fork pages=%lu cycles=%lu\n", (unsigned long)n, (unsigned long)cycles);
    return cycles;
}

/* Loading and storing each of a table's entries, as when their write rights are removed. */
static uint32_t entries(uint32_t n)
{
    uint32_t page = page_alloc();
    if (!page)
        panic("run=vm-cost: no memory");
    volatile uint32_t *entry = page_pointer(page);
    uint32_t begin = cycles32();
    for (uint32_t i = 0; i < n; i++)
        entry[i] = entry[i] & ~4u;
    uint32_t cycles = cycles32() - begin;
    page_free(page);
    return cycles;
}

/* A trap that does nothing: taken and left in machine mode, at the same cost as from user mode. */
__attribute__((naked, aligned(64))) static void bare_trap(void)
{
    __asm__("addi sp, sp, -64\n"
            "sw ra, 0(sp)\n sw t0, 4(sp)\n sw t1, 8(sp)\n sw t2, 12(sp)\n"
            "sw t3, 16(sp)\n sw t4, 20(sp)\n sw t5, 24(sp)\n sw t6, 28(sp)\n"
            "sw a0, 32(sp)\n sw a1, 36(sp)\n sw a2, 40(sp)\n sw a3, 44(sp)\n"
            "sw a4, 48(sp)\n sw a5, 52(sp)\n sw a6, 56(sp)\n sw a7, 60(sp)\n"
            "csrr a0, mcause\n csrr a1, mtval\n csrr t0, mepc\n addi t0, t0, 4\n csrw mepc, t0\n"
            "lw ra, 0(sp)\n lw t0, 4(sp)\n lw t1, 8(sp)\n lw t2, 12(sp)\n"
            "lw t3, 16(sp)\n lw t4, 20(sp)\n lw t5, 24(sp)\n lw t6, 28(sp)\n"
            "lw a0, 32(sp)\n lw a1, 36(sp)\n lw a2, 40(sp)\n lw a3, 44(sp)\n"
            "lw a4, 48(sp)\n lw a5, 52(sp)\n lw a6, 56(sp)\n lw a7, 60(sp)\n"
            "addi sp, sp, 64\n mret");
}

static uint32_t trap_cycles(void)
{
    uint32_t was = csr_read_clear(mstatus, MSTATUS_MIE), vector = csr_read(mtvec), begin = 0;
    csr_write(mtvec, (uint32_t)(uintptr_t)bare_trap);
    for (unsigned i = 0; i < 18; i++) {
        if (i == 2)
            begin = cycles32();
        __asm__ volatile("ecall" ::: "memory");
    }
    uint32_t cycles = (cycles32() - begin) / 16;
    csr_write(mtvec, vector);
    csr_set(mstatus, was & MSTATUS_MIE);
    return cycles;
}

/* ---- All harts at once. */

static struct vm_map *maps[MAX_HARTS];
static uint32_t began[MAX_HARTS], ended[MAX_HARTS];
static uint32_t own[MAX_HARTS][16];

static void fault_pages(unsigned hart)
{
    vm_cost_must(vm_fault(maps[hart], AT, PAGE_WRITE));
    began[hart] = cycles32();
    fault_up_to(maps[hart], pages + 1);
    ended[hart] = cycles32();
}

static void clear_pages(unsigned hart)
{
    began[hart] = cycles32();
    for (uint32_t i = 0; i < pages; i++)
        memset(page_pointer(own[hart][i % 16]), 0, PAGE_SIZE);
    ended[hart] = cycles32();
}

static uint32_t elapsed(void)
{
    uint32_t begin = began[0], end = ended[0];
    for (unsigned h = 1; h < hart_count; h++) {
        begin = (int32_t)(began[h] - begin) < 0 ? began[h] : begin;
        end = (int32_t)(ended[h] - end) > 0 ? ended[h] : end;
    }
    return end - begin;
}

static void parallel(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        maps[h] = map_with(pages + 1);
        for (unsigned i = 0; i < 16; i++)
            if (!(own[h][i] = page_alloc_raw()))
                panic("run=vm-cost: no memory");
    }
    pace_on_harts(hart_count, clear_pages);
    uint32_t floor = elapsed();
#if LOCK_STATS
    lock_stats_clear(); /* only the locks that all harts take */
#endif
    pace_on_harts(hart_count, fault_pages);
    uint32_t cycles = elapsed();
#if LOCK_STATS
    lock_stats_snapshot();
    lock_stats_print_results(false);
#endif
    kprintf("@vm_parallel harts=%u cycles=%lu floor=%lu pages=%lu\n", hart_count, (unsigned long)cycles,
            (unsigned long)floor, (unsigned long)pages);
    for (unsigned h = 0; h < hart_count; h++) {
        vm_map_release(maps[h]);
        for (unsigned i = 0; i < 16; i++)
            page_free(own[h][i]);
    }
}

static void on_one_hart(void)
{
    result("@vm_trap cycles=%lu\n", (unsigned long)trap_cycles());
    kinds();
    entries(16);
    uint32_t few = fork_of(64), many = fork_of(64 + 512), floor = entries(512);
    kprintf("@vm_fork_page hundredths=%lu floor=%lu\n", (unsigned long)(many - few) * 100 / 512,
            (unsigned long)floor * 100 / 512);
}

static int vm_cost(void)
{
    pages = bootargs_number(BOOT(bench_vm_cost, pages));
    if (!pages)
        return 2;
    if (!bootargs_number(BOOT(bench_vm_cost, parallel)))
        on_one_hart();
    parallel();
    vm_check_no_leak();
    return 0;
}

RUN("vm-cost", "what page faults cost, each kind beside its floor, on one hart and on all", vm_cost);
