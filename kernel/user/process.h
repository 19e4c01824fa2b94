/*
 * Processes: a program of the image in an address space of its own, with one or more threads. Each is a thread of
 * the kernel (sched/sched.h) that spends most of its life in user mode and comes back through user_trap
 * (arch/trap.S).
 *
 * A process ends when it exits, a trap ends it, or its last thread ends. Then all its threads end, each on its own
 * way back to user mode or out of a sleep; the last gives the memory back, and whoever waits for the process gets
 * its status. The children of a process that has ended are the kernel's: runs wait for them (user_run).
 *
 * Errors are minus a number of <errno.h>, as everywhere in the kernel; an id is positive.
 *
 * Processes and threads come from zones (mem/zone.h); how many there are, memory and the kernel's own table of
 * threads limit.
 *
 * Locking: user_lock guards who is whose thread and child, and what waits (user/futex.c). It is a simple lock at
 * SPL_SOFTCLOCK, because timeouts take it. `memory` of a process, a mutex, guards its break.
 */
#ifndef USER_PROCESS_H
#define USER_PROCESS_H

#include <stdbool.h>

#include "arch/frame.h"
#include "lock/lock.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "user/program.h"

struct process {
    int id;
    char name[USER_NAME_SIZE];
    struct process *parent; /* 0: the kernel */
    struct process *children, *next; /* of its parent */
    int bound;              /* the hart its threads run on, or ANY_HART; children take it over */
    struct space space;
    struct lock memory;
    struct user_break brk;
    struct user_thread *threads; /* alive */
    unsigned alive, unjoined; /* threads that have not ended; those that are not joined yet */
    volatile bool ending;   /* its threads do not go back to user mode */
    bool ended;             /* none is alive */
    int status;             /* as SYS_WAIT gives it */
};

struct user_thread {
    int id;
    struct process *process;
    struct thread *thread;
    struct user_start start;
    struct user_thread *sibling; /* alive in its process; or of those that have ended and are not joined yet */
    /* waiting (user/futex.c) */
    struct user_thread *next;
    uint32_t word;           /* user address of the futex */
    bool woken, timed_out;
    struct timeout limit;
};

struct user_hart {
    uint32_t system_calls; /* made by threads of processes */
};

HART_PART_OF(user)

extern struct simple_lock user_lock;

/* The thread that runs, which is of a process. */
static inline struct user_thread *user_self(void)
{
    return curhart->thread->user;
}

/*
 * Start the program `name` as a child of `parent` (0: of the kernel). Gives its id, or -ENOENT: the image has
 * no such program; -ENOEXEC; -ENOMEM; -EAGAIN: the kernel has no thread left.
 */
int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound);

/* The same with a file of `size` bytes at `file`. */
int process_start(struct process *parent, const char *name, const void *file, uint32_t size,
                  const struct arguments *arguments, int bound);

/* Wait for a child of `parent` to end. Its id, or -ECHILD, or -EINTR if `parent` is ending. */
int process_wait(struct process *parent, int *status);

/* Another thread of the process; its id, or -ENOMEM, -EAGAIN. */
int process_add_thread(struct process *p, uint32_t pc, uint32_t sp, uint32_t argument);

/* The process shall end: the first status counts. The calling thread, if it is of it, ends on its way to user mode. */
void process_end(struct process *p, int status);

/* The calling thread of a process ends here. */
_Noreturn void user_thread_end(void);

/* Raise the break. The old one, or -EINVAL, -ENOMEM. */
int process_raise_break(struct process *p, int32_t bytes);

/* Whether no process and no thread of one is left: what runs check when they are done. */
bool process_none_left(void);

/* trap.S: the first time that a thread goes to user mode; interrupts are off on chip. */
_Noreturn void user_enter(struct frame *frame);

/*
 * Before a thread goes (back) to user mode: ends with interrupts off on chip, or does not return if the process is
 * ending.
 */
void user_leave_kernel(void);

void user_init(void); /* hart 0 */
#endif
