/* Tables by number (radix.h). Hardware-free: the host's tests run it. */
#include "vm/radix.h"

#include <string.h>

#include "lib/compiler.h"
#include "lib/panic.h"
#include "mem/zone.h"

#define FAN (1u << RADIX_BITS)
#define MOST_HEIGHT 4 /* of numbers of 24 bits: more than there are pages */

struct radix_node {
    uint32_t used;
    void *slot[FAN]; /* nodes; values in the lowest level */
};

DEFINE_ZONE(nodes, "vm-nodes", sizeof(struct radix_node), _Alignof(struct radix_node), SPL_SOFTPREEMPT, 0);

uint32_t radix_nodes(void)
{
    return zone_counts(&nodes).in_use;
}

static uint32_t digit(uint32_t number, uint32_t level)
{
    return number >> (RADIX_BITS * level) & (FAN - 1);
}

static bool reaches(const struct radix *r, uint32_t number)
{
    return r->height && !(number >> (RADIX_BITS * r->height));
}

void *radix_get(const struct radix *r, uint32_t number)
{
    if (!reaches(r, number))
        return 0;
    const struct radix_node *n = r->root;
    for (uint32_t level = r->height - 1; level; level--)
        if (!(n = n->slot[digit(number, level)]))
            return 0;
    return n->slot[digit(number, 0)];
}

static COLD struct radix_node *node(void)
{
    struct radix_node *n = zone_alloc(&nodes);
    if (n)
        memset(n, 0, sizeof *n);
    return n;
}

/*
 * Makes the table as high as `number` needs. An empty table gets the highest node only: `number` is below another slot
 * than its first.
 */
static COLD bool radix_grow(struct radix *r, uint32_t number)
{
    while (!reaches(r, number)) {
        if (r->height == MOST_HEIGHT)
            panic("radix: number %lu is above the largest of a tree", (unsigned long)number);
        if (r->root) {
            struct radix_node *n = node();
            if (!n)
                return false;
            n->slot[0] = r->root;
            n->used = 1;
            r->root = n;
        }
        r->height++;
    }
    if (!r->root && !(r->root = node()))
        r->height = 0;
    return r->root;
}

/* Frees empty nodes on the path to `number`. */
static COLD void prune(struct radix *r, uint32_t number)
{
    struct radix_node *way[MOST_HEIGHT], *n = r->root;
    uint32_t level = r->height;
    while (n && level--) {
        way[level] = n;
        n = level ? n->slot[digit(number, level)] : 0;
    }
    for (; level < r->height && !way[level]->used; level++) {
        zone_free(&nodes, way[level]);
        if (level + 1 == r->height) {
            *r = (struct radix){0};
            return;
        }
        way[level + 1]->slot[digit(number, level + 1)] = 0;
        way[level + 1]->used--;
    }
}

/* The slot of `number`, with the nodes on the path to it; 0: memory is out, nothing has changed. */
static inline __attribute__((always_inline)) void **slot_made(struct radix *r, uint32_t number, struct radix_node **of)
{
    if (!reaches(r, number) && !radix_grow(r, number))
        return 0;
    struct radix_node *n = r->root;
    for (uint32_t level = r->height - 1; level; level--) {
        void **slot = &n->slot[digit(number, level)];
        if (!*slot) {
            if (!(*slot = node())) {
                prune(r, number);
                return 0;
            }
            n->used++;
        }
        n = *slot;
    }
    *of = n;
    return &n->slot[digit(number, 0)];
}

bool radix_set(struct radix *r, uint32_t number, void *value)
{
    struct radix_node *n;
    void **slot = slot_made(r, number, &n);
    if (!slot)
        return false;
    n->used += !*slot;
    *slot = value;
    return true;
}

bool radix_add(struct radix *r, uint32_t number, void *value)
{
    struct radix_node *n;
    void **slot = slot_made(r, number, &n);
    if (!slot || *slot)
        return false;
    n->used++;
    *slot = value;
    return true;
}

void radix_clear(struct radix *r, uint32_t number)
{
    if (!radix_get(r, number))
        return;
    struct radix_node *n = r->root;
    for (uint32_t level = r->height - 1; level; level--)
        n = n->slot[digit(number, level)];
    n->slot[digit(number, 0)] = 0;
    if (!--n->used)
        prune(r, number);
}

void *radix_next(const struct radix *r, uint32_t *number)
{
    while (reaches(r, *number)) {
        const struct radix_node *n = r->root;
        uint32_t level = r->height;
        while (n && level--) {
            void *const *slot = n->slot;
            uint32_t d = digit(*number, level);
            while (d < FAN && !slot[d]) { /* nothing is below this slot: on to the next slot's first number */
                *number = ((*number >> (RADIX_BITS * level)) + 1) << (RADIX_BITS * level);
                d++;
            }
            if (d == FAN)
                break;
            if (!level)
                return slot[d];
            n = slot[d];
        }
    }
    return 0;
}
