/*
 * run=vm-chain: paper `crtc`, section 2, on shadow chains. A parent of one region creates children one after
 * the other, writes a page between, and each child stays alive. For both strategies of copying, with and without
 * collapsing and bypassing chains: how many objects there are, how long the parent's and the first child's chains
 * are, and what a child's fault costs for a page that was not written since. Then all end.
 *
 *   @vm_chain strategy=... collapse=... children=... objects=... parent=... first=... last=... cycles=...
 */
#include "arch/csr.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "vm/map.h"
#include "vm/object.h"

#define AT 0x10000000u
#define PAGES 8
#define MOST BOOT_MOST(bench_vm_chain, children)

static struct vm_map *children[MOST];

static void vm_chain_must(int error)
{
    if (error)
        panic("run=vm-chain: error %d", -error);
}

static uint32_t length(struct vm_map *map)
{
    struct vm_region region;
    vm_chain_must(vm_region(map, AT, &region));
    return region.objects;
}

static void chain(bool asymmetric, bool collapses, uint32_t n)
{
    vm_object_collapses = collapses;
    struct vm_map *parent = vm_map_create();
    struct vm_object *object = 0;
    struct vm_statistics s;
    uint32_t address = AT;
    if (!parent || (asymmetric && !(object = vm_object_create(PAGES))))
        panic("run=vm-chain: no memory");
    /* an object mapped by its name is copied asymmetrically */
    vm_chain_must(vm_map_object(parent, &address, PAGES * PAGE_SIZE, VM_FIXED, object, 0, false, PAGE_READ | PAGE_WRITE,
                                PAGE_READ | PAGE_WRITE, VM_INHERIT_COPY));
    if (object)
        vm_object_release(object);
    for (uint32_t i = 0; i < PAGES; i++)
        vm_chain_must(vm_fault(parent, AT + i * PAGE_SIZE, PAGE_WRITE));
    for (uint32_t i = 0; i < n; i++) {
        if (!(children[i] = vm_map_fork(parent)))
            panic("run=vm-chain: no memory for a child");
        vm_chain_must(vm_fault(parent, AT, PAGE_WRITE)); /* its stack */
    }
    vm_statistics(&s);
    vm_chain_must(vm_fault(children[n - 1], AT + PAGE_SIZE, PAGE_READ)); /* loads the code into the cache */
    vm_chain_must(vm_fault(children[0], AT + PAGE_SIZE, PAGE_READ));
    uint32_t begin = cycles32();
    vm_chain_must(vm_fault(asymmetric ? children[0] : children[n - 1], AT + (PAGES - 1) * PAGE_SIZE, PAGE_READ));
    uint32_t cycles = cycles32() - begin;
    kprintf("@vm_chain strategy=%s collapse=%d children=%lu objects=%lu parent=%lu first=%lu last=%lu cycles=%lu\n",
            asymmetric ? "asymmetric" : "symmetric", collapses, (unsigned long)n, (unsigned long)s.objects,
            (unsigned long)length(parent), (unsigned long)length(children[0]), (unsigned long)length(children[n - 1]),
            (unsigned long)cycles);
    for (uint32_t i = 0; i < n; i++)
        vm_map_release(children[i]);
    vm_map_release(parent);
    vm_check_no_leak();
    vm_object_collapses = true;
}

static int chains(void)
{
    uint32_t most = bootargs_number(BOOT(bench_vm_chain, children));
    for (unsigned kind = 0; kind < 4; kind++)
        for (uint32_t n = 1; n <= most; n *= 2)
            chain(kind / 2, kind % 2, n);
    return 0;
}

RUN("vm-chain", "the growth of shadow chains, by both strategies of copying", chains);
