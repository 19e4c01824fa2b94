/*
 * How TCP/IP is locked, and which context does its work. The protocols are written once; each kernel of the network is
 * one file of policy/, selected by the build option `tcpip`, behind this interface.
 *
 * Locks:
 *
 *   inet_enter, inet_leave    around all work of a context in the network: a system call, received packets, a round
 *                             of timers
 *   ip_lock, ip_unlock        around IP's own work on a packet; released before the packet goes up
 *   tcp_lock, tcp_unlock      around TCP's work on a received segment, with the look-up
 *   list_lock, list_unlock    a list of connections: insertion, removal; list_lock_shared: look-up
 *   references_lock, _unlock  around references_add, references_drop, which returns how many are left (in_pcb.h)
 *   pcb_lock, pcb_unlock      one connection: its inpcb and tcpcb (tcp.h)
 *   route_lock, route_unlock  the table of routes (route.h); route_lock_shared: look-up
 *   so_lock, so_unlock        one socket: its buffers, state and queue (socket.h)
 *
 * with the types of their arguments, struct list_mutex, pcb_mutex, so_mutex; LIST_MUTEX, pcb_mutex_init, so_mutex_init
 * and _destroy; DEFINE_NET_CLASSES and DEFINE_ROUTE_LOCK, once. Those that another one makes needless do nothing.
 *
 * Contexts: connections are divided into DATABASES, each with its own list; inet_database returns a connection's. The
 * following functions work where the caller runs (direct.h), or where the database's packets are processed
 * (handed.h):
 *
 *   inet_call(so, fn, arg)    fn(so, arg), done when this returns: a system call's work on a connection
 *   inet_send(so, chain, u)   appends written bytes, a list of packets, to the socket, and sends as many as it
 *                             may; `u`: the last byte is urgent
 *   inet_output(so)           bytes have been read: the window may have to be announced
 *   inet_receive(m)           a packet with its IP header, at most at SPL_NET; false: the caller takes it to ip_input
 *                             itself
 *   inet_round(fn, arg)       fn(database, arg) for each database: a round of timers
 *   inet_start, inet_rest     before the first packet comes; until received ones are processed, from a thread
 *   inet_full()               packets dropped because too many were waiting
 *
 * Order: inpcb, then socket; a list's lock and that of routes are taken last, and no lock is taken under them. No two
 * inpcbs and no two sockets are locked at once. Only threads take these locks, and a thread that holds one sleeps only
 * for another one of them.
 */
#ifndef NET_POLICY_H
#define NET_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct socket;
struct mbuf;

typedef int inet_fn(struct socket *so, void *arg);
int inet_call(struct socket *so, inet_fn *fn, void *arg);
/* Consumes the chain; `urgent`: its last byte is. -EPIPE: sending has been shut down; -ENOBUFS. */
int inet_send(struct socket *so, struct mbuf *chain, bool urgent);
void inet_output(struct socket *so);
void inet_round(void (*fn)(unsigned database, void *arg), void *arg);

#include TCPIP_FILE

#endif
