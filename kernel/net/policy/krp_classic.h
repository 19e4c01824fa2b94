/*
 * tcpip=krp-classic: the classic kernel of paper `krp` ("The SMP Challenge", Figure 2). One spin lock, I/O lock 8,
 * guards all of TCP/IP: process context that enters it spins for the lock, on any hart, while another thread holds it.
 * Its level is below those of devices, as IPL 8 is: their handlers run meanwhile.
 */
#ifndef NET_POLICY_KRP_CLASSIC_H
#define NET_POLICY_KRP_CLASSIC_H

#include "lock/simple_lock.h"
#include "net/direct.h"

extern struct simple_lock io_lock_8; /* in_pcb.c */
extern uint32_t io_lock_8_depth;     /* with the next, the holder's */
extern crit_t io_lock_8_saved;

struct list_mutex {};
struct pcb_mutex {};
struct so_mutex {};

#define DEFINE_NET_CLASSES                                                     \
    static SIMPLE_LOCK_CLASS(io_lock_8_class, "I/O lock 8", SPL_SOFTPREEMPT);  \
    struct simple_lock io_lock_8 = SIMPLE_LOCK("I/O lock 8", io_lock_8_class); \
    uint32_t io_lock_8_depth;                                                  \
    crit_t io_lock_8_saved
#define LIST_MUTEX \
    {              \
    }
#define pcb_mutex_init(m) ((void)(m))
#define pcb_mutex_destroy(m) ((void)(m))
#define so_mutex_init(m) ((void)(m))
#define so_mutex_destroy(m) ((void)(m))

#define inet_enter() ((void)0)
#define inet_leave() ((void)0)
#define ip_lock() ((void)0)
#define ip_unlock() ((void)0)

/* The holder may take it again. Held by this hart means by this context: it is not preempted. */
static inline void tcp_lock(void)
{
    crit_t s = crit_sec_enter(SPL_SOFTPREEMPT);
    if (simple_lock_held(&io_lock_8)) {
        io_lock_8_depth++;
        crit_sec_leave(s);
        return;
    }
    simple_lock(&io_lock_8);
    io_lock_8_saved = s;
}

static inline void tcp_unlock(void)
{
    if (io_lock_8_depth) {
        io_lock_8_depth--;
        return;
    }
    crit_t s = io_lock_8_saved;
    simple_lock_leave(&io_lock_8, s);
}

#define DEFINE_ROUTE_LOCK struct route
#define route_lock() tcp_lock()
#define route_lock_shared() tcp_lock()
#define route_unlock() tcp_unlock()

#include "net/one_lock.h"
#define so_lock(m) ((void)(m), tcp_lock())
#define so_unlock(m) ((void)(m), tcp_unlock())
#endif
