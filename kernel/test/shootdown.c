/*
 * run=test-shootdown: no hart uses a page after its translation is removed. Threads of a program write to two pages, on
 * all harts, without a system call. Meanwhile
 *   - the process's map is copied (vm_map_fork), which makes its pages read-only: from then on the copy
 *     does not change, whichever thread writes to the original;
 *   - another object replaces one of the pages: from then on the old object's page does not change;
 *   - a page is made read-only, without anything else, as the above have other reasons to call the harts: from then on
 *     it does not change, until the map is unlocked and a fault makes it writable again.
 * A hart with a stale translation would write to a page that is being checked. Seeds perturb when that is.
 */
#include <stdio.h>
#include <string.h>

#include "test/test.h"
#include "user/programs/toucher.h"
#include "proc/run.h"
#include "vm/internal.h"
#include "vm/mmu.h"

static struct random random;

/* The map of the process that runs, which is the only one: some hart has its pmap. */
static struct vm_map *shootdown_map_of_the_process(void)
{
    for (;;) {
        for (unsigned h = 0; h < hart_count; h++) {
            struct pmap *p = vm_hart_of(&harts[h])->pmap;
            if (p)
                return (struct vm_map *)p; /* which begins with it */
        }
        thread_yield();
    }
}

struct words {
    uint32_t word[2 * TOUCHER_MOST];
};

static struct words read_words(struct vm_map *map)
{
    struct words w;
    for (unsigned n = 0; n < TOUCHER_MOST; n++)
        if (copyin(map, &w.word[n], TOUCHER_NAMED + n * TOUCHER_STRIDE, 4) ||
            copyin(map, &w.word[TOUCHER_MOST + n], TOUCHER_OWN + n * TOUCHER_STRIDE, 4))
            panic("the map has not the pages that it is to have");
    return w;
}

static void wait_a_while(void)
{
    test_spin(random_below(&random, 4) ? random_below(&random, 400) : random_below(&random, 6000));
}

static void copy_stays(struct vm_map *map)
{
    struct vm_map *child = vm_map_fork(map);
    if (!child)
        panic("no memory for a copy of the map");
    struct words before = read_words(child);
    for (unsigned i = 1 + random_below(&random, 3); i; i--) {
        wait_a_while();
        struct words after = read_words(child);
        if (memcmp(&before, &after, sizeof before))
            panic("a copy of a map has changed: a hart writes with a translation that was taken from it");
    }
    vm_map_release(child);
}

static void map_named(struct vm_map *map, uint32_t address, unsigned flags, struct vm_object *object)
{
    int error = vm_map_object(map, &address, PAGE_SIZE, flags, object, 0, false, PAGE_READ | PAGE_WRITE,
                              PAGE_READ | PAGE_WRITE, VM_INHERIT_COPY);
    if (error)
        panic("mapping a page: error %d", -error);
}

static struct vm_object *replaced_stays(struct vm_map *map, struct vm_object *old)
{
    struct vm_object *now = vm_object_create(1);
    uint32_t word;
    if (!now || copyin(map, &word, TOUCHER_NAMED, sizeof word))
        panic("no memory for another page");
    map_named(map, TOUCHER_NAMED, VM_REPLACE, now);
    const struct vm_page *page = radix_get(&old->pages, 0);
    assert(vm_is_page(page));
    static uint8_t before[PAGE_SIZE];
    memcpy(before, vm_page_bytes(page), PAGE_SIZE);
    wait_a_while();
    if (memcmp(before, vm_page_bytes(page), PAGE_SIZE))
        panic("a page has changed that is mapped nowhere: a hart has kept its translation");
    vm_object_release(old);
    return now;
}

