/*
 * tcpip=serial: Mach/0.2 (paper `mach`, sections 1 and 4.7). All of the network runs on the master, one thread at a time, until it
 * sleeps (sched/master.h): system calls on sockets, received packets, timers. There is no lock.
 */
#ifndef NET_POLICY_SERIAL_H
#define NET_POLICY_SERIAL_H

#include "sched/master.h"

struct list_mutex {};
struct pcb_mutex {};
struct so_mutex {};

#define DEFINE_LIST_MUTEX(id, name) static struct list_mutex id
#define DEFINE_NET_CLASSES struct pcb_mutex
#define pcb_mutex_init(m) ((void)(m))
#define pcb_mutex_destroy(m) ((void)(m))
#define so_mutex_init(m) ((void)(m))
#define so_mutex_destroy(m) ((void)(m))

#define inet_enter() unix_master()
#define inet_leave() unix_release()

#define list_lock(m) ((void)(m))
#define list_unlock(m) ((void)(m))
#define pcb_lock(m) ((void)(m))
#define pcb_unlock(m) ((void)(m))
#define so_lock(m) ((void)(m))
#define so_unlock(m) ((void)(m))
#endif
