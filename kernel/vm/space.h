/*
 * The address space of a process, as user/ knew it before there were maps (map.h): what is left of it, until nobody uses it.
 */
#ifndef VM_SPACE_H
#define VM_SPACE_H

#include "vm/map.h"
#include "vm/pmap.h"

#define SPACE_BEGIN VM_BEGIN
#define SPACE_END VM_END

struct space {
    struct vm_map *map;
};

bool space_init(struct space *space); /* false: there is no page left */
void space_destroy(struct space *space); /* gives all its pages back */

/*
 * Map new pages of 0 at [begin, end), which lies within [SPACE_BEGIN, SPACE_END). 0; or -ENOMEM: none is left, -EEXIST:
 * a page is mapped already.
 */
int space_grow(struct space *space, uint32_t begin, uint32_t end, unsigned rights);

/* The physical address of `address` if user mode has all of `rights` to it, or 0. May sleep. */
uint32_t space_lookup(const struct space *space, uint32_t address, unsigned rights);

/* Copy `n` bytes from and to user addresses. 0, or -EFAULT if user mode might not do it; part may be copied then. */
int space_copy_in(const struct space *space, void *to, uint32_t from, uint32_t n);
int space_copy_out(const struct space *space, uint32_t to, const void *from, uint32_t n);

/* A string, with its final 0. 0, -EFAULT, or -E2BIG if it needs more than `size` bytes. */
int space_copy_in_string(const struct space *space, char *to, uint32_t from, uint32_t size);

/* The same as space_copy_out, but to pages that user mode need not be able to write: for the loader. */
int space_fill(const struct space *space, uint32_t to, const void *from, uint32_t n);
#endif
