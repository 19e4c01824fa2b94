/*
 * Tasks that are created on other nodes (paper `crtc`, section 3). A task is a process with a port; the holder of a
 * right to it creates children of it, on any node, and starts threads in them. The child's memory is a copy of the
 * parent's: only its description is sent, and the pages are fetched by faults (xmm/xmm.h).
 *
 *   source node                                                   the child's node
 *   vm_map_fork: a snapshot of the parent's map
 *   HOST_TASK_ALLOCATE (name, break, bootstrap right)   --------> an empty task: its port     <---- reply
 *   TASK_MAP_VECTOR (regions, memory objects)           --------> for each object: import, the objects below it, INIT
 *                                                                 regions are entered         <---- reply
 *   the snapshot is released; the exports keep its objects
 *
 * **`ntc`**, the original. The vector has each region's object and the object that this shadows. The other node asks
 * the managing node for each object's state (GET_STATE), and registers with it (INIT); for each object further down
 * it also asks what that object shadows (GET_SHADOW). Each of these exchanges begins after the previous one has ended.
 *
 * **`crtc`**: the paper's changes, each selectable by itself (enum task_step). The vector contains the objects' states
 * (eager state), and the whole of each chain, with parts shared by several regions only once (eager chain); INIT is
 * sent but not waited for (no synchronisation).
 *
 * **Many at once** (section 4). USER_TASK_SPREAD creates a child on each of several nodes, by one message to each,
 * HOST_TASK_SPREAD, which combines all of the above: name, break, right, vector, and where the child's first thread
 * begins. All messages are sent, then all answers awaited. Flat, the source sends to every node. In a tree it
 * sends to as many as the fan-out says, and each of these, once its own child's memory exists, to its part of the
 * others, as the source of *its* child: so objects are exported and pages given by the node above (STEP_HIERARCHICAL),
 * which gets them from the node above it.
 *
 * **What a child has.** Memory that is inherited by copy, the position of its break, the name, and as its bootstrap
 * port that of its parent (task_set_bootstrap). No descriptors but the node's console, no threads: THREAD_CREATE starts
 * one.
 *
 * Locking: a task's mutex guards its process, which leaves the task when it ends, and its bootstrap right. It is taken
 * before vm/'s locks, and not held during a wait for another node, except to make its memory, before it has a thread.
 */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "ipc/port.h"
#include "proc/process.h"

enum task_step {
    STEP_EAGER_STATE = 1,
    STEP_EAGER_CHAIN = 2,
    STEP_NO_SYNC = 4,
    STEP_HIERARCHICAL = 8, /* proxies are exported again (xmm.h) */
    STEP_DISTRIBUTED = 16, /* not the paper's, but the original's: asymmetric copies with their sources (xmm.h) */
};
#define STEPS_ALL 31

/* Between kernels; the numbers for user mode are in user/abi.h. */
#define HOST_TASK_ALLOCATE 0x380 /* IPC_OF_KERNELS */
#define TASK_MAP_VECTOR 0x381
#define HOST_SHUTDOWN 0x382
#define HOST_TASK_SPREAD 0x383

struct task {
    struct lock lock;
    struct port *port;
    struct process *process; /* 0: it has ended */
    bool begun;              /* it has had a thread */
    struct port *bootstrap;  /* with a send right, or 0 */
};

/* What creating a task took, in cycles and numbers. */
struct task_report {
    uint32_t cycles, allocate, vector; /* in all; until the empty task existed; from then on */
    uint32_t regions, objects;
};

/* The task of a process, for a call from its thread; 0: memory is out. */
struct task *task_of(struct process *p);

/*
 * An empty task, with a send right to its port for the caller; 0: memory is out. Takes over the bootstrap right, if
 * there is one.
 */
struct port *task_allocate(const char *name, const struct user_break *brk, struct port *bootstrap);

/* Creates a child of `parent` on that node: a send right to its port. */
int task_create(struct task *parent, unsigned node, unsigned steps, struct port **child, struct task_report *report);
/* The same of memory that is no task's; the child has no name. */
int task_create_of(struct vm_map *memory, unsigned node, unsigned steps, struct port **child,
                   struct task_report *report);

/*
 * Starts children on `count` nodes from `first` on: `fanout` of them, or all if 0, from here, the others from these.
 */
struct spread {
    uint32_t first, count, steps, fanout, pc, sp;
};
int task_spread(struct task *parent, const struct spread *s, struct task_report *report);

/* Maps the memory of a task from a vector of another node (vector.c). Consumes the message. */
void task_map_vector(struct task *task, struct message *m);
int task_take_vector(struct task *task, struct message *m); /* the same, and the caller keeps the message */
/* Puts the vector of a snapshot into `m` as data, with rights to the ports of its objects. */
int task_make_vector(struct vm_map *snapshot, unsigned steps, struct message *m, struct task_report *report);

/* A message that may be a vector has come from another node: rights in it that are not taken are dropped with it. */
void task_data_arrived(struct message *m);
void task_memory_init(void); /* out-of-line memory leaves, and arrives, as a vector of one region */

/* Calls on the memory of a task, USER_VM_* (memory.c): consumes the message. False: it is no such call, and is kept. */
bool task_memory_message(struct task *task, struct message *m);

/* A request to shut the node down (HOST_SHUTDOWN): consumes the message. Set by the layer that runs the node. */
extern void (*task_host_shutdown)(struct message *m);

void tasks_init(void);
void tasks_end(void); /* no request comes any more */
uint32_t tasks_in_use(void);
#endif
