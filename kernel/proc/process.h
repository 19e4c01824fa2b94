/*
 * Processes, as 4.3BSD programs expect them (README.md here has the calls): a task, that is an address space (space.h)
 * and a table of descriptors (file/descriptors.h), with one or more threads, its place among the other processes, and
 * what signals do to it (signal.h). Each of its threads is a thread of the kernel (sched/sched.h) that spends most of
 * its life in user mode and comes back through user_trap (arch/trap.S).
 *
 * A process ends when it exits, a signal ends it, or its last thread ends. Then all its threads end, each on its own
 * way back to user mode or out of a sleep; the last gives the memory and the files back, and the process is a zombie
 * until its parent has waited for it. The children of a process that has ended are those of init, which is the kernel,
 * with id 1: runs wait for them (user_run).
 *
 * Whatever the process wants of a thread - to end, to stop, to handle a signal - it says by the thread's `attention`
 * (sched/sched.h), which ends interruptible sleeps and is looked at on each way to user mode; a hart that runs the
 * thread in user mode is called. So who sets it under user_lock and makes that call need not know where the thread is.
 *
 * Errors are minus a number of <errno.h>, as everywhere in the kernel; an id is positive.
 *
 * Processes and threads come from zones (mem/zone.h): memory limits how many there are.
 *
 * Locking: user_lock guards who is whose thread and child, signals, and what waits (futex.c). It is a simple lock at
 * SPL_SOFTCLOCK, because timeouts take it.
 */
#ifndef USER_PROCESS_H
#define USER_PROCESS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "arch/frame.h"
#include "lock/lock.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "proc/space.h"

#define INIT_ID 1 /* the kernel */

struct descriptors;
struct ipc_space;
struct process_timer;
struct task;
struct vnode;

/* What struct user_siginfo is made of. */
struct signal_info {
    int32_t code, sender;
    uint32_t value; /* sigqueue's; a child's status; the address of a trap */
};

SLIST_HEAD(process_list, process);
SLIST_HEAD(user_thread_list, user_thread);

struct process {
    int id;
    char name[USER_NAME_SIZE];
    struct process *parent; /* 0: init, the kernel */
    struct process_list children;
    SLIST_ENTRY(process) sibling; /* of its parent's children */
    SLIST_ENTRY(process) all;     /* of all that are not waited for */
    int group, session;
    int bound;              /* the hart its threads run on, or ANY_HART; children take it over */
    struct space *space;
    struct vm_map *map;     /* of its space: for each way to user mode and each call */
    struct descriptors *descriptors;
    struct ipc_space *ports; /* names of its rights, and its own port: with ipc/, once it has used any */
    struct task *task;
    struct lock where; /* of the next two: references, or null for the root of all */
    struct vnode *cwd, *root;
    uint16_t umask;
    struct user_thread_list threads; /* alive */
    unsigned alive, unjoined; /* threads that have not ended; those that are not joined yet */
    struct user_thread *lone; /* the one that is in execve: all others end */
    struct user_thread *lender; /* of the parent, which waits until this one has left its space (vfork) */
    struct user_rlimit limit[USER_RLIMITS]; /* limits.h */
    volatile bool ending;   /* its threads do not go back to user mode */
    bool ended;             /* none is alive */
    bool stopped;           /* they do not before it is continued */
    bool stop_is_news;      /* wait4 has not told it yet; */
    bool going_on_is_news;  /* nor that it goes on */
    bool has_execed;
    int status;             /* as wait4 gives it */
    /* signals (signal.c) */
    struct user_sigaction action[USER_SIGNALS];
    uint32_t trampoline, pending;
    struct signal_info info[USER_SIGNALS]; /* of those that are pending */
    struct timeout alarm;
    uint64_t alarm_interval,
        alarm_more; /* clock ticks; those left when the timeout comes that is set, which is for a part */
    uint32_t alarm_due;                  /* 0: it does not run */
    struct {
        uint64_t left, interval; /* clock ticks of its threads; 0: it does not run */
    } timer[2];                  /* ITIMER_VIRTUAL: those in user mode; ITIMER_PROF: all */
    LIST_HEAD(, process_timer) timers; /* timers.c */
    uint32_t cpu_left; /* clock ticks of its threads until its limit to them is looked at; 0: it has none */
    /* clock ticks of threads that have ended, and of children that were waited for */
    uint32_t user_ticks, ticks, children_user_ticks, children_ticks;
};

