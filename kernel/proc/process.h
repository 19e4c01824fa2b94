/*
 * Processes, as 4.3BSD programs expect them (README.md here has the calls): a task, that is an address space (space.h)
 * and a table of descriptors (file/descriptors.h), with one or more threads, its place among the other processes, and
 * what signals do to it (signal.h). Each of its threads is a thread of the kernel (sched/sched.h) that runs mostly in
 * user mode and enters the kernel through user_trap (arch/trap.S).
 *
 * A process ends when it exits, a signal ends it, or its last thread ends. Then all its threads end, each on its return
 * to user mode or from a sleep; the last one frees the memory and the files, and the process is a zombie until its
 * parent has waited for it. The children of an ended process become children of init, which is the kernel, with id 1:
 * runs wait for them (user_run).
 *
 * A request to a thread - to end, to stop, to handle a signal - sets the thread's `attention` (sched/sched.h), which
 * ends interruptible sleeps and is checked on each return to user mode; a hart that runs the thread in user mode is
 * called. So code that sets it under user_lock and makes that call need not know where the thread is.
 *
 * Errors are minus a number of <errno.h>, as everywhere in the kernel; an id is positive.
 *
 * Processes and threads come from zones (mem/zone.h): memory limits how many there are.
 *
 * Locking: user_lock guards the lists of threads and children, signals, and waits (futex.c). It is a simple lock at
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

/* The source of a struct user_siginfo. */
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
    SLIST_ENTRY(process) all;     /* of all not waited for yet */
    int group, session;
    int bound;              /* the hart its threads run on, or ANY_HART; inherited */
    struct space *space;
    struct vm_map *map;     /* of its space: used on each return to user mode and in each call */
    struct descriptors *descriptors;
    struct ipc_space *ports; /* names of its rights, and its port; 0 until it uses ipc/ */
    struct task *task;
    struct lock where; /* of the next two: references, or null for the root of all */
    struct vnode *cwd, *root;
    uint16_t umask;
    struct user_thread_list threads; /* alive */
    unsigned alive, unjoined; /* threads that have not ended; not joined yet */
    struct user_thread *lone; /* the thread in execve: all others end */
    struct user_thread *lender; /* the parent's thread, which waits until this process leaves its space (vfork) */
    struct user_rlimit limit[USER_RLIMITS]; /* limits.h */
    volatile bool ending;   /* its threads do not return to user mode */
    bool ended;             /* no thread is alive */
    bool stopped;           /* its threads do not until it is continued */
    bool stop_is_news;      /* wait4 has not reported it yet; */
    bool going_on_is_news;  /* nor that it was continued */
    bool has_execed;
    int status;             /* as wait4 returns it */
    /* signals (signal.c) */
    struct user_sigaction action[USER_SIGNALS];
    uint32_t trampoline, pending;
    struct signal_info info[USER_SIGNALS]; /* of the pending ones */
    struct timeout alarm;
    uint64_t alarm_interval,
        alarm_more; /* clock ticks; those left after the pending timeout, which may cover only a part */
    uint32_t alarm_due;                  /* 0: not running */
    struct {
        uint64_t left, interval; /* clock ticks of its threads; 0: not running */
    } timer[2];                  /* ITIMER_VIRTUAL: those in user mode; ITIMER_PROF: all */
    LIST_HEAD(, process_timer) timers; /* timers.c */
    uint32_t cpu_left; /* clock ticks of its threads until limits_charge checks the limit; 0: none */
    /* clock ticks of ended threads, and of children that were waited for */
    uint32_t user_ticks, ticks, children_user_ticks, children_ticks;
};

struct user_thread {
    int id;
    struct process *process;
    struct thread *thread;
    struct frame *frame;         /* where it entered the kernel; on its stack */
    struct frame first;          /* its initial registers */
    /* In the list of its process's live threads, or of ended ones that are not joined yet. */
    SLIST_ENTRY(user_thread) sibling;
    uint32_t user_ticks;
    uint32_t charged_user, charged; /* the clock ticks charged to its process's timers */
    bool lends;                  /* a child runs on its stack, in its space (vfork): meanwhile no handler runs */
    /* signals (signal.c) */
    uint32_t mask, pending;
    uint32_t mask_before;        /* of sigsuspend */
    bool suspended, on_stack;
    struct user_stack stack;
    uint32_t trapped;            /* bit of a trap's signal, which is taken before any other; its info: */
    struct signal_info trap;     /* the trap's; and a process-wide signal that this thread has claimed: */
    uint32_t claimed;
    struct signal_info claim;
    uint32_t awaited;            /* signals that it waits for (sigtimedwait), though masked */
    bool cancelled; /* thread_cancel: calls with USER_CANCELS end at once; */
    bool cancels;   /* the current call is such a call */
    bool restarts, restarts_unless_handled; /* the call that returns was interrupted */
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

/* The running thread, which belongs to a process. */
static inline struct user_thread *user_self(void)
{
    return curhart->thread->user;
}

/*
 * Start the program `name` as a child of `parent` (0: of the kernel), with its descriptors, or the console as 0, 1 and
 * 2. Its id, or -ENOENT: there is no such program; -ENOEXEC; -E2BIG; -ENOMEM; -EAGAIN: the kernel has no thread
 * left.
 */
int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound);

