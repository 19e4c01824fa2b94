/*
 * For policies (policy.h) with a simple lock for each socket: paper `krp`'s mini-spin locks, "never held for very
 * long". Only threads take it.
 */
#ifndef NET_SO_SPIN_H
#define NET_SO_SPIN_H

#include "lock/simple_lock.h"

extern struct lock_class so_lock_class; /* in_pcb.c */
#define DEFINE_SO_CLASS SIMPLE_LOCK_CLASS(so_lock_class, "socket", SPL_SOFTPREEMPT)

/* A simple lock with its section. */
struct spin_mutex {
    struct simple_lock lock;
    crit_t saved; /* of the holder */
};

static inline void spin_mutex_lock(struct spin_mutex *m)
{
    crit_t s = simple_lock_enter(&m->lock);
    m->saved = s;
}

static inline void spin_mutex_unlock(struct spin_mutex *m)
{
    crit_t s = m->saved;
    simple_lock_leave(&m->lock, s);
}

#define DEFINE_ROUTE_LOCK                                                        \
    static SIMPLE_LOCK_CLASS(route_table_class, "route table", SPL_SOFTPREEMPT); \
    static struct spin_mutex route_table_lock = {.lock = SIMPLE_LOCK("route table", route_table_class)}
#define route_lock() spin_mutex_lock(&route_table_lock)
#define route_lock_shared() spin_mutex_lock(&route_table_lock)
#define route_unlock() spin_mutex_unlock(&route_table_lock)

struct so_mutex {
    struct spin_mutex spin;
};

#define so_mutex_init(m) (*(m) = (struct so_mutex){.spin.lock = SIMPLE_LOCK("socket", so_lock_class)})
#define so_mutex_destroy(m) simple_lock_destroy(&(m)->spin.lock)
#define so_lock(m) spin_mutex_lock(&(m)->spin)
#define so_unlock(m) spin_mutex_unlock(&(m)->spin)
#endif
