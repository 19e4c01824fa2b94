/*
 * Main RAM behind the kernel, by the page. An address here is physical; the kernel, in machine mode, uses it as it
 * is.
 *
 * Memory of programs is borrowed: each hart keeps up to PAGE_CACHE free pages for that, fewer when few are left; when
 * nothing else is free, they are anybody's.
 *
 * Locking: pages_lock, and one for what each hart keeps, never two at once, all of a level that keeps out all handlers,
 * as any of them may take pages (mem/zone.h) for the few instructions that it takes; pages are cleared outside of them.
 * So harts that borrow meet at pages_lock with one page of eight.
 */
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_SIZE 4096u
#define PAGE_MASK (PAGE_SIZE - 1)
#define PAGE_CACHE 16

/* Hand out the whole pages of [begin, end), and no other. By hart 0, before anybody takes one. */
void pages_init(uint32_t begin, uint32_t end);

uint32_t page_alloc(void);     /* a page filled with 0, or 0 when none is left */
uint32_t page_alloc_raw(void); /* the same with whatever is in it */
void page_free(uint32_t page);
uint32_t pages_free(void); /* how many are left */

/*
 * As page_alloc_raw and page_free, for memory of programs: counted, and leaving the last `reserve` to others. *fewer is
 * set if fewer are in common now.
 */
uint32_t page_borrow(uint32_t reserve, bool *fewer);
uint32_t page_borrow_some(uint32_t reserve, uint32_t page[], uint32_t n); /* up to n; gives how many */
void page_return(uint32_t page);
uint32_t pages_lent(void); /* how many are borrowed; exact when nobody borrows meanwhile */
uint32_t pages_kept(uint32_t all); /* of `all`: neither free nor borrowed, but for what other harts do meanwhile */
uint32_t pages_in_common(void); /* how many no hart keeps: a hint */

/*
 * `n` pages in a row, as far at memory's end as there are such; 0 if there are none, or fewer than `reserve` would be
 * left in common. At a level that keeps the thread on its hart, it looks through all memory.
 */
uint32_t pages_take_row(uint32_t n, uint32_t reserve);
void pages_give_row(uint32_t page, uint32_t n);

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