/* The same with a file of `size` bytes at `file`. */
int process_start(struct process *parent, const char *name, const void *file, uint32_t size,
                  const struct arguments *arguments, int bound);

/*
 * Creates a child with a copy of the calling thread. Its id, or -ENOMEM, -EAGAIN. `borrows`: it shares the space, and
 * this thread waits until the child has left it (vfork); if this thread is to end, sooner: the child continues.
 */
int process_fork(bool borrows);

/*
 * The calling thread executes another program, alone. The value for a0, or an error as process_spawn: then nothing has
 * changed.
 */
int process_exec(const char *name, const struct arguments *arguments);

struct user_rusage;

#define NOT_ENDED 0x80000000 /* an option: no child that has ended */

/*
 * Wait for a child of `parent` that `which` names, as wait4: above 0 its id; -1 any; 0 of the parent's group; below -1
 * of group -which. Returns its id; 0: none has a status to report, with WNOHANG; -ECHILD; -ERESTART if a signal comes
 * first. `usage` may be 0.
 */
int process_wait(struct process *parent, int which, int options, int *status, struct user_rusage *usage);

/* Converts a status of wait4 to code and status of a struct user_siginfo. */
struct signal_info process_status_info(int id, int status);

/* Creates another thread of the process; its id, or -ENOMEM, -EAGAIN. */
int process_add_thread(struct process *p, uint32_t pc, uint32_t sp, uint32_t argument);

/* Ends the process: the first status counts. The calling thread, if one of its, ends on its return to user mode. */
void process_end(struct process *p, int status);
void process_end_locked(struct process *p, int status); /* with user_lock held */

/* With user_lock held: makes the thread check its requests, wherever it is. */
void user_thread_attend(struct user_thread *t);
void process_attend(struct process *p); /* all of its threads */

/* With user_lock held: wakes the threads that wait for it; its status is as wait4 would return it. */
void process_news(struct process *child);

/* Ends the calling thread, of a process. */
_Noreturn void user_thread_end(void);

/* The process with that id that has not been waited for, or 0. With user_lock held. */
struct process *process_find(int id);

/* Whether the session has a process of that group. With user_lock held. */
bool process_group_exists(int group, int session);

/* Clock ticks of all its threads, in user mode and in total. With user_lock held. */
void process_ticks(const struct process *p, uint32_t *user, uint32_t *all);

/* As times of a struct user_rusage. */
void usage_of(uint32_t user, uint32_t all, struct user_rusage *usage);

/* Where its paths begin, with a reference, or null: at its root. */
struct vnode *process_directory(struct process *p);

/* Changes its directory to `vp`; `root`: its root, too. Takes over the reference. 0 or -ENOTDIR. */
int process_change_directory(struct process *p, struct vnode *vp, bool root);

/*
 * A process of the kernel with a space but no thread yet, for a task that begins on another node: it cannot be
 * found. It begins with a first thread, or is dropped. 0: out of memory. On success, takes over the reference to the
 * space.
 */
struct process *process_shell(const char *name, struct space *space);
int process_shell_begin(struct process *p, const struct user_start *start); /* its id; -EAGAIN: unchanged */
void process_shell_drop(struct process *p);

/* Called when a process ends, before its memory is freed; set by the code that sets its `ports` or `task`. */
extern void (*process_ends)(struct process *p);

/*
 * Whether no process and no thread of one is left: runs check it at their end. Panics if memory of programs is left.
 */
bool process_none_left(void);

/* trap.S: a thread's first entry to user mode; interrupts are off on chip. */
_Noreturn void user_enter(struct frame *frame);

/*
 * Called before a thread enters or returns to user mode: returns with interrupts off on chip, or not at all if the
 * process is ending.
 */
void user_leave_kernel(void);

void user_init(void); /* hart 0 */
#endif
