/*
 * A table by number, sized by its contents: an object's pages. A tree of nodes of 64; a number up to 63 needs one, up
 * to 4095 two on the path. Values are pointers, 0 for none.
 *
 * Locking: the owner's.
 */
#ifndef VM_RADIX_H
#define VM_RADIX_H

#include <stdbool.h>
#include <stdint.h>

#define RADIX_BITS 6

struct radix_node;

struct radix {
    struct radix_node *root;
    uint32_t height; /* of the tree: numbers below 64^height can be in it */
};

void *radix_get(const struct radix *r, uint32_t number);
bool radix_set(struct radix *r, uint32_t number, void *value); /* not 0; false: memory is out, nothing has changed */
bool radix_add(struct radix *r, uint32_t number, void *value); /* the same; false also if the number has a value */
void radix_clear(struct radix *r, uint32_t number);            /* never fails; frees empty nodes */

/* The first value whose number is *number or more, and that number; 0: there is none. */
void *radix_next(const struct radix *r, uint32_t *number);

uint32_t radix_nodes(void); /* of all trees; exact when no thread changes one */
#endif
