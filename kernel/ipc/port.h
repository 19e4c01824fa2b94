/*
 * Ports and messages, after Mach (Accetta and others, *Mach: A New Kernel Foundation for UNIX Development*, 1986): a
 * port is a queue of messages with one receiver, a task or the kernel. Sending needs a right: a send right,
 * of which there are any number; a send-once right, which is used up by the one message that it allows, such as a
 * reply; the receive right is the port itself. Rights travel in messages. The kernel's objects - a task, a memory
 * object, the node - are ports that the kernel receives from, so a call is a message, and works the same from another
 * node.
 *
 * **Over nodes.** A port lives on one node, its home, which has given it a number, `uid`, when a right to it first
 * left. Another node that has rights has a *proxy*: a struct port with the home's name and no queue; messages to
 * it go over the wire (transport.h). So code that holds, sends or destroys rights need not know which of the two it
 * has.
 *
 * **When no sender is left** the home must know, over nodes too, and the answer must not be wrong while a right is
 * in transit. Rights are counted by indirect references (Piquer, *Indirect Reference Counting*, PARLE 1991): a node
 * that sends a right to another one counts it (`abroad`) on its own port or proxy; the other one notes which node it
 * came from, and how many (`parent`, `from_parent`). A proxy without rights of its own or abroad gives its count back
 * to its parent by one message. No third node is involved, so no two messages can overtake each other to a wrong sum.
 *
 * **A node that has been given up** (transport.h) has no rights any more: rights given to it are counted by node
 * (`given`), and return at once, send-once rights as MESSAGE_SEND_ONCE, so a thread that waits for an answer gets
 * an error. A proxy that came from that node, or whose home it is, is dead for good: it loses its name, and sending
 * to it gives -EPIPE. A node that has rights by way of one that has lost the port is told (MESSAGE_VOID), and they
 * are dead, too: otherwise two nodes that later had the right from each other would wait for each other for ever.
 *
 * **Flow control.** A queue holds `limit` messages: a thread that sends by a send right waits for room; a send-once
 * right's message always has room, reserved when the right was made. A message from the wire is
 * always accepted: only the transport's window bounds these.
 *
 * **Port sets.** A set is a port without senders, with other ports as members: receiving from it returns messages
 * of its members, in turn. A member is received from only by way of its set.
 *
 * **Nothing is lost in a queue.** For a receive right in the queue of another port, that port is recorded
 * (`carrier`). A message whose receive right would lie in its own queue, or in a ring of them, is refused:
 * it could be neither received nor freed.
 *
 * **Notifications.** A send-once right is kept until the port has no receiver (MESSAGE_DEAD_NAME), or no senders
 * (MESSAGE_NO_SENDERS), and then used for one message with the name for which that was requested. For a port of another
 * node its home is asked, once, to tell this node, which tells all its own watchers; a home that is given up counts
 * as dead. A node whose message finds no port, or no receiver, is told that, too.
 *
 * **Memory is out.** A pending report - rights to give back, a send-once right that goes unused - is noted in the
 * port and sent when there is memory (ports_settle). A freed message is itself reused to report that its
 * reply right goes unused.
 *
 * Errors are minus a number of <errno.h>. Locking, in this order: a port's `lock`, a simple lock at SPL_SOFTCLOCK as
 * time limits acquire it, guards its queue and counts; names_lock, at the same level, guards which port has which
 * number, and is held while a reference is taken or dropped there. Neither is held when a message is passed on, a
 * handler of the kernel called or memory freed.
 */
#ifndef IPC_PORT_H
#define IPC_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/message.h"
#include "lock/simple_lock.h"

/* For a port that the kernel receives from. */
struct port_ops {
    const char *name;
    /*
     * Consumes the message. Runs in the sender's thread, or for a message from the wire in a thread of the kernel
     * (server.c);
     */
    void (*message)(void *object, struct message *m);
    bool
        /*
         * or in the transport's own thread, which it must not delay: it waits for no other node, and for
         * no page
         */
        at_once;
    void (*no_senders)(void *object); /* there were senders, and now there are none; 0: not needed */
    void (*freed)(void *object); /* the last reference was dropped */
};

SLIST_HEAD(given_list, given);
SLIST_HEAD(watcher_list, watcher);

struct port {
    struct simple_lock lock;
    volatile uint32_t references; /* from rights, and from other pointers to the port */
    uint32_t uid; /* 0: no right to it has left its node */
    uint16_t home;
    uint16_t parent; /* a proxy's: the node that gave it, ... */
    uint32_t from_parent; /* ... and how many rights it gave; */
    uint32_t abroad; /* rights of other nodes that this one has given, ... */
    struct given_list given; /* ... and to which nodes */
    uint32_t senders, onces; /* rights on this node, including those in messages */
    bool dead; /* the receiver, or its node, has gone */
    bool had_senders; /* since the last no_senders */
    struct message_queue queue;
    uint32_t queued, limit;
    const struct port_ops *ops;
    void *object;
    bool of_kernel; /* a proxy's: the home's kernel receives */
    SLIST_ENTRY(port) named_link; /* of ports with a number */
    struct port *set; /* with names_lock held, as are the next two */
    TAILQ_HEAD(, port) members;
    TAILQ_ENTRY(port) member_link;
    bool is_set, arrived; /* a member has a message */
    struct watcher_list watchers; /* with names_lock held */
    struct port *carrier; /* its receive right lies in that port's queue; or 0. With names_lock held */
    /* reports delayed for lack of memory, with names_lock held: */
    SLIST_ENTRY(port) owing_link;
    bool owing;
    uint16_t back_to;
    uint32_t back, back_uid; /* rights to give back to that node; */
    uint32_t unused; /* send-once rights that have gone unused */
};

