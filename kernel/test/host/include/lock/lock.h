/*
 * Blocking locks of units on the host (lock/lock.h): one thread, so waiting is a deadlock, which panics. An upgrade may
 * be made to fail, as if another reader had asked first. Held locks are counted, so that a test can check that none
 * is.
 */
#ifndef LOCK_LOCK_H
#define LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/hart.h"
#include "lib/panic.h"
#include "lock/lock_class.h"
#include "lock/lock_debug.h"
#include "lock/simple_lock.h"

struct lock {
    struct lock_object object;
    bool written, disowned;
    unsigned readers;
    struct hart *writer;
};

extern unsigned host_locks_held;
/* If set: called on an attempt to take a disowned lock, to do what another thread would. */
extern void (*host_lock_waits)(void);
/* If set: called on an attempt to take a lock that another thread holds; that one goes on meanwhile. */
extern void (*host_others_run)(void);
/* If set: called before a lock is taken exclusively, to do what another thread does in that moment. */
extern void (*host_before_write)(void);

extern bool (*host_upgrade_fails)(void);

#define MUTEX_CLASS(id, class_name) LOCK_CLASS(id, class_name, LOCK_MUTEX, SPL_NONE)
#define RW_LOCK_CLASS(id, class_name) LOCK_CLASS(id, class_name, LOCK_RW, SPL_NONE)
#define LOCK(lock_name, class_id)                              \
    {                                                          \
        .object = {.class = &(class_id), .name = (lock_name) } \
    }
#define DEFINE_MUTEX(id, lock_name)            \
    static MUTEX_CLASS(id##_class, lock_name); \
    static struct lock id = LOCK(lock_name, id##_class)
#define DEFINE_RW_LOCK(id, lock_name)            \
    static RW_LOCK_CLASS(id##_class, lock_name); \
    static struct lock id = LOCK(lock_name, id##_class)

static inline void lock_init(struct lock *l, struct lock_class *class, const char *name)
{
    *l = (struct lock){.object = {.class = class, .name = name}};
}

static inline void lock_destroy(struct lock *l)
{
    if (l->written || l->readers)
        panic("lock %s ends while it is held", l->object.name);
}

static inline bool lock_try_write(struct lock *l)
{
    if (l->written || l->readers)
        return false;
    host_locks_held++;
    l->writer = curhart;
    return l->written = true;
}

static inline void lock_write(struct lock *l)
{
    if (host_before_write)
        host_before_write();
    while (l->disowned && host_lock_waits)
        host_lock_waits();
    while ((l->written || l->readers) && host_others_run)
        host_others_run();
    if (!lock_try_write(l))
        panic("lock %s is waited for, for ever", l->object.name);
}

static inline bool lock_try_read(struct lock *l)
{
    if (l->object.class->kind == LOCK_MUTEX)
        return lock_try_write(l);
    if (l->written)
        return false;
    host_locks_held++;
    l->readers++;
    return true;
}

static inline void lock_read(struct lock *l)
{
    if (l->object.class->kind == LOCK_MUTEX) {
        lock_write(l);
        return;
    }
    while (l->disowned && host_lock_waits)
        host_lock_waits();
    while (l->written && host_others_run)
        host_others_run();
    if (l->written)
        panic("lock %s is waited for, for ever", l->object.name);
    host_locks_held++;
    l->readers++;
}

static inline void lock_done(struct lock *l)
{
    if (l->disowned || (!l->written && !l->readers))
        panic("lock %s is not held", l->object.name);
    host_locks_held--;
    if (l->written)
        l->written = false;
    else
        l->readers--;
}

static inline void mutex_unlock(struct lock *l)
{
    if (!l->written)
        panic("lock %s is not held alone", l->object.name);
    lock_done(l);
}

static inline void rw_lock_read(struct lock *l)
{
    if (l->object.class->kind == LOCK_MUTEX)
        panic("lock %s is a mutex", l->object.name);
    lock_read(l);
}

static inline void lock_disown(struct lock *l)
{
    if (!l->written || l->disowned)
        panic("lock %s is not held alone", l->object.name);
    host_locks_held--;
    l->disowned = true;
}

static inline void lock_adopt(struct lock *l)
{
    if (!l->disowned)
        panic("lock %s is not disowned", l->object.name);
    host_locks_held++;
    l->disowned = false;
}

static inline void lock_done_disowned(struct lock *l)
{
    if (!l->disowned)
        panic("lock %s is not disowned", l->object.name);
    l->disowned = l->written = false;
}

static inline bool lock_write_held(const struct lock *l)
{
    return l->written && !l->disowned && (l->writer == curhart || !host_others_run);
}

static inline bool lock_read_to_write(struct lock *l)
{
    if (l->readers != 1)
        panic("lock %s: upgraded with %u readers", l->object.name, l->readers);
    l->readers = 0;
    if (host_upgrade_fails && host_upgrade_fails())
        return false;
    return l->written = true;
}

static inline void lock_write_to_read(struct lock *l)
{
    if (!l->written)
        panic("lock %s is not held alone", l->object.name);
    l->written = false;
    l->readers = 1;
}

#define mutex_lock(l) lock_write(l)
#define mutex_try(l) lock_try_write(l)
#endif
