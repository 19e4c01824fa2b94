/*
 * tcpip=connection: Mach/0.5 (paper `mach`, sections 4.4 and 4.5). A mutual exclusion lock protects all operations on the list of
 * connections; each inpcb has a lock, held while a packet of its connection is worked on, and each socket has one. Contexts run on any
 * hart, at once.
 */
#ifndef NET_POLICY_CONNECTION_H
#define NET_POLICY_CONNECTION_H

#include "lock/lock.h"

extern struct lock_class pcb_lock_class, so_lock_class; /* in_pcb.c */

struct list_mutex {
    struct lock lock;
};
struct pcb_mutex {
    struct lock lock;
};
struct so_mutex {
    struct lock lock;
};

#define DEFINE_LIST_MUTEX(id, name)       \
    static MUTEX_CLASS(id##_class, name); \
    static struct list_mutex id = {LOCK(name, id##_class)}
#define DEFINE_NET_CLASSES                \
    MUTEX_CLASS(pcb_lock_class, "inpcb"); \
    MUTEX_CLASS(so_lock_class, "socket")
#define pcb_mutex_init(m) lock_init(&(m)->lock, &pcb_lock_class, "inpcb")
#define pcb_mutex_destroy(m) lock_destroy(&(m)->lock)
#define so_mutex_init(m) lock_init(&(m)->lock, &so_lock_class, "socket")
#define so_mutex_destroy(m) lock_destroy(&(m)->lock)

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)

#define list_lock(m) mutex_lock(&(m)->lock)
#define list_unlock(m) mutex_unlock(&(m)->lock)
#define pcb_lock(m) mutex_lock(&(m)->lock)
#define pcb_unlock(m) mutex_unlock(&(m)->lock)
#define so_lock(m) mutex_lock(&(m)->lock)
#define so_unlock(m) mutex_unlock(&(m)->lock)
#endif