struct user_thread {
    int id;
    struct process *process;
    struct thread *thread;
    struct frame *frame;         /* where it entered the kernel; on its stack */
    struct frame first;          /* with which it starts */
    /* Of those alive in its process; or of those that have ended and are not joined yet. */
    SLIST_ENTRY(user_thread) sibling;
    uint32_t user_ticks;
    uint32_t charged_user, charged; /* of its clock ticks, to its process's timers */
    bool lends;                  /* a child runs on its stack, in its space (vfork): it takes no handler meanwhile */
    /* signals (signal.c) */
    uint32_t mask, pending;
    uint32_t mask_before;        /* of sigsuspend */
    bool suspended, on_stack;
    struct user_stack stack;
    uint32_t trapped;            /* bit of the signal of a trap: it takes that before any other; what it is: */
    struct signal_info trap;     /* its; and of one of the process's that it has taken for itself: */
    uint32_t claimed;
    struct signal_info claim;
    uint32_t awaited;            /* signals that it waits for (sigtimedwait), masked as they are */
    bool cancelled; /* thread_cancel: calls with USER_CANCELS are over; */
    bool cancels;   /* the one that is under way is such a call */
    bool restarts, restarts_unless_handled; /* the call it returns from was interrupted */
    uint32_t restart_a0;
    /* waiting (proc/futex.c) */
    TAILQ_ENTRY(user_thread) sleeping;
    uint32_t word;           /* user address of the futex, in */
    const struct space *waits_in;
    bool woken;
};

struct user_hart {
    uint32_t system_calls; /* made by threads of processes */
};

HART_PART_OF(user)

extern struct simple_lock user_lock;
extern struct process_list processes; /* by `all` */

/* The thread that runs, which is of a process. */
static inline struct user_thread *user_self(void)
{
    return curhart->thread->user;
}

/*
 * Start the program `name` as a child of `parent` (0: of the kernel), with its descriptors, or the console as 0, 1 and
 * 2. Gives its id, or -ENOENT: there is no such program; -ENOEXEC; -E2BIG; -ENOMEM; -EAGAIN: the kernel has no thread
 * left.
 */
int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound);

/* The same with a file of `size` bytes at `file`. */
int process_start(struct process *parent, const char *name, const void *file, uint32_t size,
                  const struct arguments *arguments, int bound);

/*
 * A child as the calling thread is. Its id, or -ENOMEM, -EAGAIN. `borrows`: it has the same space, and this thread
 * waits until the child has left that (vfork). The wait ends sooner if this thread is to end; the child goes on then.
 */
int process_fork(bool borrows);

/*
 * The calling thread goes on with another program, alone. What a0 is to be, or as process_spawn: then nothing has
 * changed.
 */
int process_exec(const char *name, const struct arguments *arguments);

struct user_rusage;

#define NOT_ENDED 0x80000000 /* of the options: not one that has ended */

/*
 * Wait for a child of `parent` that `which` names, as wait4: above 0 its id; -1 any; 0 of the parent's group; below -1
 * of group -which. Its id; 0: none has anything to tell, with WNOHANG; -ECHILD; -ERESTART if a signal comes first.
 * `usage` may be 0.
 */
int process_wait(struct process *parent, int which, int options, int *status, struct user_rusage *usage);

/* A status as wait4 gives it as code and status of a struct user_siginfo. */
struct signal_info process_status_info(int id, int status);

/* Another thread of the process; its id, or -ENOMEM, -EAGAIN. */
int process_add_thread(struct process *p, uint32_t pc, uint32_t sp, uint32_t argument);

/* The process shall end: the first status counts. The calling thread, if it is of it, ends on its way to user mode. */
void process_end(struct process *p, int status);
void process_end_locked(struct process *p, int status); /* with user_lock */

/* With user_lock: the thread looks what its process wants of it, wherever it is. */
void user_thread_attend(struct user_thread *t);
void process_attend(struct process *p); /* all of its threads */

/* With user_lock: there is something to tell of it to who waits for it; its status is as wait4 would give it. */
void process_news(struct process *child);

/* The calling thread of a process ends here. */
_Noreturn void user_thread_end(void);

/* The process of that id that has not been waited for, or 0. With user_lock. */
struct process *process_find(int id);

/* Whether there is a process of that group in the session. With user_lock. */
bool process_group_exists(int group, int session);

/* Clock ticks of all its threads, in user mode and together. With user_lock. */
void process_ticks(const struct process *p, uint32_t *user, uint32_t *all);

/* As times of a struct user_rusage. */
void usage_of(uint32_t user, uint32_t all, struct user_rusage *usage);

/* Where its paths begin, with a reference, or null: at its root. */
struct vnode *process_directory(struct process *p);

/* It is `vp` from now on; `root`: its root, too. Takes the reference over. 0 or -ENOTDIR. */
int process_change_directory(struct process *p, struct vnode *vp, bool root);

/*
 * A process of the kernel's that has memory already and no thread yet, for what begins on another node: nobody else
 * finds it. It begins with a first thread, or ends. 0: memory is out. The space's reference is taken over, if it
 * succeeds.
 */
struct process *process_shell(const char *name, struct space *space);
int process_shell_begin(struct process *p, const struct user_start *start); /* its id; -EAGAIN: it is as before */
void process_shell_drop(struct process *p);

/* Called when a process ends, before its memory goes; filled in by who has hung `ports` or `task` into it. */
extern void (*process_ends)(struct process *p);

/*
 * Whether no process and no thread of one is left: what runs check when they are done. Panics if memory of programs is.
 */
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
