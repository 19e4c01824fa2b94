/*
 * Ports and messages, after Mach (Accetta and others, *Mach: A New Kernel Foundation for UNIX Development*, 1986): a
 * port is a queue of messages with one receiver, a task or the kernel. Whatever may send, holds a right: a send right,
 * of which there are any number; a send-once right, which the one message that it allows takes with it, as a reply
 * does; the receive right is the port itself. Rights travel in messages. What the kernel offers - a task, a memory
 * object, the node - is a port that the kernel receives from, so a call is a message, and works the same from another
 * node.
 *
 * **Over nodes.** A port lives on one node, its home, which has given it a number, `uid`, when a right to it first
 * left. Another node that holds rights has a *proxy*: a struct port with the home's name and no queue; what is sent to
 * it goes over the wire (transport.h). So all that holds, sends or destroys rights need not know which of the two it
 * has.
 *
 * **When nobody can send any more** the home has to know, over nodes too, and the answer may not be wrong while a right
 * is on its way. Rights are counted by indirect references (Piquer, *Indirect Reference Counting*, PARLE 1991): a node
 * that sends a right to another one counts it (`abroad`) on its own port or proxy; the other one notes from which it
 * came, and how many (`parent`, `from_parent`). A proxy that has no right left, and none abroad, gives its count back
 * to its parent by one message. No third node is asked, so no two messages can overtake each other to a wrong sum.
 *
 * **A node that has been given up** (transport.h) has no rights any more: what it was given is counted by node
 * (`given`), and comes back at once, send-once rights as MESSAGE_SEND_ONCE, so a thread that waits for an answer gets
 * an error. A proxy that was had from there, or whose home it is, is dead for good: it has no name any more, and what
 * is sent to it is -EPIPE. A node that has rights by way of one that has lost the port is told (MESSAGE_VOID), and they
 * are dead, too: two nodes that later had the right from each other would wait for each other for ever.
 *
 * **Flow control.** A queue holds `limit` messages: a thread that sends by a send right waits for room; a send-once
 * right's message always has room, as there was a place for it when the right was made. What comes over the wire is
 * always taken: it is bounded by the window of the transport alone.
 *
 * **Port sets.** A set is a port that nobody sends to, with others as members: what is received from it is what comes
 * to any of them, in turn. A member is received from by way of its set alone.
 *
 * **Nothing is lost in a queue.** A receive right that lies in the queue of another port is known to lie there
 * (`carrier`). A message whose receive right would come to lie in its own queue, or in a ring of them, is refused:
 * there would be nobody to receive it, and nobody to free it.
 *
 * **Notifications.** A send-once right is kept until the port has no receiver (MESSAGE_DEAD_NAME), or no senders
 * (MESSAGE_NO_SENDERS), and then used for one message that says which name that was asked for. Of a port of another
 * node its home is asked, once, to tell this one, which tells all that have asked here; a home that is given up counts
 * as dead. A node whose message finds no port, or no receiver, is told that, too.
 *
 * **Memory is out.** What has to be told - rights that go back, a send-once right that goes unused - is noted in the
 * port and told when there is memory (ports_settle). A message that is freed is itself the one that says so of its
 * reply right.
 *
 * Errors are minus a number of <errno.h>. Locking, in this order: a port's `lock`, a simple lock at SPL_SOFTCLOCK as
 * limits of time take it, guards its queue and counts; names_lock, the same, guards which port has which number, and is
 * held while a reference is taken or dropped there. Neither is held when a message is passed on, a handler of the
 * kernel called or memory freed.
 */
#ifndef IPC_PORT_H
#define IPC_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/message.h"
#include "lock/simple_lock.h"

/* Of a port that the kernel receives from. */
struct port_ops {
    const char *name;
    /*
     * Consumes the message. In the sender's thread, or for one that came over the wire in one of the kernel's for that
     * (server.c);
     */
    void (*message)(void *object, struct message *m);
    bool
        /*
         * or in the transport's own, which it does not keep from its work: it waits for no other node, and for
         * no page
         */
        at_once;
    void (*no_senders)(void *object); /* there were some, and now there are none; 0: it does not matter */
    void (*freed)(void *object); /* the last reference has gone */
};

SLIST_HEAD(given_list, given);
SLIST_HEAD(watcher_list, watcher);

struct port {
    struct simple_lock lock;
    volatile uint32_t references; /* of rights, and what else points here */
    uint32_t uid; /* 0: no right of it has left its node */
    uint16_t home;
    uint16_t parent; /* a proxy's: the node that gave it, */
    uint32_t from_parent; /* and how many rights; */
    uint32_t abroad; /* those of other nodes that this one has given, */
    struct given_list given; /* and to which */
    uint32_t senders, onces; /* rights of this node, those in messages too */
    bool dead; /* the receiver has gone, or its node */
    bool had_senders; /* since the kernel was told last that there are none */
    struct message_queue queue;
    uint32_t queued, limit;
    const struct port_ops *ops;
    void *object;
    SLIST_ENTRY(port) named_link; /* of those with a number */
    struct port *set; /* with names_lock, as are the next two */
    TAILQ_HEAD(, port) members;
    TAILQ_ENTRY(port) member_link;
    bool is_set, arrived; /* a member has something */
    struct watcher_list watchers; /* with names_lock */
    struct port *carrier; /* its receive right lies in that one's queue; or 0. With names_lock */
    /* what there was no memory to tell, with names_lock: */
    SLIST_ENTRY(port) owing_link;
    bool owing;
    uint16_t back_to;
    uint32_t back, back_uid; /* rights that go back to that node; */
    uint32_t unused; /* send-once rights that have gone unused */
};

