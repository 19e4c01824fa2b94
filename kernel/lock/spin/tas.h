/*
 * Test-and-set: every attempt is an atomic operation on the word, also while another hart has it, so that harts that
 * wait keep memory busy for all others.
 *
 * Bit 0 says that it is taken; AMOs set it, which take turns on this core. The owner's address stands above it.
 */
#define SPIN_FIFO 0
#define TAKEN 1u

struct spin {
    volatile uint32_t word; /* a struct hart * | TAKEN; 0: free */
};

typedef struct {
} spin_place_t;

static inline struct hart *spin_owner(const struct spin *s)
{
    return (struct hart *)(s->word & ~TAKEN);
}

static inline bool spin_is_held(const struct spin *s)
{
    return spin_owner(s) == curhart;
}

static inline bool spin_try(struct spin *s)
{
    if (atomic_or(&s->word, TAKEN))
        return false;
    fence_acquire();
    s->word = (uint32_t)curhart | TAKEN;
    return true;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    (void)place;
    return spin_try(s);
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    (void)place;
    while (!spin_try(s))
        spin_pause();
}

static inline bool spin_release(struct spin *s)
{
    if (unlikely(s->word != ((uint32_t)curhart | TAKEN)))
        return false;
    fence_release();
    s->word = 0;
    return true;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
