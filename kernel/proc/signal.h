/*
 * Signals, as 4.3BSD has them, with POSIX's sigaction. A signal is pending for a process, or for one of its threads,
 * until a thread that does not mask it takes it on its way to user mode: so all that happens to a thread happens there,
 * and never in the middle of a call. A process-wide one goes to the first thread that does not mask it. SIGKILL and
 * SIGCONT act when they are sent.
 *
 * A handler runs on the thread's user stack, or the one of sigaltstack, on a struct user_sigframe. What sigreturn takes
 * from that is registers of user mode and a mask: a program that makes one up can do with it what it could do anyway.
 *
 * A call that a signal interrupts gives -ERESTART: it is made again if no handler runs, or one with SA_RESTART, else it
 * is -EINTR. Those that wait for a signal, or for a time, are not made again after a handler (-ERESTART_UNLESS_HANDLED,
 * -EINTR). A wait for a time (sched/limit.h) stops and goes on where it is, so that its time runs on, and ends for a
 * handler alone; so does vfork's, which handlers wait for.
 *
 * Locking: user_lock.
 */
#ifndef USER_SIGNAL_H
#define USER_SIGNAL_H

#include "proc/process.h"

#define SIGNAL_BIT(signal) (1u << (signal))
#define SIGNALS_UNMASKED (SIGNAL_BIT(USER_SIGKILL) | SIGNAL_BIT(USER_SIGSTOP))

/* Send one, with user_lock; `info` 0: it is the kernel that sends it. A process that ends, or has, does not notice. */
void signal_send(struct process *p, int signal, const struct signal_info *info);
void signal_send_thread(struct user_thread *t, int signal);

/* To all of a group, or all that there are (0), but `except`. Gives how many. With user_lock. */
int signal_send_group(int group, int signal, const struct process *except, const struct signal_info *info);

/*
 * Thread `self` ends or masks `which` from now on, with user_lock. Those of them that wait for a thread of the process
 * may have been meant for this one: another that does not mask them looks.
 */
void signals_pass_on(struct process *p, const struct user_thread *self, uint32_t which);

/* The calling thread masks these, and no others. With user_lock. */
void signals_mask(struct user_thread *self, uint32_t mask);

/*
 * The calling thread's wait was interrupted: does what needs no handler. Whether the wait is to be left, for a handler,
 * or because the thread is to end. With user_lock, which is let go while the process is stopped.
 */
bool signals_end_wait(struct user_thread *self);

/* The calling thread has trapped: its handler is to run, or the process ends. Whether the former. */
bool signal_trap(int signal, int code, uint32_t address);

/* On the way to user mode, `attention` is set: do what is wanted, or do not return. Interrupts on. */
void signals_attend(void);

/* The call that is under way was interrupted: `result` is -ERESTART or -ERESTART_UNLESS_HANDLED; a0 was `a0`. */
void signals_call_interrupted(int result, uint32_t a0);

/* execve: handlers are gone, ignored ones stay ignored. A new process has what its parent has. With user_lock. */
void signals_exec(struct process *p, struct user_thread *self);
void signals_fork(struct process *child, struct user_thread *thread, const struct user_thread *parent);

/* Whether something hangs on the time that its threads run, which they are told when it changes. With user_lock. */
bool signals_are_timed(const struct process *p);
void signals_time(struct process *p);

/* No alarm of the process will come any more. From a thread, without locks. */
void signals_end(struct process *p);

/*
 * The parent is told of a child's status, as wait4 gives it. With user_lock. Whether it does not want to wait for those
 * that ended.
 */
bool signals_child(struct process *child, int status);

void signals_init(void);
#endif
