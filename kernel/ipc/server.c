/*
 * Threads that carry out what comes over the wire for ports of the kernel (transport.h): in the order of arrival, as
 * many at once as there are. One may wait for a page, also of another node: what that sends, the transport's own thread
 * takes.
 */
#include <errno.h>

#include "ipc/port.h"
#include "ipc/transport.h"
#include "lib/panic.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(server_lock, "ipc servers", SPL_SOFTCLOCK);
static struct message *first, **last = &first;

static void serve(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&server_lock);
        while (!first)
            thread_sleep(&first, &server_lock);
        struct message *m = first;
        first = m->next;
        if (!first)
            last = &first;
        simple_lock_leave(&server_lock, s);
        struct port *p = m->to.port;
        port_reference(p);
        p->dead ? message_free(m) : p->ops->message(p->object, m);
        port_release(p);
    }
}

void server_add(struct port *p, struct message *m)
{
    (void)p;
    crit_t s = simple_lock_enter(&server_lock);
    m->next = 0;
    *last = m;
    last = &m->next;
    thread_wakeup_one(&first);
    simple_lock_leave(&server_lock, s);
}

void server_start(unsigned threads)
{
    for (unsigned i = 0; i < threads; i++)
        if (!thread_create(serve, 0, PRI_NORMAL, ANY_HART, "ipc server"))
            panic("no thread is free for what other nodes ask for");
}
