/*
 * tcpip=krp-many: paper `krp`'s proposal ("Future Kernel Enhancements"): the database is divided into several, each
 * served by its own designated hart. Connections are divided by a hash of port and peer. Work of one database on a
 * connection of another, as of a SYN on the listening one, needs locks: each list and each inpcb has a spin lock, for
 * which no hart waits otherwise.
 */
#ifndef NET_POLICY_KRP_MANY_H
#define NET_POLICY_KRP_MANY_H

#include "net/handed.h"
#include "net/so_spin.h"

#define DATABASES 8

extern struct lock_class list_lock_class, pcb_lock_class; /* in_pcb.c */

struct list_mutex {
    struct spin_mutex spin;
};
struct pcb_mutex {
    struct spin_mutex spin;
};

#define DEFINE_NET_CLASSES                                             \
    SIMPLE_LOCK_CLASS(list_lock_class, "inpcb list", SPL_SOFTPREEMPT); \
    SIMPLE_LOCK_CLASS(pcb_lock_class, "inpcb", SPL_SOFTPREEMPT);       \
    DEFINE_SO_CLASS
#define LIST_MUTEX {.spin.lock = SIMPLE_LOCK("inpcb list", list_lock_class)}
#define pcb_mutex_init(m) (*(m) = (struct pcb_mutex){.spin.lock = SIMPLE_LOCK("inpcb", pcb_lock_class)})
#define pcb_mutex_destroy(m) simple_lock_destroy(&(m)->spin.lock)

/* The upper half of a product by the golden ratio (Knuth 6.4), scaled to the number of databases. */
static inline unsigned inet_database(uint32_t lport, uint32_t faddr, uint32_t fport)
{
    uint32_t hash = (faddr ^ (lport << 16 | fport)) * 0x9e3779b1u;
    return (hash >> 16) * inet_databases >> 16;
}

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)
#define ip_lock() ((void)0)
#define ip_unlock() ((void)0)
#define tcp_lock() ((void)0)
#define tcp_unlock() ((void)0)

#define list_lock(m) spin_mutex_lock(&(m)->spin)
#define list_lock_shared(m) spin_mutex_lock(&(m)->spin)
#define list_unlock(m) spin_mutex_unlock(&(m)->spin)
#define references_lock(m) ((void)(m))
#define references_unlock(m) ((void)(m))
#define references_add(n) __atomic_add_fetch((n), 1, __ATOMIC_RELAXED)
#define references_drop(n) __atomic_sub_fetch((n), 1, __ATOMIC_ACQ_REL)
#define pcb_lock(m) spin_mutex_lock(&(m)->spin)
#define pcb_unlock(m) spin_mutex_unlock(&(m)->spin)
#endif
