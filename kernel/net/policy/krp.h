/*
 * tcpip=krp: the Scalable Kernel of paper `krp` ("The Architecture of the TCP/IP Kernel", "Kernel Context Threads").
 * Process context copies between a user and packets, and queues a kernel request packet for the work on a connection;
 * received packets and timers do the same. One designated hart processes them one by one under the TCP/IP global spin
 * lock, so connections need no other; a socket's buffers, which process context accesses, have a mini-spin lock. Both
 * contexts count references.
 */
#ifndef NET_POLICY_KRP_H
#define NET_POLICY_KRP_H

#include "net/handed.h"
#include "net/so_spin.h"

#define DATABASES 1

struct list_mutex {};
struct pcb_mutex {};

#define DEFINE_NET_CLASSES DEFINE_SO_CLASS
#define LIST_MUTEX \
    {              \
    }
#define pcb_mutex_init(m) ((void)(m))
#define pcb_mutex_destroy(m) ((void)(m))

static inline unsigned inet_database(uint32_t lport, uint32_t faddr, uint32_t fport)
{
    (void)lport, (void)faddr, (void)fport;
    return 0;
}

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)
#define ip_lock() ((void)0)
#define ip_unlock() ((void)0)
#define tcp_lock() ((void)0)
#define tcp_unlock() ((void)0)

#define list_lock(m) ((void)(m))
#define list_lock_shared(m) ((void)(m))
#define list_unlock(m) ((void)(m))
#define references_lock(m) ((void)(m))
#define references_unlock(m) ((void)(m))
#define references_add(n) __atomic_add_fetch((n), 1, __ATOMIC_RELAXED)
#define references_drop(n) __atomic_sub_fetch((n), 1, __ATOMIC_ACQ_REL)
#define pcb_lock(m) ((void)(m))
#define pcb_unlock(m) ((void)(m))
#endif
