/*
 * Messages (port.h): a number that says what is wanted, a few bytes, rights, and whole pages of data. A message is one
 * object with one owner: its sender passes it on. Its bytes go inline, what is larger out of line: by pages, which
 * are handed over and not copied where both sides are on one node; or, between tasks of one node, an object that is
 * copied on write.
 */
#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mem/page.h"

struct port;
struct vm_object;

/* A receive right moves, within its node; what waits in the queue goes with it. */
enum right_type { RIGHT_NONE, RIGHT_SEND, RIGHT_SEND_ONCE, RIGHT_RECEIVE };

#define MESSAGE_BODY 960   /* bytes inline */
#define MESSAGE_RIGHTS 16
#define MESSAGE_PAGES 16   /* of data */

struct right {
    struct port *port; /* 0: none */
    enum right_type type;
};

/* A right as it is on the wire. */
struct wire_right {
    uint32_t uid;
    uint16_t home;
    uint16_t type; /* enum right_type; 0: none */
};

struct message {
    STAILQ_ENTRY(message) link;
    struct right to, reply;
    uint32_t id;
    uint32_t size;      /* bytes of the body that count */
    uint32_t data_size; /* bytes in pages, or of an object */
    struct vm_object *object; /* data that are copied on write, on one node, from this page of it; or 0 */
    uint32_t object_page;
    uint32_t rights;
    struct right right[MESSAGE_RIGHTS];
    uint32_t page[MESSAGE_PAGES]; /* physical addresses of the kernel's own */
    uint16_t node;                /* where it came from, */
    bool by_once;                 /* and by a send-once right */
    /*
     * Of a message whose data have rights: they are the other node's from now on, which is said there; false: memory is
     * out, and nothing has changed. And: it is freed, so what is there still of these rights goes.
     */
    bool (*export_data)(struct message *m, unsigned node);
    void (*discard)(struct message *m);
    /* what transport.c has of it on the wire: */
    uint32_t wire_uid, wire_released, wire_first;
    struct wire_right wire_reply, wire_right[MESSAGE_RIGHTS];
    uint8_t body[MESSAGE_BODY] __attribute__((aligned(8)));
};

STAILQ_HEAD(message_queue, message);

/* Numbers below this are of the kernel's own. */
#define MESSAGE_SEND_ONCE 1 /* a send-once right has gone unused */
#define MESSAGE_RELEASE 2 /* to UID_HOST: rights come back */
#define MESSAGE_PROBE 3 /* to UID_HOST: nothing; whether it gets there is what is asked */
#define MESSAGE_VOID 4 /* to UID_HOST: what it was given of a port means nothing any more */
#define MESSAGE_DEAD_NAME 5 /* what port_watch was asked for: nobody receives from a port any more, */
#define MESSAGE_NO_SENDERS 6 /* or nobody can send to it */
#define MESSAGE_WATCH 7 /* to UID_HOST: the node is to be told when the port is dead; */
#define MESSAGE_DEAD 8 /* to UID_HOST: which it is */
#define MESSAGE_REPLY 0x100 /* added to the request's number */

/* From kernel to kernel, to the ports of tasks and nodes: no program sends messages of these numbers. */
#define IPC_OF_KERNELS 0x380
#define IPC_OF_KERNELS_COUNT 16

struct message *message_alloc(uint32_t id); /* empty; 0: memory is out */
void message_free(struct message *m); /* with its rights and pages */
uint32_t messages_in_use(void);

/* Pages for so many bytes of data, with anything in them; false: memory is out, or it is more than MESSAGE_PAGES. */
bool message_make_room(struct message *m, uint32_t bytes);

/* The right is the message's from now on. */
static inline void message_add_right(struct message *m, struct port *port, enum right_type type)
{
    m->right[m->rights++] = (struct right){port, type};
}

/* The right `i` is the caller's from now on; 0: there is none. */
static inline struct port *message_take_right(struct message *m, unsigned i)
{
    struct port *p = i < m->rights ? m->right[i].port : 0;
    if (p)
        m->right[i].port = 0;
    return p;
}

/* It goes there now, as `id`, with its bytes and pages; its rights go. The right is the message's from now on. */
void message_redirect(struct message *m, struct port *to, enum right_type type, uint32_t id);

/* A reply to `request`, by its reply right, which it takes; 0: memory is out, or none is wanted. */
struct message *message_reply_to(struct message *request);
/* The same with a body of one word, an error number, and sent; the request is freed. */
void message_answer(struct message *request, int error);
#endif
