/* The steps of an acquisition in images that check or count (lock_hooks.h). */
#include "lock/lock_hooks.h"

#if LOCK_HOOKS
#include "arch/csr.h"
#include "arch/hart.h"
#include "lock/lock_counts.h"
#include "lock/lock_debug.h"
#include "lock/lock_held.h"

#if LOCK_STATS
/* Where an acquisition in progress counts, or that of a held lock. */
#define COUNTS(acquisition, object) lock_counts_here(&(acquisition)->counted, object, (acquisition)->site)
#endif

/* Lists and counters belong to a hart: masks interrupts, and so thread switches. */
static inline uint32_t lock_hooks_mask(void)
{
    return csr_read_clear(mstatus, MSTATUS_MIE) & MSTATUS_MIE;
}

static inline void unmask(uint32_t saved)
{
    csr_set(mstatus, saved);
}

/* A mutex is always exclusive, whatever its user asks for. */
static unsigned effective(const struct lock_object *o, unsigned how)
{
    return o->class->kind == LOCK_RW ? how : how & ~LOCK_SHARED;
}

struct lock_attempt lock_hook_attempt(struct lock_object *o, uintptr_t site, unsigned how)
{
    uint32_t saved = lock_hooks_mask();
    struct lock_attempt a = {.site = site, .how = effective(o, how)};
#if LOCK_DEBUG
    lock_check_attempt(o, a.how, !saved, (uint32_t)__builtin_frame_address(0));
#endif
#if LOCK_STATS
    COUNTS(&a, o)->attempts++;
#endif
    unmask(saved);
    return a;
}

void lock_hook_miss(struct lock_object *o, struct lock_attempt *a, uint32_t now)
{
    (void)o;
    uint32_t saved = lock_hooks_mask();
#if LOCK_STATS
    COUNTS(a, o)->misses++;
#endif
    a->missed = true;
    a->missed_at = now;
    unmask(saved);
}

void lock_hook_block(struct lock_object *o, struct lock_attempt *a, uint32_t now)
{
    (void)o;
    (void)a;
    (void)now;
    uint32_t saved = lock_hooks_mask();
#if LOCK_STATS
    COUNTS(a, o)->blocks++;
#endif
    unmask(saved);
}

void lock_hook_acquired(struct lock_object *o, struct lock_attempt *a, uint32_t now)
{
    uint32_t saved = lock_hooks_mask();
#if LOCK_STATS
    if (a->missed)
        lock_duration_add(&COUNTS(a, o)->wait, now - a->missed_at);
#endif
#if LOCK_DEBUG
    o->locked_at = a->site;
#endif
    struct lock_held *held = lock_held_add(lock_held_list_for(o), o);
    held->site = a->site;
    held->how = a->how & LOCK_SHARED;
    held->since = now;
#if LOCK_STATS
    held->counted = a->counted;
#endif
    unmask(saved);
}

void lock_hook_failed(struct lock_object *o, struct lock_attempt *a, uint32_t now)
{
    (void)o;
    (void)a;
    (void)now;
    uint32_t saved = lock_hooks_mask();
#if LOCK_STATS
    COUNTS(a, o)->fails++;
#endif
    unmask(saved);
}

void lock_hook_released(struct lock_object *o, uintptr_t site, uint32_t now)
{
    uint32_t saved = lock_hooks_mask();
    struct lock_held_list *list = lock_held_list_for(o);
    struct lock_held *held = lock_held_find(list, o);
#if LOCK_DEBUG
    lock_check_held(o, held, "let go");
    o->unlocked_at = site;
#endif
    (void)site;
    (void)now;
    if (held) {
#if LOCK_STATS
        lock_duration_add(&COUNTS(held, o)->hold, now - held->since);
#endif
        lock_held_remove(list, held);
    }
    unmask(saved);
}

void lock_hook_downgraded(struct lock_object *o)
{
    uint32_t saved = lock_hooks_mask();
    struct lock_held *held = lock_held_find(lock_held_list_for(o), o);
    if (held)
        held->how = LOCK_SHARED;
    unmask(saved);
}
#endif