#define PORT_LIMIT 5 /* messages, at first, as in Mach */
#define PORT_NODES 253 /* their Ethernet addresses end with the node's number and 2 (transport.h) */

/* Numbers that are known without being told. */
#define UID_HOST 1 /* what a node offers to others */
#define UID_FIRST 16

extern uint16_t ipc_node; /* this one */

/*
 * With the receive right, which is a reference, and no other. 0: memory is out. `ops` 0: port_receive takes what comes.
 */
struct port *port_create(const struct port_ops *ops, void *object);
void port_publish(struct port *p, uint32_t uid); /* under a known number; for good */

/* The receive right goes: what waits in the queue is freed, and whoever sends or receives gets -EPIPE. */
void port_destroy(struct port *p);

/* A port set, as port_create; goes by port_destroy, too. */
struct port *port_set_create(void);

/* The port, whose receive right the caller has, is a member of that set from now on, and of no other; 0: of none. */
void port_join(struct port *p, struct port *set);

/* The next message of any member, with a reference to it at *from. Errors as those of port_receive. */
int port_receive_any(struct port *set, uint32_t ms, struct message **m, struct port **from);

/*
 * Once, by the send-once right, which it takes over unless there is an error: MESSAGE_DEAD_NAME or MESSAGE_NO_SENDERS,
 * with `name` in it. `by`: what asks, for port_unwatch. -ENOMEM.
 */
int port_watch(struct port *p, uint32_t id, struct port *notify, uint32_t name, const void *by);
void port_unwatch(struct port *p, const void *by, uint32_t name); /* what it has asked for of the port goes unused */

bool port_has_senders(struct port *p); /* here or on other nodes */
void port_reference(struct port *p);
void port_release(struct port *p);

/* Another right, of `type`. */
void port_make(struct port *p, enum right_type type);
/* It goes. A send-once right that has not been used tells its receiver so (MESSAGE_SEND_ONCE). */
void port_drop(struct port *p, enum right_type type);

/* A send right to what another node, or this one, has published; 0: memory is out, or there is none here. */
struct port *port_known(unsigned node, uint32_t uid);

/* The port of this node with that number, with a reference; or 0. */
struct port *port_find(uint32_t uid);

static inline bool port_is_here(const struct port *p)
{
    return p->home == ipc_node;
}

/*
 * The message goes to m->to, by the right that it holds. 0: it has been consumed. -EPIPE: nobody receives there any
 * more; -ETIMEDOUT: there was no room in so many milliseconds (FOREVER: no limit, 0: it does not wait); -EINTR: the
 * process wants something of the thread. -ELOOP: it has the receive right of `to`, or of a port in whose queue that
 * lies.
 */
#define FOREVER UINT32_MAX
int message_send(struct message *m, uint32_t ms);
void message_post(struct message *m); /* does not wait, and frees what cannot be sent; for the kernel's own answers */

/* The next message of a port whose receive right the caller has. -EPIPE, -ETIMEDOUT, -EINTR. */
int port_receive(struct port *p, uint32_t ms, struct message **m);

/*
 * Sends `m` with a send-once right to a port of its own as the reply's, and waits for that: 0, or as above; -EPIPE also
 * if the right went unused. Consumes `m` always.
 */
int message_call(struct message *m, uint32_t ms, struct message **reply);

/* ---- For transport.c: rights that leave, and come. */
/* The right is only a reference then, and the node's. False: memory is out, and nothing has changed. */
bool port_export(struct port *p, enum right_type type, unsigned node, struct wire_right *to);
/*
 * A message leaves by the right: a send-once right is only a reference then. Gives how many rights the proxy gives back
 * to its home with that message, and not by one of its own.
 */
uint32_t port_leaves(struct right *by);
struct port *port_import(const struct wire_right *from, unsigned node); /* a right of that type; 0: memory is out */
void port_unexport(struct port *p, enum right_type type, unsigned node); /* the right is the caller's again */
/*
 * Node `node` gives so many back; `once`: by a message that a send-once right has sent. `unused` of them are send-once
 * rights that nobody will use.
 */
void port_home_release(uint32_t uid, uint16_t home, unsigned node, uint32_t count, bool once, uint32_t unused);
/* The message is for the port of this number: it comes over the wire. Consumes it. */
void port_arrived(struct message *m, uint32_t uid);

/* Whether that node has rights from this one, or this one from it: then it is noticed if it falls silent. */
bool ports_related(unsigned node);
void ports_settle(void); /* what memory was out for, is told now */
void port_node_died(unsigned node);

/* What else the port UID_HOST of this node is asked for: consumes the message. Filled in by what offers that. */
extern void (*ipc_host_message)(struct message *m);

void ipc_ports_init(unsigned node);
uint32_t ports_in_use(void);
#endif
