/* For policies (policy.h) with a blocking lock for each socket. */
#ifndef NET_SO_MUTEX_H
#define NET_SO_MUTEX_H

#include "lock/lock.h"

extern struct lock_class so_lock_class; /* in_pcb.c */
#define DEFINE_SO_CLASS MUTEX_CLASS(so_lock_class, "socket")

struct so_mutex {
    struct lock lock;
};

/* The table of routes: read/write, as its look-ups are short and many (paper `mach`, section 4.3.4). */
#define DEFINE_ROUTE_LOCK DEFINE_RW_LOCK(route_table_lock, "route table")
#define route_lock() lock_write(&route_table_lock)
#define route_lock_shared() lock_read(&route_table_lock)
#define route_unlock() lock_done(&route_table_lock)

#define so_mutex_init(m) lock_init(&(m)->lock, &so_lock_class, "socket")
#define so_mutex_destroy(m) lock_destroy(&(m)->lock)
#define so_lock(m) mutex_lock(&(m)->lock)
#define so_unlock(m) mutex_unlock(&(m)->lock)
#endif
