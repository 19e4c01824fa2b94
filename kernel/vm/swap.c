/*
 * The default pager: memory of 0 that has to leave main RAM goes to a RAM disk, until there are disks. Boot argument vm.swap:
 * its pages. A pager as any other (pager.h): it knows nothing of objects, and who calls it nothing of where it puts pages.
 *
 * Locking: swap_lock, a mutex, guards which slot has what. A slot is not written while its page is asked for: the kernel asks for a
 * page only when it has returned it, and does one at a time.
 */
#include <errno.h>
#include <string.h>

#include "lib/panic.h"
#include "vm/internal.h"

#define NONE 0xffffffffu

DEFINE_MUTEX(swap_lock, "swap");

static struct slot {
    uint32_t memory, page; /* memory 0: free */
    uint32_t next;         /* in a bucket, or of the free ones */
} *slots;
static uint32_t *buckets; /* as many as slots */
static uint32_t begin, pages, free_slot = NONE, free_count;

static uint32_t *bucket(uint32_t memory, uint32_t page)
{
    return &buckets[(memory * 40503u + page) % pages];
}

/* Where the number of the slot stands, in which the page is; *place is NONE if it is in none. */
static uint32_t *place_of(uint32_t memory, uint32_t page)
{
    uint32_t *at = bucket(memory, page);
    while (*at != NONE && (slots[*at].memory != memory || slots[*at].page != page))
        at = &slots[*at].next;
    return at;
}

static void *bytes(uint32_t slot)
{
    return page_pointer(begin + slot * PAGE_SIZE);
}

uint32_t vm_swap_init(uint32_t from, uint32_t n)
{
    pages = free_count = n;
    if (!n)
        return from;
    uint32_t tables = n * (sizeof *slots + sizeof *buckets);
    from = (from + PAGE_MASK) & ~PAGE_MASK;
    slots = page_pointer(from);
    buckets = (uint32_t *)(slots + n);
    begin = (from + tables + PAGE_MASK) & ~PAGE_MASK;
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = (struct slot){.next = i + 1 < n ? i + 1 : NONE};
        buckets[i] = NONE;
    }
    free_slot = 0;
    return begin + n * PAGE_SIZE;
}

uint32_t vm_swap_pages(void)
{
    return pages;
}

uint32_t vm_swap_free(void)
{
    return free_count;
}

static int swap_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                       bool kept)
{
    (void)control, (void)kept;
    for (uint32_t i = 0; i < count; i++) {
        mutex_lock(&swap_lock);
        uint32_t *at = place_of(memory, page + i), slot = *at;
        if (slot == NONE && free_slot != NONE) {
            slot = free_slot;
            free_slot = slots[slot].next;
            free_count--;
            at = bucket(memory, page + i);
            slots[slot] = (struct slot){memory, page + i, *at};
            *at = slot;
        }
        mutex_unlock(&swap_lock);
        if (slot == NONE)
            return -ENOMEM;
        memcpy(bytes(slot), (const char *)data + i * PAGE_SIZE, PAGE_SIZE);
    }
    return 0;
}

static void swap_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    (void)rights;
    for (uint32_t i = 0; i < count; i++) {
        mutex_lock(&swap_lock);
        uint32_t slot = *place_of(memory, page + i);
        mutex_unlock(&swap_lock);
        if (slot == NONE)
            vm_pager_data_error(control, page + i, 1);
        else
            vm_pager_data_supply(control, page + i, bytes(slot), 1, 0);
    }
}

/* The slot that `at` names is free. With the lock. */
static void free_at(uint32_t *at)
{
    uint32_t slot = *at;
    *at = slots[slot].next;
    slots[slot] = (struct slot){.next = free_slot};
    free_slot = slot;
    free_count++;
}

static void swap_unwanted(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count)
{
    (void)control;
    mutex_lock(&swap_lock);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *at = place_of(memory, page + i);
        if (*at != NONE)
            free_at(at);
    }
    mutex_unlock(&swap_lock);
}

static void swap_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    mutex_lock(&swap_lock);
    for (uint32_t b = 0; b < pages; b++)
        for (uint32_t *at = &buckets[b]; *at != NONE;)
            if (slots[*at].memory == memory)
                free_at(at);
            else
                at = &slots[*at].next;
    mutex_unlock(&swap_lock);
}

const struct vm_pager vm_swap = {.name = "swap",
                                 .data_request = swap_request,
                                 .data_return = swap_return,
                                 .data_unwanted = swap_unwanted,
                                 .terminate = swap_terminate};
