/* One lock for the list of connections, their references and each of them: the policy's tcp_lock and tcp_unlock. */
#ifndef NET_ONE_LOCK_H
#define NET_ONE_LOCK_H

#define list_lock(m) ((void)(m), tcp_lock())
#define list_lock_shared(m) ((void)(m), tcp_lock())
#define list_unlock(m) ((void)(m), tcp_unlock())
#define references_lock(m) ((void)(m), tcp_lock())
#define references_unlock(m) ((void)(m), tcp_unlock())
#define references_add(n) (++*(n))
#define references_drop(n) (--*(n))
#define pcb_lock(m) ((void)(m), tcp_lock())
#define pcb_unlock(m) ((void)(m), tcp_unlock())
#endif
