/*
 * The default pager (swap.h): memory of 0 that has to leave main RAM goes to slots, the first in a RAM disk, those
 * behind in a store. A pager like any other (pager.h): it knows nothing of objects, and its callers do not know where
 * it puts pages.
 *
 * Locking: swap_lock, a mutex, guards which slot holds what. A slot is not written while its page is requested: the
 * kernel requests a page only after it has returned it, one at a time. incoming_lock, held until a page is supplied,
 * guards the one page that the store is read into: a thread that requests a page may need it before any other page
 * becomes free.
 */
#include <errno.h>
#include <string.h>

#include "lib/panic.h"
#include "vm/internal.h"
#include "vm/swap.h"

#define NONE 0xffffffffu

DEFINE_MUTEX(swap_lock, "swap");

static struct slot {
    uint32_t memory, page; /* memory 0: free */
    uint32_t next;         /* in a bucket, or in the free list */
} *slots;
static uint32_t *buckets; /* as many as slots */
static uint32_t swap_begin, free_slot = NONE, free_count;
static uint32_t ram_pages, swap_size; /* pages of the RAM disk, which come first; all pages */

DEFINE_MUTEX(incoming_lock, "swap incoming");
static const struct vm_swap_store *swap_store; /* or 0 */
static void *incoming; /* a page; the tables follow it, for this many slots: */
static uint32_t swap_room;

static uint32_t *bucket(uint32_t memory, uint32_t page)
{
    return &buckets[(memory * 40503u + page) % swap_size];
}

/* The link to the slot that holds the page; *place is NONE if there is none. */
static uint32_t *swap_place_of(uint32_t memory, uint32_t page)
{
    static uint32_t none = NONE;
    uint32_t *at = swap_size ? bucket(memory, page) : &none; /* an object had pages in a store that is gone */
    while (*at != NONE && (slots[*at].memory != memory || slots[*at].page != page))
        at = &slots[*at].next;
    return at;
}

static void *bytes(uint32_t slot)
{
    return page_pointer(swap_begin + slot * PAGE_SIZE);
}

uint32_t vm_swap_init(uint32_t from, uint32_t n)
{
    swap_size = ram_pages = free_count = n;
    swap_room = 0;
    swap_store = 0;
    if (!n)
        return from;
    uint32_t tables = n * (sizeof *slots + sizeof *buckets);
    from = (from + PAGE_MASK) & ~PAGE_MASK;
    slots = page_pointer(from);
    buckets = (uint32_t *)(slots + n);
    swap_begin = (from + tables + PAGE_MASK) & ~PAGE_MASK;
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = (struct slot){.next = i + 1 < n ? i + 1 : NONE};
        buckets[i] = NONE;
    }
    free_slot = 0;
    return swap_begin + n * PAGE_SIZE;
}

/* Rebuilds the lists of `n` slots from their contents; `to` has room for slots and buckets, and may be their place. */
static void build_tables(struct slot *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = i < swap_size ? slots[i] : (struct slot){0};
    slots = to;
    buckets = (uint32_t *)(to + swap_room);
    swap_size = n;
    free_count = 0;
    free_slot = NONE;
    for (uint32_t i = 0; i < n; i++)
        buckets[i] = NONE;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t *list = slots[i].memory ? bucket(slots[i].memory, slots[i].page) : &free_slot;
        slots[i].next = *list;
        *list = i;
        free_count += !slots[i].memory;
    }
}

int vm_swap_on(const struct vm_swap_store *s)
{
    uint32_t n = ram_pages + s->pages, bytes = n * (sizeof *slots + sizeof *buckets);
    int error = 0;
    mutex_lock(&swap_lock);
    if (swap_store)
        error = -EBUSY;
    else if (!s->pages || n < s->pages || n > UINT32_MAX / PAGE_SIZE)
        error = -EINVAL;
    /* The tables are kept: the next store is hardly larger. */
    if (!error && n > swap_room) {
        uint32_t at = pages_take_row(1 + (bytes + PAGE_MASK) / PAGE_SIZE, vm_page_low);
        if (at) {
            incoming = page_pointer(at);
            swap_room = n;
        } else {
            error = -ENOMEM;
        }
    }
    if (!error) {
        build_tables((struct slot *)((char *)incoming + PAGE_SIZE), n);
        swap_store = s;
    }
    mutex_unlock(&swap_lock);
    return error;
}

int vm_swap_off(void)
{
    int error = 0;
    mutex_lock(&swap_lock);
    for (uint32_t i = ram_pages; i < swap_size && !error; i++)
        if (slots[i].memory)
            error = -EBUSY;
    if (!error && swap_store) {
        build_tables(slots, ram_pages);
        swap_store = 0;
    }
    mutex_unlock(&swap_lock);
    return error;
}

static int write_slot(uint32_t slot, const void *data)
{
    if (slot >= ram_pages)
        return swap_store->move(slot - ram_pages, (void *)data, true);
    memcpy(bytes(slot), data, PAGE_SIZE);
    return 0;
}

uint32_t vm_swap_pages(void)
{
    return swap_size;
}

uint32_t vm_swap_free(void)
{
    return free_count;
}

/* Frees the slot that `at` names. With the lock held. */
static void free_at(uint32_t *at)
{
    uint32_t slot = *at;
    *at = slots[slot].next;
    slots[slot] = (struct slot){.next = free_slot};
    free_slot = slot;
    free_count++;
}

static int swap_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                       bool kept)
{
    (void)control, (void)kept;
    for (uint32_t i = 0; i < count; i++) {
        mutex_lock(&swap_lock);
        uint32_t *at = swap_place_of(memory, page + i), slot = *at;
        bool fresh = slot == NONE && free_slot != NONE;
        if (fresh) {
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
        int error = write_slot(slot, (const char *)data + i * PAGE_SIZE);
        if (error && fresh) {
            mutex_lock(&swap_lock);
            free_at(swap_place_of(memory, page + i));
            mutex_unlock(&swap_lock);
        }
        if (error)
            return error;
    }
    return 0;
}

static void supply_slot(vm_control_t control, uint32_t page, uint32_t slot)
{
    if (slot < ram_pages) {
        vm_pager_data_supply(control, page, bytes(slot), 1, 0);
        return;
    }
    mutex_lock(&incoming_lock);
    if (swap_store->move(slot - ram_pages, incoming, false))
        vm_pager_data_error(control, page, 1);
    else
        vm_pager_data_supply(control, page, incoming, 1, 0);
    mutex_unlock(&incoming_lock);
}

static void swap_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    (void)rights;
    for (uint32_t i = 0; i < count; i++) {
        mutex_lock(&swap_lock);
        uint32_t slot = *swap_place_of(memory, page + i);
        mutex_unlock(&swap_lock);
        if (slot == NONE)
            vm_pager_data_error(control, page + i, 1);
        else
            supply_slot(control, page + i, slot);
    }
}

static void swap_unwanted(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count)
{
    (void)control;
    mutex_lock(&swap_lock);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *at = swap_place_of(memory, page + i);
        if (*at != NONE)
            free_at(at);
    }
    mutex_unlock(&swap_lock);
}

static void swap_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    mutex_lock(&swap_lock);
    for (uint32_t b = 0; b < swap_size; b++)
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
