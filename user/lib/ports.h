/*
 * Ports, messages and tasks on other nodes (user/abi.h, kernel/ipc/port.h). All return 0, or what their comment says,
 * or minus an error number.
 */
#ifndef USER_LIB_PORTS_H
#define USER_LIB_PORTS_H

#include <stdint.h>

#include "user/abi.h"

int port_allocate(void);          /* a name, with the receive right */
int port_deallocate(uint32_t name);
int port_set_allocate(void);      /* a name to receive from any member */
int port_member(uint32_t name, uint32_t set); /* in that set alone, 0: in none */
int port_notify(uint32_t name, uint32_t what, uint32_t notify); /* USER_NOTIFY_*: once, to that receive right */
int task_self(void);              /* names for send rights */
int bootstrap_port(void);
int set_bootstrap_port(uint32_t name);
uint32_t node_self(void), node_total(void);

int message_send(struct user_message *m, uint32_t ms);
int message_receive(struct user_message *m, uint32_t from, uint32_t ms);

/*
 * Sends `m` to `to`, and waits for the answer, which replaces it. Its error, or the answer's (its first word).
 */
int message_call(struct user_message *m, uint32_t to, uint32_t ms);

/* The cost of creating one: cycles in all, until it existed, until its memory did; regions, memory objects. */
struct created {
    uint32_t cycles, allocate, vector, regions, objects;
};

/* A child of `task` on that node, with its memory by copy: a name for a right to it. `steps`: kernel/task/task.h. */
int task_create(uint32_t task, uint32_t node, uint32_t steps, struct created *what);
/*
 * A child of `task` on each of `count` nodes from `first` on, in which fn(its node) runs on that stack; `fanout` of
 * them make the others, 0: all are made from here.
 */
int task_spread(uint32_t task, uint32_t first, uint32_t count, uint32_t steps, uint32_t fanout, void (*fn)(uint32_t),
                void *stack, struct created *what);
/*
 * The memory of a task, on any node, by its port: Mach's calls (user/abi.h, USER_VM_*). task_vm_read copies the bytes
 * to `to`; both copy at most 64 KB.
 */
int task_vm_read(uint32_t task, uint32_t address, uint32_t size, void *to);
int task_vm_write(uint32_t task, uint32_t address, const void *from, uint32_t size);
int task_vm_region(uint32_t task, uint32_t address, struct user_region *region);
int task_vm_allocate(uint32_t task, uint32_t *address, uint32_t size, int anywhere);
int task_vm_deallocate(uint32_t task, uint32_t address, uint32_t size);
int task_vm_protect(uint32_t task, uint32_t address, uint32_t size, int maximum, uint32_t rights);
int task_vm_inherit(uint32_t task, uint32_t address, uint32_t size, uint32_t inherit);
int task_vm_copy(uint32_t task, uint32_t from, uint32_t size, uint32_t to);

/* Runs fn(arg) in the task, on the stack that ends at `stack`; it ends by exit. */
int task_run(uint32_t task, void (*fn)(uint32_t), uint32_t arg, void *stack);
#endif
