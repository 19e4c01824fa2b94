/*
 * Acquires two locks of one class, as for dup2(X, Y) while another thread does dup2(Y, X): the lower address first, so
 * that no two threads can each hold what the other waits for (paper `mach`, sections 3.2 and 4.5). The two may be the
 * same lock, which is then acquired once.
 */
#ifndef LOCK_LOCK_PAIR_H
#define LOCK_LOCK_PAIR_H

#include "lock/lock.h"

static inline void lock_pair(struct lock *a, struct lock *b)
{
    lock_write(a < b ? a : b);
    if (a != b)
        lock_write(a < b ? b : a);
}

static inline void lock_pair_done(struct lock *a, struct lock *b)
{
    lock_done(a);
    if (a != b)
        lock_done(b);
}

static inline crit_t simple_lock_pair_enter(struct simple_lock *a, struct simple_lock *b)
{
    crit_t s = simple_lock_enter(a < b ? a : b);
    if (a != b)
        simple_lock(a < b ? b : a);
    return s;
}

static inline void simple_lock_pair_leave(struct simple_lock *a, struct simple_lock *b, crit_t s)
{
    simple_unlock(a);
    if (a != b)
        simple_unlock(b);
    crit_sec_leave(s);
}
#endif
