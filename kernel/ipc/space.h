/*
 * A task's names for its rights. A name is a number; a task's send and receive rights to one port have one name, a
 * send-once right has one of its own. A number is not reused before 2^31 others.
 *
 * Locking: a space's mutex guards its names, and is acquired before ports' locks. It is not held while a message waits.
 */
#ifndef IPC_SPACE_H
#define IPC_SPACE_H

#include "ipc/port.h"

struct ipc_space;

struct ipc_space *space_new(void); /* 0: memory is out */
void space_free(struct ipc_space *s); /* with all rights; no thread uses it any more */

/* A name for a right, which it takes over; 0: memory is out, and the caller keeps the right. */
uint32_t space_add(struct ipc_space *s, struct port *p, enum right_type type);
uint32_t space_add_receive(struct ipc_space *s, struct port *p); /* or a port set */

/* Drops all rights of the name. 0, or -EINVAL: no such name. */
int space_remove(struct ipc_space *s, uint32_t name);

/*
 * A right of the name, made as user/abi.h says (USER_RIGHT_*), for a message. 0; -EINVAL: no such name, or it has no
 * such right.
 */
int space_right(struct ipc_space *s, uint32_t name, uint32_t how, struct right *to);

/* The port whose receive right the name has, or the port set, with a reference; or 0. */
struct port *space_receiver(struct ipc_space *s, uint32_t name);
/* The port to which the name has any right, with a reference; or 0. */
struct port *space_port(struct ipc_space *s, uint32_t name);
uint32_t space_name_of_receiver(struct ipc_space *s, const struct port *p); /* 0: it is in another space by now */

/*
 * The space of the calling thread's process, made at its first use; set by the layer that has processes.
 * 0: memory is out.
 */
struct process;
extern struct ipc_space *(*space_of_caller)(struct process *p);
#endif