static void protected_stays(struct vm_map *map, const struct vm_object *object)
{
    uint32_t word;
    if (copyin(map, &word, TOUCHER_NAMED, sizeof word))
        panic("the map has not the page that it is to have");
    lock_write(&map->lock);
    const struct vm_page *page = radix_get(&object->pages, 0);
    assert(vm_is_page(page));
    pmap_protect(&map->pmap, TOUCHER_NAMED, TOUCHER_NAMED + PAGE_SIZE, PAGE_READ);
    static uint8_t before[PAGE_SIZE];
    memcpy(before, vm_page_bytes(page), PAGE_SIZE);
    wait_a_while();
    if (memcmp(before, vm_page_bytes(page), PAGE_SIZE))
        panic("a page has changed that nobody may write to: a hart has kept its translation");
    lock_done(&map->lock);
}

#define COUNTED 200

static void call_all(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < COUNTED; i++)
        pmap_shootdown((1u << hart_count) - 1);
}

/* The counters are exact, though all harts count at once. */
static void check_counts(void)
{
    uint32_t shootdowns = pmap_shootdowns, calls = pmap_calls, n = test_harts();
    test_on_every_hart(call_all);
    assert(pmap_shootdowns - shootdowns == n * COUNTED && pmap_calls - calls == n * COUNTED * (hart_count - 1));
}

struct driver {
    struct vm_map *map;
    struct vm_object *object; /* the object that is mapped */
    uint32_t rounds, copies;
};

/* More urgent than the program, so that it gets a hart at once. */
static void drive(void *arg)
{
    struct driver *d = arg;
    for (uint32_t i = 0; i < d->rounds; i++) {
        wait_a_while();
        switch (random_below(&random, 3)) {
        case 0:
            copy_stays(d->map);
            d->copies++;
            break;
        case 1: d->object = replaced_stays(d->map, d->object); break;
        default: protected_stays(d->map, d->object);
        }
        if (!random_below(&random, 8))
            thread_delay(1); /* on all harts the program runs */
    }
}

static int shootdown(void)
{
    static struct arguments arguments;
    char number[12];
    random = random_from(run_seed, 0);
    arguments_add(&arguments, "toucher");
    snprintf(number, sizeof number, "%u", hart_count);
    arguments_add(&arguments, number);
    int id = process_spawn(0, "toucher", &arguments, ANY_HART);
    if (id < 0)
        panic("the program toucher does not start: error %d", -id);
    struct vm_map *map = shootdown_map_of_the_process();
    vm_map_reference(map);
    struct vm_object *object = vm_object_create(1), *stop = vm_object_create(1);
    if (!object || !stop)
        panic("no memory");
    map_named(map, TOUCHER_NAMED, VM_FIXED, object);
    map_named(map, TOUCHER_OWN, VM_FIXED, 0);
    map_named(map, TOUCHER_STOP, VM_FIXED, stop);
    struct driver driver = {.map = map, .object = object, .rounds = bootargs_number(BOOT(test_shootdown, rounds))};
    thread_join(thread_create(drive, &driver, PRI_NORMAL - 1, ANY_HART, "driver"));
    object = driver.object;
    struct words words = read_words(map);
    unsigned wrote = 0;
    for (unsigned n = 0; n < TOUCHER_MOST; n++)
        wrote += words.word[TOUCHER_MOST + n] != 0;
    uint32_t one = 1;
    if (copyout(map, TOUCHER_STOP, &one, sizeof one))
        panic("the program's page is gone");
    vm_object_release(object);
    vm_object_release(stop);
    vm_map_release(map);
    int status = user_wait_for_all(id);
    assert(process_none_left() && !status && wrote);
    check_counts();
    vm_check_no_leak();
    kprintf("@test name=shootdown rounds=%lu copies=%lu writers=%u shootdowns=%lu calls=%lu\n",
            (unsigned long)driver.rounds, (unsigned long)driver.copies, wrote, (unsigned long)pmap_shootdowns,
            (unsigned long)pmap_calls);
    return 0;
}

RUN("test-shootdown", "test: translations that are taken from harts are gone", shootdown);
