/*
 * Ticket lock: a hart draws a number, and waits until it is served. First come, first served; all waiting harts read
 * the same word, so each release reaches all of them (Mellor-Crummey and Scott 1991, algorithm 2.2).
 *
 * One word holds all, in steps of TICKET_ONE: the next number in its upper half, the number being served in its lower,
 * whose low bits are the owner (its hart + 1). The two halves are equal only when the lock is free. So taking a free
 * lock is one compare-and-swap, which also records the owner, and releasing it is one store of the lower half. A hart
 * that finds it held draws with an AMO: AMOs take turns on this core, LR and SC do not.
 */
#define SPIN_FIFO 1
#define TICKET_OWNER 0xfu /* mask */
#define TICKET_ONE 0x10u
#define TICKET_DRAW (TICKET_ONE << 16)
_Static_assert(MAX_HARTS <= TICKET_OWNER, "ticket.h: owner");

struct spin {
    union {
        volatile uint32_t word;
        struct {
            volatile uint16_t served, next;
        };
    };
};

typedef uint8_t spin_place_t; /* unused until it waits: spin_wait draws the number */

static inline struct hart *spin_owner(const struct spin *s)
{
    unsigned owner = s->served & TICKET_OWNER;
    return owner ? &harts[owner - 1] : 0;
}

static inline bool spin_is_held(const struct spin *s)
{
    return (s->served & TICKET_OWNER) == curhart->mark;
}

static inline __attribute__((always_inline)) bool spin_try(struct spin *s)
{
    __asm__ goto("1: lr.w t0, (%0)\n slli t1, t0, 16\n xor t1, t1, t0\n srli t1, t1, 16\n bnez t1, %l[taken]\n"
                 "add t0, t0, %1\n add t0, t0, %2\n sc.w t0, t0, (%0)\n bnez t0, 1b" ::"r"(&s->word),
                 "r"(TICKET_DRAW), "r"(curhart->mark)
                 : "t0", "t1", "memory"
                 : taken);
    fence_acquire();
    return true;
taken:
    return false;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    *place = 0;
    return spin_try(s);
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    uint16_t number = atomic_add(&s->word, TICKET_DRAW) >> 16;
    (void)place;
    while (s->served != number)
        spin_pause();
    fence_acquire();
    s->served = number + curhart->mark;
}

static inline bool spin_release(struct spin *s)
{
    uint32_t mark = curhart->mark, seen = s->word;
    fence_release(); /* while the load is under way */
    uint32_t mine = seen - mark;
    if (unlikely(mine & TICKET_OWNER))
        return false;
    __atomic_store_n(&s->served, mine + TICKET_ONE, __ATOMIC_RELAXED);
    return true;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
