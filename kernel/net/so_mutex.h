/* For policies (policy.h) with a blocking lock for each socket. */
#ifndef NET_SO_MUTEX_H
#define NET_SO_MUTEX_H

#include "lock/lock.h"

extern struct lock_class so_lock_class; /* in_pcb.c */
#define DEFINE_SO_CLASS MUTEX_CLASS(so_lock_class, "socket")

struct so_mutex {
    struct lock lock;
};

#define so_mutex_init(m) lock_init(&(m)->lock, &so_lock_class, "socket")
#define so_mutex_destroy(m) lock_destroy(&(m)->lock)
#define so_lock(m) mutex_lock(&(m)->lock)
#define so_unlock(m) mutex_unlock(&(m)->lock)
#endif