#define PORT_LIMIT 5 /* messages, at first, as in Mach */
#define PORT_NODES 253 /* the node's Ethernet address ends with its number + 2 (transport.h) */

/* Numbers that every node knows. */
#define UID_HOST 1 /* a node's services for others */
#define UID_FIRST 16

extern uint16_t ipc_node; /* this node */

/*
 * With the receive right, which is a reference, and no other. 0: memory is out. `ops` 0: messages go to port_receive.
 */
struct port *port_create(const struct port_ops *ops, void *object);
void port_publish(struct port *p, uint32_t uid); /* under a known number; for good */

/* Ends the receive right: frees the messages in the queue; threads that send or receive get -EPIPE. */
void port_destroy(struct port *p);

/* A port set, as port_create; ended by port_destroy, too. */
struct port *port_set_create(void);

/* Makes the port, whose receive right the caller has, a member of that set, and of no other; 0: of none. */
void port_join(struct port *p, struct port *set);

/* The next message of any member, with a reference to it at *from. Errors as those of port_receive. */
int port_receive_any(struct port *set, uint32_t ms, struct message **m, struct port **from);

/*
 * Notifies once, by the send-once right, which it takes over unless it fails: MESSAGE_DEAD_NAME or MESSAGE_NO_SENDERS,
 * with `name` in it. `by` identifies the requester, for port_unwatch. -ENOMEM.
 */
int port_watch(struct port *p, uint32_t id, struct port *notify, uint32_t name, const void *by);
void port_unwatch(struct port *p, const void *by, uint32_t name); /* the notifications it requested go unused */

bool port_has_senders(struct port *p); /* here or on other nodes */
void port_reference(struct port *p);
void port_release(struct port *p);

/* Makes another right, of `type`. */
void port_make(struct port *p, enum right_type type);
/* Drops the right. An unused send-once right reports that to its receiver (MESSAGE_SEND_ONCE). */
void port_drop(struct port *p, enum right_type type);

/* A send right to a published port of another node, or of this one; 0: memory is out, or this node has none. */
struct port *port_known(unsigned node, uint32_t uid);

/* The port of this node with that number, with a reference; or 0. */
struct port *port_find(uint32_t uid);

static inline bool port_is_here(const struct port *p)
{
    return p->home == ipc_node;
}

/* Whether a kernel receives from it, not a task. */
static inline bool port_is_of_kernel(const struct port *p)
{
    return p->ops || p->of_kernel;
}

/*
 * For a message with an object that leaves the node: turns it into a description of the memory, in pages. 0, -ENOMEM.
 * The other: makes such a description an object again. Set by the layer that knows such descriptions.
 */
extern int (*ipc_memory_leaves)(struct message *m);
extern int (*ipc_memory_arrived)(struct message *m);

/*
 * Sends the message to m->to, by the right in it. 0: it has been consumed. -EPIPE: the port has no receiver any
 * more; -ETIMEDOUT: there was no room for so many milliseconds (FOREVER: no limit, 0: does not wait); -EINTR: the
 * process needs the thread's attention. -ELOOP: it has the receive right of `to`, or of a port in whose queue that
 * lies.
 */
#define FOREVER UINT32_MAX
int message_send(struct message *m, uint32_t ms);
void message_post(struct message *m); /* does not wait, and frees an unsendable message; for the kernel's own answers */

/* The next message of a port whose receive right the caller has. -EPIPE, -ETIMEDOUT, -EINTR. */
int port_receive(struct port *p, uint32_t ms, struct message **m);

/*
 * Sends `m` with a send-once right to a new port for the reply, and waits for that: 0, or as above; -EPIPE also
 * if the right went unused. Always consumes `m`.
 */
int message_call(struct message *m, uint32_t ms, struct message **reply);

/* ---- For transport.c: rights that leave, and arrive. */
/* Turns the right into a reference; the node has the right. False: memory is out, and nothing has changed. */
bool port_export(struct port *p, enum right_type type, unsigned node, struct wire_right *to);
/*
 * A message leaves by the right: a send-once right becomes a reference. Returns how many rights the proxy gives back
 * to its home with that message, instead of by a separate one.
 */
uint32_t port_leaves(struct right *by);
static inline enum right_type port_right_type(const struct wire_right *w)
{
    return (enum right_type)(w->type & ~RIGHT_OF_KERNEL);
}
struct port *port_import(const struct wire_right *from, unsigned node); /* makes such a right; 0: memory is out */
void port_unexport(struct port *p, enum right_type type, unsigned node); /* the caller has the right again */
/*
 * Node `node` gives back `count` rights; `once`: by a message sent by a send-once right. `unused` of them are send-once
 * rights that will not be used.
 */
void port_home_release(uint32_t uid, uint16_t home, unsigned node, uint32_t count, bool once, uint32_t unused);
/* Delivers a message from the wire to the port of this number. Consumes it. */
void port_arrived(struct message *m, uint32_t uid);

/* Whether that node has rights from this one, or this one from it: then its silence is noticed. */
bool ports_related(unsigned node);
void ports_settle(void); /* sends reports that were delayed for lack of memory */
void port_node_died(unsigned node);

/* Other requests to the port UID_HOST of this node: consumes the message. Set by the layer that serves them. */
extern void (*ipc_host_message)(struct message *m);

void ipc_ports_init(unsigned node);
uint32_t ports_in_use(void);
#endif
