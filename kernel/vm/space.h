/*
 * Sv32 address spaces (RISC-V privileged specification 1.12, section 4.3), of user mode alone: the kernel runs in
 * machine mode with physical addresses and is in none of them. What a system call is given the address of is copied
 * through the page table by software, so a bad address is a result and not a trap.
 *
 * A space only grows until it is destroyed: a page that is mapped stays where it is, with the same rights. So no
 * hart can hold a translation that has ended, and none needs to be called to drop one; destroying waits until no
 * thread is left.
 *
 * Errors are minus a number of <errno.h>, as everywhere in the kernel; 0 is success.
 *
 * Locking: whoever maps pages keeps others from doing so; looking addresses up needs no lock.
 */
#ifndef VM_SPACE_H
#define VM_SPACE_H

#include "vm/types.h"

#define SPACE_BEGIN VM_BEGIN
#define SPACE_END VM_END

struct space {
    uint32_t root;  /* its page table's first page */
    uint32_t serial; /* never 0, never used twice: tells a hart whose satp is another's that it has to change it */
    volatile uint32_t fetched; /* bit h: hart h's instruction cache holds nothing that was there before the space */
};

bool space_init(struct space *space); /* false: there is no page left */
void space_destroy(struct space *space); /* gives all its pages back */

/*
 * Map new pages of 0 at [begin, end), which lies within [SPACE_BEGIN, SPACE_END). 0; or -ENOMEM: none is left, -EEXIST:
 * a page is mapped already; pages mapped until then stay.
 */
int space_grow(struct space *space, uint32_t begin, uint32_t end, unsigned rights);

/* The physical address of `address` if user mode has all of `rights` to it, or 0. */
uint32_t space_lookup(const struct space *space, uint32_t address, unsigned rights);

/* Copy `n` bytes from and to user addresses. 0, or -EFAULT if user mode might not do it; part may be copied then. */
int space_copy_in(const struct space *space, void *to, uint32_t from, uint32_t n);
int space_copy_out(const struct space *space, uint32_t to, const void *from, uint32_t n);

/* A string, with its final 0. 0, -EFAULT, or -E2BIG if it needs more than `size` bytes. */
int space_copy_in_string(const struct space *space, char *to, uint32_t from, uint32_t size);

/* The same as space_copy_out, but to pages that user mode need not be able to write: for the loader. */
int space_fill(const struct space *space, uint32_t to, const void *from, uint32_t n);
#endif
