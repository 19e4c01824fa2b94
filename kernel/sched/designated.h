/*
 * The designated hart (paper `krp`, "Introducing Parallelism into the TCP/IP Kernel"): work on data that one lock would
 * guard is not done where it arises, by harts that spin for the lock. Code that has such work describes it in a kernel
 * request packet (the paper's TCPIP_KRP), queues it and continues. One hart processes the packets, at high priority,
 * first come, first served, one at a time: data that only they access needs no other lock, and stays in that hart's
 * cache.
 *
 *   DEFINE_DESIGNATED(net, "net", SPL_NET);
 *   designated_start(&net, 0, PRI_DESIGNATED);
 *   static struct krp k = {.action = append_to_socket}; k.parameter[0] = ...; krp_queue(&net, &k);
 *
 * Where the paper forks a thread at IPL 8 if the queue was empty, here a thread bound to the hart is woken; it may take
 * blocking locks. A second designated hart for other data is a second struct designated.
 *
 * Locking: the queue's own lock, held for a few instructions by callers that queue and by the thread, guards the queue.
 * Its level is at most SPL_SCHED, because queueing wakes a thread.
 */
#ifndef SCHED_DESIGNATED_H
#define SCHED_DESIGNATED_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/simple_lock.h"
#include "sched/sched.h"

#define PRI_DESIGNATED (PRI_INTERRUPT - 1)
#define KRP_PARAMETERS 4

struct krp;

typedef void krp_fn(struct krp *krp);

/* A packet belongs to its owner again when its action is called; the action may queue it again. */
struct krp {
    struct krp *next;
    krp_fn *action;
    uintptr_t parameter[KRP_PARAMETERS];
};

struct designated {
    struct simple_lock lock;
    struct krp *first, *last;
    bool idle; /* the thread sleeps and has not been woken */
    bool stopping;
    uint32_t queued, woken; /* packets; wake-ups: for the other packets the thread was awake */
    struct thread *thread;
};

#define DESIGNATED(queue_name, class_id) {.lock = SIMPLE_LOCK(queue_name, class_id)}

/* A queue that is the only one of its class, both static. */
#define DEFINE_DESIGNATED(id, queue_name, level)                                            \
    _Static_assert((level) <= SPL_SCHED, "a handler above SPL_SCHED cannot wake a thread"); \
    static SIMPLE_LOCK_CLASS(id##_class, queue_name, level);                                \
    static struct designated id = DESIGNATED(queue_name, id##_class)

/* From now on `hart` processes queued packets, at `priority` (sched/sched.h). */
void designated_start(struct designated *d, unsigned hart, unsigned priority);

/* Process what is queued and end; from a thread. Only the actions may still queue packets. */
void designated_stop(struct designated *d);

/* From any level up to that of the queue's class, on any hart. */
void krp_queue(struct designated *d, struct krp *krp);
#endif
