/*
 * How TCP/IP is locked. The protocols are written once; a kernel of the network is one file of policy/, which the build option
 * `tcpip` names, behind this interface:
 *
 *   inet_enter, inet_leave    around all that a context does in the network: a system call, a received packet, a round of timers
 *   list_lock, list_unlock    the list of connections: look-up, insertion, removal, and the references of an inpcb (in_pcb.h)
 *   pcb_lock, pcb_unlock      one connection: its inpcb and tcpcb (tcp.h)
 *   so_lock, so_unlock        one socket: its buffers, state and queue (socket.h)
 *
 * and the types of what they take: struct list_mutex, pcb_mutex, so_mutex, with pcb_mutex_init, so_mutex_init and their
 * _destroy. Where the policy has inet_enter keep all others out, these are nothing.
 *
 * Order: inpcb, then socket; the list's lock is taken last, and nothing is taken under it. No two inpcbs and no two sockets are held
 * at once. All are taken by threads only, and none is held while a thread sleeps for anything but another one of them.
 */
#ifndef NET_POLICY_H
#define NET_POLICY_H

#include TCPIP_FILE

#endif
