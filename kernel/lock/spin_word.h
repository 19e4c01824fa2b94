/*
 * Spin locks of one word, which holds the owner: lock/spin/tas.h and ttas.h. The algorithm defines SPIN_TAKEN first,
 * the bits that are also set in the word while the lock is held, and provides spin_try and spin_wait.
 */
#define SPIN_FIFO 0

struct spin {
    volatile uint32_t word; /* a struct hart * | SPIN_TAKEN; 0: free */
};

typedef struct {
} spin_place_t;

static inline bool spin_try(struct spin *s);

static inline struct hart *spin_owner(const struct spin *s)
{
    return (struct hart *)(s->word & ~SPIN_TAKEN);
}

static inline bool spin_is_held(const struct spin *s)
{
    return spin_owner(s) == curhart;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    (void)place;
    return spin_try(s);
}

static inline bool spin_release(struct spin *s)
{
    if (unlikely(s->word != ((uint32_t)curhart | SPIN_TAKEN)))
        return false;
    fence_release();
    s->word = 0;
    return true;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
