/*
 * Signals, as 4.3BSD has them, with POSIX's sigaction. A signal is pending for a process, or for one of its threads,
 * until a thread that does not mask it takes it on its way to user mode: so signals act on a thread only there, and
 * never in the middle of a call. A process-wide one goes to the first thread that does not mask it. SIGKILL and SIGCONT
 * act when they are sent.
 *
 * A handler runs on the thread's user stack, or the one of sigaltstack, on a struct user_sigframe. sigreturn takes
 * registers of user mode and a mask from it: a program that forges one gains nothing.
 *
 * A call that a signal interrupts returns -ERESTART: it is restarted if no handler runs, or one with SA_RESTART, else
 * it returns -EINTR. Calls that wait for a signal, or for a time, are not restarted after a handler
 * (-ERESTART_UNLESS_HANDLED, -EINTR). A wait for a time (sched/limit.h) is stopped and continued in place, so that its
 * time runs on, and ends only for a handler; so is vfork's wait, which delays handlers.
 *
 * Locking: user_lock.
 */
#ifndef USER_SIGNAL_H
#define USER_SIGNAL_H

#include "proc/process.h"

#define SIGNAL_BIT(signal) (1u << (signal))
#define SIGNALS_UNMASKED (SIGNAL_BIT(USER_SIGKILL) | SIGNAL_BIT(USER_SIGSTOP))

/* Send a signal, with user_lock held; `info` 0: from the kernel. No effect on a process that is ending or has ended. */
void signal_send(struct process *p, int signal, const struct signal_info *info);
void signal_send_thread(struct user_thread *t, int signal);

/* Send to all processes of a group, or to all (0), but `except`. Returns how many. With user_lock held. */
int signal_send_group(int group, int signal, const struct process *except, const struct signal_info *info);

/*
 * Thread `self` ends or masks `which` from now on, with user_lock held. Process-wide ones among them may have been
 * assigned to this thread: another one that does not mask them takes them.
 */
void signals_pass_on(struct process *p, const struct user_thread *self, uint32_t which);

/* The calling thread masks these, and no others. With user_lock held. */
void signals_mask(struct user_thread *self, uint32_t mask);

/*
 * The calling thread's wait was interrupted: performs what needs no handler. Returns whether the wait ends, for a
 * handler, or because the thread is to end. With user_lock held, which is released while the process is stopped.
 */
bool signals_end_wait(struct user_thread *self);

/* The calling thread has trapped: makes its handler run (true), or ends the process. */
bool signal_trap(int signal, int code, uint32_t address);

/* On the return to user mode, with `attention` set: serves its requests, or does not return. Interrupts on. */
void signals_attend(void);

/* The current call was interrupted: `result` is -ERESTART or -ERESTART_UNLESS_HANDLED; a0 was `a0`. */
void signals_call_interrupted(int result, uint32_t a0);

/* execve: resets handlers, keeps ignored signals. (A new process inherits its parent's.) With user_lock held. */
void signals_exec(struct process *p, struct user_thread *self);
void signals_fork(struct process *child, struct user_thread *thread, const struct user_thread *parent);

/* Whether timers or limits count its threads' time; the threads are notified of a change. With user_lock held. */
bool signals_are_timed(const struct process *p);
void signals_time(struct process *p);

/* Ends all alarms of the process. From a thread, without locks. */
void signals_end(struct process *p);

/*
 * Notifies the parent of a child's status, as from wait4. Returns whether the parent does not wait for ended children.
 * With user_lock held.
 */
bool signals_child(struct process *child, int status);

void signals_init(void);
#endif
