/*
 * Messages (port.h): a number that names the request, a few bytes, rights, and whole pages of data. A message is one
 * object with one owner: its sender passes it on. Short data is inline, longer data out of line: in pages, which
 * are handed over and not copied if both sides are on one node; or, between tasks, an object that is copied on write.
 * To another node goes a description of that object (task/vector.c), by which the receiver maps it: its pages are
 * fetched by faults.
 */
#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mem/page.h"

struct port;
struct vm_object;

/* A receive right moves, within its node; the messages in the queue move with it. */
enum right_type { RIGHT_NONE, RIGHT_SEND, RIGHT_SEND_ONCE, RIGHT_RECEIVE };

#define MESSAGE_BODY 960   /* bytes inline */
#define MESSAGE_RIGHTS 16
#define MESSAGE_PAGES 16   /* of data */

struct right {
    struct port *port; /* 0: none */
    enum right_type type;
};

/* A right in its form on the wire. */
struct wire_right {
    uint32_t uid;
    uint16_t home;
    uint16_t type; /* enum right_type; 0: none */
};
#define RIGHT_OF_KERNEL 0x100 /* in a wire right's type: the kernel of the port's home receives from it */

struct message {
    STAILQ_ENTRY(message) link;
    struct right to, reply;
    uint32_t id;
    uint32_t size;      /* bytes of the body in use */
    uint32_t data_size; /* bytes in pages, or of an object */
    struct vm_object *object; /* data that are copied on write, on one node, from this page of it on; or 0 */
    uint32_t object_page;
    uint32_t memory; /* bytes of another node's memory, which the data in pages describe; or 0 */
    uint32_t rights;
    struct right right[MESSAGE_RIGHTS];
    uint32_t page[MESSAGE_PAGES]; /* physical addresses of the kernel's own */
    uint16_t node;                /* the node that it came from, ... */
    bool by_once;                 /* ... and whether by a send-once right */
    /*
     * For a message whose data contain rights: transfers them to the other node, and notes that in the data; false:
     * memory is out, and nothing has changed. The other: it is freed, so the rights left in the data are dropped.
     */
    bool (*export_data)(struct message *m, unsigned node);
    void (*discard)(struct message *m);
    /* transport.c's, for the wire: */
    uint32_t wire_uid, wire_released, wire_first;
    struct wire_right wire_reply, wire_right[MESSAGE_RIGHTS];
    uint8_t body[MESSAGE_BODY] __attribute__((aligned(8)));
};

STAILQ_HEAD(message_queue, message);

/* Numbers below this are the kernel's own. */
#define MESSAGE_SEND_ONCE 1 /* a send-once right has gone unused */
#define MESSAGE_RELEASE 2 /* to UID_HOST: rights are given back */
#define MESSAGE_PROBE 3 /* to UID_HOST: no action; only whether it arrives matters */
#define MESSAGE_VOID 4 /* to UID_HOST: the rights that it was given to a port are void */
#define MESSAGE_DEAD_NAME 5 /* what port_watch was asked for: a port has no receiver any more, ... */
#define MESSAGE_NO_SENDERS 6 /* ... or no senders */
#define MESSAGE_WATCH 7 /* to UID_HOST: tell the sending node when the port is dead; ... */
#define MESSAGE_DEAD 8 /* ... the answer to that */
#define MESSAGE_REPLY 0x100 /* added to the request's number */

/* From kernel to kernel, to the ports of tasks and nodes: no program sends messages of these numbers. */
#define IPC_OF_KERNELS 0x380
#define IPC_OF_KERNELS_COUNT 16

struct message *message_alloc(uint32_t id); /* empty; 0: memory is out */
void message_free(struct message *m); /* with its rights and pages */
uint32_t messages_in_use(void);

/* Allocates pages for so many bytes of data, not cleared; false: memory is out, or more than MESSAGE_PAGES. */
bool message_make_room(struct message *m, uint32_t bytes);

/* The message owns the right from now on. */
static inline void message_add_right(struct message *m, struct port *port, enum right_type type)
{
    m->right[m->rights++] = (struct right){port, type};
}

/* The caller owns right `i` from now on; 0: there is none. */
static inline struct port *message_take_right(struct message *m, unsigned i)
{
    struct port *p = i < m->rights ? m->right[i].port : 0;
    if (p)
        m->right[i].port = 0;
    return p;
}

/* Readdresses it as `id`, with its bytes and pages; drops its rights. The message owns the right from now on. */
void message_redirect(struct message *m, struct port *to, enum right_type type, uint32_t id);

/* A reply to `request`, by its reply right, which it takes; 0: memory is out, or no reply is expected. */
struct message *message_reply_to(struct message *request);
/* Sends such a reply with a body of one word, an error number; frees the request. */
void message_answer(struct message *request, int error);
#endif
