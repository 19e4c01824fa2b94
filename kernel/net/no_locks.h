/*
 * For policies (policy.h) under which one context at a time works on connections: their lists, references and inpcbs
 * have no locks.
 */
#ifndef NET_NO_LOCKS_H
#define NET_NO_LOCKS_H

struct list_mutex {};
struct pcb_mutex {};

#define DEFINE_NET_CLASSES struct pcb_mutex
#define LIST_MUTEX \
    {              \
    }
#define pcb_mutex_init(m) ((void)(m))
#define pcb_mutex_destroy(m) ((void)(m))

#define list_lock(m) ((void)(m))
#define list_lock_shared(m) ((void)(m))
#define list_unlock(m) ((void)(m))
#define references_lock(m) ((void)(m))
#define references_unlock(m) ((void)(m))
#define references_add(n) (++*(n))
#define references_drop(n) (--*(n))
#define pcb_lock(m) ((void)(m))
#define pcb_unlock(m) ((void)(m))
#endif
