/*
 * MCS lock: waiting harts form a list, and each spins on its own node, which its predecessor clears. First come, first
 * served; a release reaches one hart (Mellor-Crummey and Scott 1991, algorithm 2.4).
 *
 * A hart has a few nodes, one for each lock that it holds or waits for; a node is in use while it names its hart. Only
 * the hart itself searches for a free one. A handler between the search and the claim frees the nodes it took, so the
 * node found free still is.
 */
#include "lib/panic.h"

#define SPIN_FIFO 1
#define MCS_NODES 16 /* locks that a hart can hold and wait for at a time, in all nested handlers */

struct mcs_node {
    struct mcs_node *volatile next;
    volatile uint32_t waits;
    struct hart *volatile hart; /* 0: free */
} __attribute__((aligned(64))); /* a cache line each */

struct spin {
    volatile uint32_t tail;         /* the last node of the list; 0: free */
    struct mcs_node *volatile holder; /* the node of the holder */
};

typedef struct mcs_node *spin_place_t;

_Static_assert(MCS_NODES * sizeof(struct mcs_node) <= HART_SPIN_SPACE, "mcs.h: nodes");

static inline struct hart *spin_owner(const struct spin *s)
{
    struct mcs_node *n = s->holder;
    return n ? n->hart : 0;
}

static inline bool spin_is_held(const struct spin *s)
{
    return spin_owner(s) == curhart;
}

static inline struct mcs_node *mcs_claim(void)
{
    struct mcs_node *n = (struct mcs_node *)lock_hart()->spin_space, *end = n + MCS_NODES;
    while (n->hart)
        if (++n == end)
            panic("MCS: hart %u holds or awaits %u locks", (unsigned)curhart->id, MCS_NODES);
    n->hart = curhart;
    n->next = 0;
    return n;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    struct mcs_node *n = *place = mcs_claim();
    struct mcs_node *before = (struct mcs_node *)atomic_swap_acquire_release(&s->tail, (uint32_t)n);
    if (before) {
        n->waits = 1;
        fence_release();
        before->next = n;
        return false;
    }
    s->holder = n;
    return true;
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    while (place->waits)
        spin_pause();
    fence_acquire();
    s->holder = place;
}

static inline bool spin_try(struct spin *s)
{
    if (s->tail)
        return false;
    struct mcs_node *n = mcs_claim();
    if (!atomic_cas_release(&s->tail, 0, (uint32_t)n)) {
        n->hart = 0;
        return false;
    }
    fence_acquire();
    s->holder = n;
    return true;
}

static inline bool spin_release(struct spin *s)
{
    struct mcs_node *n = s->holder;
    if (unlikely(!n || n->hart != curhart))
        return false;
    s->holder = 0;
    if (n->next || !atomic_cas_release(&s->tail, (uint32_t)n, 0)) {
        while (!n->next) /* another hart is queued behind this one, but has not yet set `next` */
            spin_pause();
        fence_release();
        n->next->waits = 0;
    }
    n->hart = 0;
    return true;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
