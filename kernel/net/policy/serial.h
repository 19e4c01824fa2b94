/*
 * tcpip=serial: Mach/0.2 (paper `mach`, sections 1 and 4.7). All of the network runs on the master, one thread at a
 * time, until it sleeps (sched/master.h): system calls on sockets, received packets, timers. There is no lock.
 */
#ifndef NET_POLICY_SERIAL_H
#define NET_POLICY_SERIAL_H

#include "net/direct.h"
#include "net/no_locks.h"
#include "sched/master.h"

#define inet_enter() unix_master()
#define inet_leave() unix_release()
#define ip_lock() ((void)0)
#define ip_unlock() ((void)0)
#define tcp_lock() ((void)0)
#define tcp_unlock() ((void)0)

#define DEFINE_ROUTE_LOCK struct route
#define route_lock() ((void)0)
#define route_lock_shared() ((void)0)
#define route_unlock() ((void)0)

struct so_mutex {};
#define so_mutex_init(m) ((void)(m))
#define so_mutex_destroy(m) ((void)(m))
#define so_lock(m) ((void)(m))
#define so_unlock(m) ((void)(m))
#endif
