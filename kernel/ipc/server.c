/*
 * Threads that process the messages from the wire for ports of the kernel (transport.h): in the order of arrival, as
 * many at once as there are threads. A thread may wait for a page, also from another node, or for an answer: the
 * transport's own thread takes the messages that bring these. Nodes that send each other requests at one time might
 * all wait for each other's threads; so one more is created whenever a message has waited for a tick of the timer, and
 * none has been taken in that time.
 */
#include <errno.h>
#include <sys/queue.h>

#include "ipc/port.h"
#include "ipc/transport.h"
#include "lib/panic.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(server_lock, "ipc servers", SPL_SOFTCLOCK);
static struct message_queue jobs = STAILQ_HEAD_INITIALIZER(jobs); /* with the lock held, as are the next */
static uint32_t jobs_taken, jobs_taken_before; /* messages; as of the last check */
static unsigned idle, jobs_waiting; /* threads; messages */
static bool server_comes; /* a new thread, and no message has been taken since */

static void serve(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&server_lock);
        idle++;
        while (STAILQ_EMPTY(&jobs))
            thread_sleep(&jobs, &server_lock);
        idle--;
        jobs_waiting--;
        jobs_taken++;
        server_comes = false;
        struct message *m = STAILQ_FIRST(&jobs);
        STAILQ_REMOVE_HEAD(&jobs, link);
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
    STAILQ_INSERT_TAIL(&jobs, m, link);
    bool waits = ++jobs_waiting > idle; /* woken threads count as idle until they run */
    thread_wakeup_one(&jobs);
    simple_lock_leave(&server_lock, s);
    if (waits)
        transport_tick_wanted();
}

void servers_look(void)
{
    crit_t s = simple_lock_enter(&server_lock);
    bool some = jobs_waiting, stuck = some && jobs_taken == jobs_taken_before;
    bool wanted = stuck && !server_comes; /* if that one does not get to run, another would not, either */
    jobs_taken_before = jobs_taken;
    server_comes |= wanted;
    simple_lock_leave(&server_lock, s);
    if (wanted && !thread_create(serve, 0, PRI_NORMAL, ANY_HART, "ipc server"))
        server_comes = false; /* no memory: perhaps next time */
    if (some)
        transport_tick_wanted();
}

void server_start(unsigned threads)
{
    for (unsigned i = 0; i < threads; i++)
        if (!thread_create(serve, 0, PRI_NORMAL, ANY_HART, "ipc server"))
            panic("no thread is free for what other nodes ask for");
}
