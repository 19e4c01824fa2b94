/*
 * Tasks that are created on other nodes (paper `crtc`, section 3). A task is a process with a port; what has a right to
 * that creates children of it, on any node, and starts threads in them. The child's memory is the parent's as it was,
 * by copy: nothing of it is sent but what describes it, pages come by faults (xmm/xmm.h).
 *
 *   source node                                                   the child's node
 *   vm_map_fork: a snapshot of the parent's map
 *   HOST_TASK_ALLOCATE (name, break, bootstrap right)   --------> an empty task: its port     <---- reply
 *   TASK_MAP_VECTOR (regions, memory objects)           --------> for each object: import, what lies below it, INIT
 *                                                                 regions are entered         <---- reply
 *   the snapshot goes; the exports keep its objects
 *
 * **`ntc`**, the original. The vector has each region's object and the one that this shadows. The other node asks the
 * managing one for each object's state (GET_STATE), and tells it that it is there (INIT); for each object further down
 * it asks what that is (GET_SHADOW), too. Each of these exchanges begins when the one before has ended.
 *
 * **`crtc`**: what the paper changes, each by itself (enum task_step). The vector says the objects' states (eager
 * state), and has all of each chain, what several regions share once (eager chain); INIT is sent and not waited for (no
 * synchronisation).
 *
 * **Many at once** (section 4). USER_TASK_SPREAD makes a child on each of several nodes, by one message to each,
 * HOST_TASK_SPREAD, which has all of the above in it: name, break, right, vector, and where the child's first thread
 * begins. The messages are sent to all, then all answers awaited. Flat, the source sends to every node. In a tree it
 * sends to as many as the fan-out says, and each of these, when its own child's memory is there, to its part of the
 * others, as the source of *its* child: so objects are exported and pages given by the node above (STEP_HIERARCHICAL),
 * which has them from the one above it.
 *
 * **What a child has.** Memory that is inherited by copy, the place of its break, the name, and as its bootstrap port
 * the one of its parent (task_set_bootstrap). No descriptors but the node's console, no threads: THREAD_CREATE starts
 * one.
 *
 * Locking: a task's mutex guards its process, which leaves the task when it ends, and its bootstrap right. It is taken
 * before vm/'s, and not held while another node is waited for, but while its memory is made, when it has no thread yet.
 */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "ipc/port.h"
#include "proc/process.h"

enum task_step {
    STEP_EAGER_STATE = 1,
    STEP_EAGER_CHAIN = 2,
    STEP_NO_SYNC = 4,
    STEP_HIERARCHICAL = 8, /* proxies are exported anew (xmm.h) */
    STEP_DISTRIBUTED = 16, /* not the paper's, but the original's: asymmetric copies with their sources (xmm.h) */
};
#define STEPS_ALL 31

/* Between kernels; those of user mode are in user/abi.h. */
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

/* What creating one took, in cycles and numbers. */
struct task_report {
    uint32_t cycles, allocate, vector; /* all; until the empty task was there; until its memory was */
    uint32_t regions, objects;
};

/* The task of a process, whose thread calls; 0: memory is out. */
struct task *task_of(struct process *p);

/*
 * An empty one, with a send right to its port for the caller; 0: memory is out. Takes the bootstrap right over, if
 * there is one.
 */
struct port *task_allocate(const char *name, const struct user_break *brk, struct port *bootstrap);

/* A child of `parent` on that node: a send right to its port. */
int task_create(struct task *parent, unsigned node, unsigned steps, struct port **child, struct task_report *report);

/*
 * Children on `count` nodes from `first` on, started; `fanout` of them, or all if 0, from here, the others from these.
 */
struct spread {
    uint32_t first, count, steps, fanout, pc, sp;
};
int task_spread(struct task *parent, const struct spread *s, struct task_report *report);

/* The memory of a task by a vector of another node (vector.c). Consumes the message. */
void task_map_vector(struct task *task, struct message *m);
int task_take_vector(struct task *task, struct message *m); /* the same, and the message stays the caller's */
/* The vector of a snapshot, as the data of `m`, with rights to the ports of its objects. */
int task_make_vector(struct vm_map *snapshot, unsigned steps, struct message *m, struct task_report *report);

/* A message that may be a vector has come from another node: its rights go with it if nobody takes them. */
void task_data_arrived(struct message *m);

/* Calls on the memory of a task, USER_VM_* (memory.c): consumes the message. False: it is none of them, and stays. */
bool task_memory_message(struct task *task, struct message *m);

/* A node's end is asked for (HOST_SHUTDOWN): consumes the message. Filled in by what runs the node. */
extern void (*task_host_shutdown)(struct message *m);

void tasks_init(void);
void tasks_end(void); /* nothing is asked for any more */
uint32_t tasks_in_use(void);
#endif
