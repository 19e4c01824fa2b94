/*
 * tcpip=connection: Mach/0.5 (paper `mach`, sections 4.4 and 4.5). A mutual exclusion lock protects all operations on
 * the list of connections, including look-up and references; each inpcb has a lock, held while a packet of its
 * connection is processed, and each socket has one. IP has none. Contexts run on any hart, in parallel.
 */
#ifndef NET_POLICY_CONNECTION_H
#define NET_POLICY_CONNECTION_H

#include "net/direct.h"
#include "net/so_mutex.h"

extern struct lock_class list_lock_class, pcb_lock_class; /* in_pcb.c */

struct list_mutex {
    struct lock lock;
};
struct pcb_mutex {
    struct lock lock;
};

#define DEFINE_NET_CLASSES                      \
    MUTEX_CLASS(list_lock_class, "inpcb list"); \
    MUTEX_CLASS(pcb_lock_class, "inpcb");       \
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

#define list_lock(m) mutex_lock(&(m)->lock)
#define list_lock_shared(m) mutex_lock(&(m)->lock)
#define list_unlock(m) mutex_unlock(&(m)->lock)
#define references_lock(m) mutex_lock(&(m)->lock)
#define references_unlock(m) mutex_unlock(&(m)->lock)
#define references_add(n) (++*(n))
#define references_drop(n) (--*(n))
#define pcb_lock(m) mutex_lock(&(m)->lock)
#define pcb_unlock(m) mutex_unlock(&(m)->lock)
#endif
