/*
 * run=test-text: harts execute what was written. A program writes instructions through one mapping of a page and
 * executes them through another, on all harts, without telling the kernel; instruction caches are not coherent.
 */
#include <stdio.h>

#include "proc/run.h"
#include "test/test.h"
#include "user/programs/toucher.h"
#include "vm/internal.h"
#include "vm/mmu.h"

/* The map of the process that runs, which is the only one: some hart has its pmap. */
static struct vm_map *text_map_of_the_process(void)
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

static void map_page(struct vm_map *map, uint32_t address, struct vm_object *object, unsigned rights)
{
    int error = vm_map_object(map, &address, PAGE_SIZE, VM_FIXED, object, 0, false, rights, rights, VM_INHERIT_COPY);
    if (error)
        panic("mapping a page: error %d", -error);
}

static void text_add_number(struct arguments *arguments, uint32_t number)
{
    char text[12];
    snprintf(text, sizeof text, "%lu", (unsigned long)number);
    arguments_add(arguments, text);
}

static int text(void)
{
    static struct arguments arguments;
    uint32_t rounds = bootargs_number(BOOT(test_text, rounds));
    arguments_add(&arguments, "toucher");
    text_add_number(&arguments, hart_count);
    text_add_number(&arguments, rounds);
    int id = process_spawn(0, "toucher", &arguments, ANY_HART);
    if (id < 0)
        panic("the program toucher does not start: error %d", -id);
    struct vm_map *map = text_map_of_the_process();
    vm_map_reference(map);
    struct vm_object *object = vm_object_create(1);
    if (!object)
        panic("no memory");
    map_page(map, TOUCHER_WRITE, object, PAGE_READ | PAGE_WRITE);
    map_page(map, TOUCHER_EXECUTE, object, PAGE_READ | PAGE_EXECUTE);
    map_page(map, TOUCHER_STOP, 0, PAGE_READ | PAGE_WRITE);
    vm_object_release(object);
    vm_map_release(map);
    int status = user_wait_for_all(id);
    assert(process_none_left());
    if (status)
        panic("a hart has executed what was there before: status %d", status);
    vm_check_no_leak();
    kprintf("@test name=text rounds=%lu calls=%lu\n", (unsigned long)rounds, (unsigned long)pmap_calls);
    return 0;
}

RUN("test-text", "test: instructions are executed as they were written, through two mappings of a page", text);
