/*
 * How TCP/IP is locked, and which context does its work. The protocols are written once; a kernel of the network is
 * one file of policy/, which the build option `tcpip` names, behind this interface.
 *
 * Locks:
 *
 *   inet_enter, inet_leave    around all that a context does in the network: a system call, received packets, a round
 *                             of timers
 *   ip_lock, ip_unlock        around IP's own work on a packet; let go of before the packet goes up
 *   tcp_lock, tcp_unlock      around TCP's work on a received segment, with the look-up
 *   list_lock, list_unlock    a list of connections: insertion, removal; list_lock_shared: look-up
 *   references_lock, _unlock  around references_add, references_drop, which gives how many are left (in_pcb.h)
 *   pcb_lock, pcb_unlock      one connection: its inpcb and tcpcb (tcp.h)
 *   so_lock, so_unlock        one socket: its buffers, state and queue (socket.h)
 *
 * with the types of what they take, struct list_mutex, pcb_mutex, so_mutex; LIST_MUTEX, pcb_mutex_init, so_mutex_init
 * and _destroy; DEFINE_NET_CLASSES, once. What another one of them makes needless is nothing.
 *
 * Contexts: connections are divided into DATABASES, each with a list of its own; inet_database says which one has a
 * connection. What follows works where the caller runs (direct.h), or where the database's packets are worked off
 * (handed.h):
 *
 *   inet_call(so, fn, arg)    fn(so, arg), done when this returns: what a system call does with a connection
 *   inet_send(so, chain)      bytes that a user has written, a list of packets, go to the socket, and out as far as
 *                             they may
 *   inet_output(so)           bytes have been read: the window may have to be said again
 *   inet_receive(m)           a packet with its IP header, at most at SPL_NET; false: the caller takes it to ip_input
 *                             itself
 *   inet_round(fn, arg)       fn(database, arg) for each database: a round of timers
 *   inet_start, inet_rest     before the first packet comes; until what has come is worked off, from a thread
 *   inet_full()               packets that were dropped as too many waited
 *
 * Order: inpcb, then socket; a list's lock is taken last, and nothing is taken under it. No two inpcbs and no two
 * sockets are held at once. All are taken by threads only, and none is held while a thread sleeps for anything but
 * another one of them.
 */
#ifndef NET_POLICY_H
#define NET_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct socket;
struct mbuf;

typedef int inet_fn(struct socket *so, void *arg);
int inet_call(struct socket *so, inet_fn *fn, void *arg);
int inet_send(struct socket *so, struct mbuf *chain); /* consumes it. -EPIPE: nothing is sent any more; -ENOBUFS */
void inet_output(struct socket *so);
void inet_round(void (*fn)(unsigned database, void *arg), void *arg);

#include TCPIP_FILE

#endif
