/* The simple lock of units on the host (lock/spin/spin.h): one hart, so waiting is a deadlock. */
#include "lib/panic.h"

#define SPIN_FIFO 1

/* If set: called before a lock is taken, to do what another hart does in that moment. */
extern void (*host_before_lock)(void);
/* If set: called while another hart holds the lock, which goes on meanwhile. */
extern void (*host_others_run)(void);

struct spin {
    struct hart *owner;
};

typedef struct {
} spin_place_t;

static inline struct hart *spin_owner(const struct spin *s)
{
    return s->owner;
}

static inline bool spin_is_held(const struct spin *s)
{
    return s->owner == curhart;
}

static inline bool spin_try(struct spin *s)
{
    if (s->owner)
        return false;
    s->owner = curhart;
    return true;
}

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    (void)place;
    if (host_before_lock)
        host_before_lock();
    return spin_try(s);
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    (void)place;
    while (host_others_run && s->owner != curhart) {
        host_others_run();
        if (spin_try(s))
            return;
    }
    panic("hart %u waits for a lock of hart %u for ever", (unsigned)curhart->id, (unsigned)s->owner->id);
}

static inline bool spin_release(struct spin *s)
{
    bool held = spin_is_held(s);
    if (held)
        s->owner = 0;
    return held;
}

static inline void spin_destroy(struct spin *s)
{
    (void)s;
}
