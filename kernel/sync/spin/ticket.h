/*
 * Ticket lock: whoever comes draws a number, and waits until it is served. First come, first served; all that wait
 * read the same word, so each release reaches all of them (Mellor-Crummey and Scott 1991, algorithm 2.2).
 *
 * Both numbers lie in one word, so that drawing also tells whether the lock is free. `next` is its upper half: it wraps
 * without touching the other.
 */
#define SPIN_FIFO 1
#define TICKET_ONE 0x10000u

struct spin {
    union {
        volatile uint32_t word;
        struct {
            volatile uint16_t serving, next;
        };
    };
    volatile uint32_t owner; /* a struct hart *; 0: none */
};

typedef uint16_t spin_place_t;

static inline struct hart *spin_owner(const struct spin *s)
{
    return (struct hart *)s->owner;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    uint32_t drawn = atomic_add(&s->word, TICKET_ONE);
    *place = drawn >> 16;
    if (*place != (uint16_t)drawn)
        return false;
    fence_acquire();
    s->owner = (uint32_t)curhart;
    return true;
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    while (s->serving != place)
        spin_pause();
    fence_acquire();
    s->owner = (uint32_t)curhart;
}

static inline bool spin_try(struct spin *s)
{
    uint32_t seen = s->word;
    if (seen >> 16 != (uint16_t)seen || !atomic_cas(&s->word, seen, seen + TICKET_ONE))
        return false;
    fence_acquire();
    s->owner = (uint32_t)curhart;
    return true;
}

static inline void spin_release(struct spin *s)
{
    s->owner = 0;
    fence_release();
    s->serving++;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
