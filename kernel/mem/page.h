/*
 * Main RAM behind the kernel, by the page. An address here is physical; the kernel, in machine mode, uses it as it
 * is.
 *
 * Locking: pages_lock, of a level that keeps out all handlers, as any of them may take pages (mem/zone.h) for the few
 * instructions that it takes; pages are cleared outside of it.
 */
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_SIZE 4096u
#define PAGE_MASK (PAGE_SIZE - 1)

/* Hand out the whole pages of [begin, end), and no other. By hart 0, before anybody takes one. */
void pages_init(uint32_t begin, uint32_t end);

uint32_t page_alloc(void);     /* a page filled with 0, or 0 when none is left */
uint32_t page_alloc_raw(void); /* the same with whatever is in it */
void page_free(uint32_t page);
uint32_t pages_free(void); /* how many are left */
bool page_is_ours(uintptr_t address); /* whether it lies in a page that somebody has had */

#ifdef __riscv
static inline void *page_pointer(uint32_t address)
{
    return (void *)address;
}

static inline uint32_t page_address(const void *pointer)
{
    return (uint32_t)pointer;
}
#else
void *page_pointer(uint32_t address); /* units on the host */
uint32_t page_address(const void *pointer);
#endif
#endif
