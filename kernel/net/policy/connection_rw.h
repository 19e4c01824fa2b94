/*
 * tcpip=connection-rw: the successor of Mach/0.5 (paper `mach`, sections 4.4 and 6: Mach/0.5.3). As `connection`, but
 * the list has a read/write lock, so that look-ups run in parallel. They may raise a count at the same time: so
 * references are counted by atomic operations, without the list's lock. An object with one reference left is never
 * found: the list's was dropped before.
 */
#ifndef NET_POLICY_CONNECTION_RW_H
#define NET_POLICY_CONNECTION_RW_H

#include "net/direct.h"
#include "net/so_mutex.h"

extern struct lock_class list_lock_class, pcb_lock_class; /* in_pcb.c */

struct list_mutex {
    struct lock lock;
};
struct pcb_mutex {
    struct lock lock;
};

#define DEFINE_NET_CLASSES                        \
    RW_LOCK_CLASS(list_lock_class, "inpcb list"); \
    MUTEX_CLASS(pcb_lock_class, "inpcb");         \
    DEFINE_SO_CLASS
#define LIST_MUTEX {LOCK("inpcb list", list_lock_class)}
#define pcb_mutex_init(m) lock_init(&(m)->lock, &pcb_lock_class, "inpcb")
#define pcb_mutex_destroy(m) lock_destroy(&(m)->lock)

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)
#define ip_lock() ((void)0)
#define ip_unlock() ((void)0)
#define tcp_lock() ((void)0)
#define tcp_unlock() ((void)0)

#define list_lock(m) lock_write(&(m)->lock)
#define list_lock_shared(m) lock_read(&(m)->lock)
#define list_unlock(m) lock_done(&(m)->lock)
#define references_lock(m) ((void)(m))
#define references_unlock(m) ((void)(m))
#define references_add(n) __atomic_add_fetch((n), 1, __ATOMIC_RELAXED)
#define references_drop(n) __atomic_sub_fetch((n), 1, __ATOMIC_ACQ_REL)
#define pcb_lock(m) mutex_lock(&(m)->lock)
#define pcb_unlock(m) mutex_unlock(&(m)->lock)
#endif
