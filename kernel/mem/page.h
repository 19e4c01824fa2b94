/*
 * Main RAM behind the kernel, by the page. Addresses here are physical; the kernel, in machine mode, uses them
 * directly.
 *
 * Programs' memory is borrowed: each hart caches up to PAGE_CACHE free pages for that, fewer when few are left; when
 * no other page is free, any hart takes from any cache.
 *
 * Locking: pages_lock, and one for each hart's cache, never two at once, all of a level that masks all handlers,
 * as any of them may take pages (mem/zone.h) for the few instructions that it takes; pages are cleared outside of them.
 * So harts that borrow take pages_lock for one page in eight.
 */
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_SIZE 4096u
#define PAGE_MASK (PAGE_SIZE - 1)
#define PAGE_CACHE 16

/* Hand out the whole pages of [begin, end), and no other. By hart 0, before any page is taken. */
void pages_init(uint32_t begin, uint32_t end);

uint32_t page_alloc(void);     /* a page filled with 0, or 0 if none is left */
uint32_t page_alloc_raw(void); /* the same, not cleared */
void page_free(uint32_t page);
uint32_t pages_free(void); /* the number of free pages */

/*
 * As page_alloc_raw and page_free, for memory of programs: counted, and leaves the last `reserve` pages to others.
 * *fewer is set if fewer pages are in common now.
 */
uint32_t page_borrow(uint32_t reserve, bool *fewer);
uint32_t page_borrow_some(uint32_t reserve, uint32_t page[], uint32_t n); /* up to n; returns how many */
void page_return(uint32_t page);
uint32_t pages_lent(void); /* the number of borrowed pages; exact if no hart borrows meanwhile */
uint32_t pages_kept(uint32_t all); /* of `all`: neither free nor borrowed; other harts may change it meanwhile */
uint32_t pages_in_common(void); /* the number of free pages in no hart's cache: a hint */

/*
 * `n` adjacent pages, as high in memory as possible; 0 if there are none, or if fewer than `reserve` would be
 * left in common. At a level that keeps the thread on its hart; searches all memory.
 */
uint32_t pages_take_row(uint32_t n, uint32_t reserve);
void pages_give_row(uint32_t page, uint32_t n);

bool page_is_ours(uintptr_t address); /* whether it lies in a page that has ever been allocated */

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
void *page_pointer(uint32_t address); /* unit tests on the host */
uint32_t page_address(const void *pointer);
#endif
#endif
