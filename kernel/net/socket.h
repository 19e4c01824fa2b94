/*
 * Stream sockets: the object of a descriptor, its two buffers, and, for a listening one, its queue. After 4.4BSD
 * (McKusick et al., chapter 11; Wright and Stevens, TCP/IP Illustrated 2, chapters 15 and 16), with a lock for each
 * socket (paper `mach`, 4.5).
 *
 * A buffer is a list of mbufs that holds so_cc bytes. A sender takes the turn `sending` first, a receiver `receiving`:
 * so bytes of two calls do not mix, and user mode's memory is read and written without a lock.
 *
 * Waiting: so_wait, until the next so_changed; both under the socket's lock, so that no change is missed.
 *
 * Life: a socket and its connection (struct tcpcb, tcp.h) are created and freed together, by the references that the
 * connection counts (in_pcb.h). A descriptor holds one, as does the queue of a listening socket.
 *
 * Locking: so_lock guards all of a socket that `policy.h` does not assign to the inpcb; wait_lock guards `changes` for
 * its sleepers. Calls reach the connection by inet_call, inet_send and inet_output (policy.h) only.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "file/file.h"
#include "lock/simple_lock.h"
#include "net/mbuf.h"
#include "net/policy.h"
#include "net/waiting.h"

#define SO_BUFFER 16384u    /* bytes that a buffer holds, unless an option changes it */
#define SO_BUFFER_LEAST 2048u
#define SO_BUFFER_MOST 262144u
#define SO_BACKLOG_MOST 128 /* connections waiting to be accepted */

struct sockbuf {
    struct mbuf_list packets;
    uint32_t cc, hiwat; /* bytes; never more than hiwat */
    uint32_t coming;    /* not yet appended (inet_send) */
};

/* A received urgent byte (MSG_OOB): announced, received, taken by MSG_OOB. It stays in the buffer, as a mark. */
enum so_urgent { URGENT_NONE, URGENT_ANNOUNCED, URGENT_THERE, URGENT_TAKEN };

/* Of so_state. */
#define SS_CONNECTING 1u
#define SS_CONNECTED 2u   /* has been connected; the next two say whether it still is */
#define SS_CANTSEND 4u    /* sending ended: shutdown, or the connection's end */
#define SS_CANTRECEIVE 8u /* receiving ended */
#define SS_NO_DESCRIPTOR 16u
#define SS_LISTENS 32u
#define SS_CLOSED 64u     /* a closed listening socket */
#define SS_LINGERS 128u   /* close waits until the peer has everything, */
#define SS_FLUSHED 256u   /* as it has, or the connection has ended */

struct tcpcb;

struct socket {
    struct so_mutex lock;
    struct tcpcb *tcb;
    uint32_t state;
    int error; /* of the connection, reported once: minus a number of <errno.h> */
    struct sockbuf snd, rcv;
    bool sending, receiving; /* a thread has the turn */
    bool no_delay, keep_alive, urgent_inline,
        reuse_address; /* TCP_NODELAY, SO_KEEPALIVE, SO_OOBINLINE, SO_REUSEADDR: only a listener reserves an address */
    struct so_limits limits;
    /* Urgent data: bytes of `snd` to the end of the last urgent one; whether the peer is to be told now; the last
     * received urgent byte, and how many bytes of `rcv` are before it. */
    uint32_t urgent_to;
    bool urgent_new;
    enum so_urgent urgent;
    uint32_t urgent_at;
    uint8_t urgent_byte;
    /* Of a listening socket: connections in order, and how many are being set up or wait. */
    STAILQ_HEAD(, socket) queue;
    uint32_t queued, backlog;
    STAILQ_ENTRY(socket) queue_link; /* of one in a queue */
    struct simple_lock wait_lock;
    uint32_t changes;
    struct so_handover handover; /* of policy.h */
};

/* With its connection, closed, and one reference; 0: out of memory. */
struct socket *so_create(void);
void so_destroy(struct socket *so); /* for in_pcb.c: without references */

/* Begins a call's waits, without a lock: `receives` or sends; waiting_end ends them. */
void so_waiting(struct socket *so, struct waiting *w, bool waits, bool receives);
/* Called with the socket's lock held, which is released while it waits. Returns as waiting_sleep. */
int so_wait(struct socket *so, struct waiting *w);
void so_changed(struct socket *so); /* with the lock held */

static inline void sb_init(struct sockbuf *sb)
{
    *sb = (struct sockbuf){.packets = STAILQ_HEAD_INITIALIZER(sb->packets), .hiwat = SO_BUFFER};
}

static inline uint32_t sb_space(const struct sockbuf *sb)
{
    return sb->hiwat - sb->cc - sb->coming;
}

/* All with the socket's lock held. sb_append consumes the packet, whose bytes from m_data on are added. */
void sb_append(struct sockbuf *sb, struct mbuf *m);
void sb_drop(struct sockbuf *sb, uint32_t bytes);
void sb_copy(const struct sockbuf *sb, uint32_t from, uint32_t bytes, uint8_t *to);
void sb_flush(struct sockbuf *sb);
/*
 * Without a lock: copies up to `most` bytes of the caller into a list of packets. `waits`: for memory, while it has
 * none, at most `ticks` (waiting.h). The list is shorter if memory is short or on an error, which is in *error; or 0.
 */
struct mbuf *sb_taken_in(struct transfer *t, uint32_t most, bool waits, uint32_t ticks, int *error);
/* To the data to be sent; consumes the chain. `urgent`: its last byte is. False: sending has ended. */
bool so_append(struct socket *so, struct mbuf *chain, bool urgent);
/* Urgent data (urgent.c), with the socket's lock held: is announced `after` bytes of the received ones; bytes came. */
void so_urgent(struct socket *so, uint32_t after);
void so_urgent_came(struct socket *so);
/* Received bytes up to the urgent one or, if that is next, behind it; *skip: 1 if it is next and not inline. */
uint32_t so_readable(const struct socket *so, uint32_t *skip);
void so_drop_received(struct socket *so, uint32_t bytes);
/* Receives the urgent byte: 1, 0 at the end, or -EINVAL: there is none, -EAGAIN: it has not arrived. */
int so_receive_urgent(struct socket *so, struct transfer *t, bool peek);

/*
 * Sends or receives bytes of the piece: returns how many, 0 at the end, or minus a number of <errno.h>. -EPIPE: the
 * caller is to get the signal. `waits`: for room, or for bytes; `urgent`: the last byte is; `peek`: received bytes
 * stay; `all`: receives until the piece is full.
 */
int so_send(struct socket *so, struct transfer *t, bool waits, bool urgent);
int so_receive(struct socket *so, struct transfer *t, bool waits, bool peek, bool all);

/* TCP's reports on the connection; each takes the socket's lock. */
void so_is_connected(struct socket *so);
void so_cannot_receive(struct socket *so); /* the peer has ended sending */
void so_is_disconnected(struct socket *so, int error);
void so_is_flushed(struct socket *so); /* the peer has acknowledged the end */

/* A connection of `listening` is ready to be accepted; false: that is closed. The queue takes over the reference. */
bool so_queue(struct socket *listening, struct socket *so);
bool so_reserve(struct socket *listening); /* reserves a place in the queue; false: full, or closed */
void so_unreserve(struct socket *listening);

/* Sets an option of so_option_bytes, or returns it; with the connection's lock held. -ENOPROTOOPT, -EINVAL. */
int so_option(struct socket *so, uint32_t level, uint32_t name, void *value, bool set);

extern const struct file_ops socket_ops;
#endif
