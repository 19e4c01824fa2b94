/*
 * tcpip=global: Mach/0.4 (paper `mach`, sections 4.1 and 4.7). One lock around TCP, connections and their list; one
 * around IP; one for each socket. IP's is released before a packet goes up. The paper releases a protocol's lock before
 * a packet goes down, too: TCP's is held here, as a connection must not change between tcp_output's plan and the
 * segment that follows it. Order: TCP, then IP, then none: no deadlock.
 */
#ifndef NET_POLICY_GLOBAL_H
#define NET_POLICY_GLOBAL_H

#include "net/direct.h"
#include "net/so_mutex.h"

extern struct lock net_tcp_lock, net_ip_lock; /* in_pcb.c */
extern uint32_t net_tcp_depth;                /* of the first's holder */
extern const bool if_ether_in_threads;

struct list_mutex {};
struct pcb_mutex {};

#define DEFINE_NET_CLASSES                                  \
    static MUTEX_CLASS(tcp_lock_class, "TCP");              \
    static MUTEX_CLASS(ip_lock_class, "IP");                \
    struct lock net_tcp_lock = LOCK("TCP", tcp_lock_class); \
    struct lock net_ip_lock = LOCK("IP", ip_lock_class);    \
    uint32_t net_tcp_depth;                                 \
    DEFINE_SO_CLASS
#define LIST_MUTEX \
    {              \
    }
#define pcb_mutex_init(m) ((void)(m))
#define pcb_mutex_destroy(m) ((void)(m))

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)

/* Ways of receiving at interrupt level (net/receive/) cannot take a blocking lock, and have no TCP. */
static inline void ip_lock(void)
{
    if (if_ether_in_threads)
        mutex_lock(&net_ip_lock);
}

static inline void ip_unlock(void)
{
    if (if_ether_in_threads)
        mutex_unlock(&net_ip_lock);
}

/* The holder may take it again. */
static inline void tcp_lock(void)
{
    if (lock_write_held(&net_tcp_lock))
        net_tcp_depth++;
    else
        mutex_lock(&net_tcp_lock);
}

static inline void tcp_unlock(void)
{
    if (net_tcp_depth)
        net_tcp_depth--;
    else
        mutex_unlock(&net_tcp_lock);
}

#include "net/one_lock.h"
#endif
