/* Signals (signal.h). */
#include "proc/signal.h"

#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "file/calls.h"
#include "file/file.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/syscall.h"
#include "proc/limits.h"
#include "proc/syscall.h"
#include "proc/timers.h"
#include "sched/limit.h"

#define STOPS_OF_TERMINALS (SIGNAL_BIT(USER_SIGTSTP) | SIGNAL_BIT(USER_SIGTTIN) | SIGNAL_BIT(USER_SIGTTOU))
#define STOPS (SIGNAL_BIT(USER_SIGSTOP) | STOPS_OF_TERMINALS)
#define IGNORED_BY_DEFAULT                                                                                    \
    (SIGNAL_BIT(USER_SIGURG) | SIGNAL_BIT(USER_SIGCONT) | SIGNAL_BIT(USER_SIGCHLD) | SIGNAL_BIT(USER_SIGIO) | \
     SIGNAL_BIT(USER_SIGWINCH))

/* A terminal does not stop a child of init, as in 4.3BSD: no process would continue it. */
static bool ignores(const struct process *p, int signal)
{
    uint32_t handler = p->action[signal].handler;
    return handler == USER_SIG_IGN ||
           (handler == USER_SIG_DFL &&
            (SIGNAL_BIT(signal) & IGNORED_BY_DEFAULT || (!p->parent && SIGNAL_BIT(signal) & STOPS_OF_TERMINALS)));
}

static void signal_forget(struct process *p, uint32_t signals)
{
    p->pending &= ~signals;
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling) {
        t->pending &= ~signals;
        t->claimed &= ~signals;
    }
}

static void go_on(struct process *p)
{
    if (!p->stopped)
        return;
    p->stopped = p->stop_is_news = false;
    p->going_on_is_news = true;
    thread_wakeup(&p->stopped);
    signals_child(p, USER_W_GOES_ON);
    process_news(p);
}

/* The effect of a signal when it is sent, masked or not. Returns whether it may become pending. */
static bool sent(struct process *p, int signal)
{
    if (p->ending || p->ended)
        return false;
    if (signal == USER_SIGKILL) {
        process_end_locked(p, signal);
        return false;
    }
    if (SIGNAL_BIT(signal) & STOPS)
        signal_forget(p, SIGNAL_BIT(USER_SIGCONT));
    if (signal == USER_SIGCONT) {
        signal_forget(p, STOPS);
        go_on(p);
    }
    return true;
}

void signal_send_thread(struct user_thread *t, int signal)
{
    if (!sent(t->process, signal) || (ignores(t->process, signal) && !(t->mask & SIGNAL_BIT(signal))))
        return;
    t->pending |= SIGNAL_BIT(signal);
    if (~t->mask & SIGNAL_BIT(signal) || t->awaited & SIGNAL_BIT(signal))
        user_thread_attend(t);
}

/* Those of `which` that have a handler. */
static uint32_t handled(const struct process *p, uint32_t which)
{
    uint32_t all = 0;
    for (; which; which &= which - 1) {
        int signal = __builtin_ctz(which);
        if (p->action[signal].handler > USER_SIG_IGN)
            all |= SIGNAL_BIT(signal);
    }
    return all;
}

/*
 * Those of `which` that the thread can take now: a handler has no stack while the thread lends
 * it.
 */
static uint32_t takes(const struct user_thread *t, uint32_t which)
{
    which &= ~t->mask | t->awaited;
    return t->lends ? which & ~handled(t->process, which) : which;
}

/* Then it stays pending: a thread may wait for it, or its action may change before it is unmasked. */
static bool masked_by_all(const struct process *p, int signal)
{
    const struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        if (!(t->mask & SIGNAL_BIT(signal)))
            return false;
    return true;
}

void signal_send(struct process *p, int signal, const struct signal_info *info)
{
    if (!sent(p, signal) || (ignores(p, signal) && !masked_by_all(p, signal)))
        return;
    if (!(p->pending & SIGNAL_BIT(signal)))
        p->info[signal] = info ? *info : (struct signal_info){.code = USER_SI_KERNEL};
    p->pending |= SIGNAL_BIT(signal);
    struct user_thread *t, *self = user_self();
    if (self && self->process == p && takes(self, SIGNAL_BIT(signal))) {
        user_thread_attend(self); /* a process's signal to itself acts before the call returns */
        return;
    }
    SLIST_FOREACH(t, &p->threads, sibling)
        if (takes(t, SIGNAL_BIT(signal))) {
            user_thread_attend(t);
            return;
        }
}

void signals_pass_on(struct process *p, const struct user_thread *self, uint32_t which)
{
    which &= p->pending;
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling) {
        if (!which)
            break;
        uint32_t its = t == self ? 0 : takes(t, which);
        if (its)
            user_thread_attend(t);
        which &= ~its;
    }
}

/* Sets the thread's mask; other threads take signals that it newly masks. With user_lock held. */
static void change_mask(struct user_thread *self, uint32_t mask)
{
    uint32_t more = mask & ~self->mask;
    self->mask = mask & ~SIGNALS_UNMASKED;
    signals_pass_on(self->process, self, more);
}

bool signals_child(struct process *child, int status)
{
    struct process *parent = child->parent;
    if (!parent)
        return false;
    const struct user_sigaction *action = &parent->action[USER_SIGCHLD];
    struct signal_info info = process_status_info(child->id, status);
    if ((info.code != USER_CLD_STOPPED && info.code != USER_CLD_CONTINUED) || !(action->flags & USER_SA_NOCLDSTOP))
        signal_send(parent, USER_SIGCHLD, &info);
    return action->flags & USER_SA_NOCLDWAIT || action->handler == USER_SIG_IGN;
}

static void signal_stop(struct process *p, int signal)
{
    p->stopped = p->stop_is_news = true;
    p->going_on_is_news = false;
    p->status = signal;
    process_attend(p);
    signals_child(p, signal << 8 | USER_WSTOPPED);
    process_news(p);
}

/* Takes it off the pending ones. Returns its info. */
static struct signal_info signal_take_off(struct user_thread *self, struct process *p, int signal)
{
    uint32_t bit = SIGNAL_BIT(signal);
    struct signal_info info = {.code = signal == USER_SIGPIPE ? USER_SI_USER : USER_SI_TKILL, .sender = p->id};
    if (!(self->pending & bit)) {
        p->pending &= ~bit;
        if (p->info[signal].code == USER_SI_TIMER)
            timers_taken(p, p->info[signal].sender);
        return p->info[signal];
    }
    self->pending &= ~bit;
    if (self->trapped & bit)
        info = self->trap;
    else if (self->claimed & bit)
        info = self->claim;
    self->trapped &= ~bit;
    self->claimed &= ~bit;
    return info;
}

static struct user_siginfo signal_shown(int signal, const struct signal_info *info)
{
    bool child = signal == USER_SIGCHLD && info->code > 0 && info->code != USER_SI_KERNEL;
    bool trap = !child && info->code > 0 && info->code != USER_SI_KERNEL;
    return (struct user_siginfo){.signo = signal,
                                 .code = info->code,
                                 .sender = info->code == USER_SI_TIMER ? 0 : info->sender,
                                 .status = child ? (int32_t)info->value : 0,
                                 .address = trap ? info->value : 0,
                                 .value = child || trap ? 0 : info->value};
}

/* Takes the next signal of this thread off the pending ones; 0: none. */
static int signal_take(struct user_thread *self, struct process *p, struct signal_info *info)
{
    uint32_t all = (self->pending | p->pending) & ~self->mask;
    if (!all)
        return 0;
    int signal = __builtin_ctz(self->trapped & all ? self->trapped : all);
    *info = signal_take_off(self, p, signal);
    return signal;
}

/* The action of a signal without a handler. */
static void signal_act(struct process *p, int signal)
{
    if (ignores(p, signal))
        return;
    if (SIGNAL_BIT(signal) & STOPS)
        signal_stop(p, signal);
    else
        process_end_locked(p, signal);
}

bool signals_end_wait(struct user_thread *self)
{
    struct process *p = self->process;
    for (;;) {
        if (p->ending || (p->lone && p->lone != self))
            return true;
        if (p->stopped) {
            thread_sleep(&p->stopped, &user_lock);
            continue;
        }
        self->thread->attention = self->cancelled && self->cancels;
        if (self->thread->attention)
            return true;
        uint32_t all = (self->pending | p->pending) & (~self->mask | self->awaited), now = takes(self, all);
        signals_pass_on(p, self, all & ~now);
        if (!now)
            return false;
        int signal = __builtin_ctz(now & self->awaited ? now & self->awaited : now);
        if (SIGNAL_BIT(signal) & self->awaited)
            return true;
        struct signal_info info = signal_take_off(self, p, signal);
        if (handled(p, SIGNAL_BIT(signal))) { /* claimed by this thread: the call ends with its handler */
            self->pending |= SIGNAL_BIT(signal);
            self->claimed |= SIGNAL_BIT(signal);
            self->claim = info;
            self->thread->attention = true;
            return true;
        }
        signal_act(p, signal);
    }
}

static bool wait_ends(void)
{
    struct user_thread *self = user_self();
    simple_lock(&user_lock);
    bool ends = !self || signals_end_wait(self);
    simple_unlock(&user_lock);
    return ends;
}

/* Restarts the interrupted call, or ends it. */
static void end_call(struct user_thread *self, bool again)
{
    if (!self->restarts && !self->restarts_unless_handled)
        return;
    if (again) {
        self->frame->mepc -= 4;
        self->frame->a[0] = self->restart_a0;
    } else {
        self->frame->a[0] = (uint32_t)-EINTR;
    }
    self->restarts = self->restarts_unless_handled = false;
}

static uint32_t place_for_frame(struct user_thread *self, const struct user_sigaction *action)
{
    uint32_t sp = self->frame->sp;
    const struct user_stack *stack = &self->stack;
    bool is_on = sp - stack->sp <= stack->size;
    if (action->flags & USER_SA_ONSTACK && !(stack->flags & USER_SS_DISABLE) && stack->size && !is_on)
        sp = stack->sp + stack->size;
    return (sp - sizeof(struct user_sigframe)) & ~15u;
}

/* Makes the thread continue in the handler. Without locks. 0, or -EFAULT. */
static int enter_handler(struct user_thread *self, int signal, const struct signal_info *info,
                         const struct user_sigaction *action, uint32_t mask)
{
    struct frame *f = self->frame;
    uint32_t at = place_for_frame(self, action);
    struct user_sigframe frame = {
        .pc = f->mepc, .ra = f->ra, .sp = f->sp, .gp = f->gp, .tp = f->tp, .s0 = f->s0, .mask = mask};
    memcpy(frame.t, f->t, sizeof frame.t);
    memcpy(frame.a, f->a, sizeof frame.a);
    frame.info = signal_shown(signal, info);
    int error = copyout(self->process->map, at, &frame, sizeof frame);
    if (error)
        return error;
    f->mepc = action->handler;
    f->ra = self->process->trampoline;
    f->sp = at;
    f->a[0] = (uint32_t)signal;
    f->a[1] = at + offsetof(struct user_sigframe, info);
    f->a[2] = at;
    return 0;
}

/* With user_lock held, which is released to write the handler's frame. Returns the new section; `s` is the old one. */
static crit_t handle(struct user_thread *self, struct process *p, int signal, const struct signal_info *info, crit_t s)
{
    struct user_sigaction action = p->action[signal];
    uint32_t mask = self->suspended ? self->mask_before : self->mask;
    self->suspended = false;
    end_call(self, self->restarts && action.flags & USER_SA_RESTART);
    change_mask(self, self->mask | action.mask | (action.flags & USER_SA_NODEFER ? 0 : SIGNAL_BIT(signal)));
    if (action.flags & USER_SA_RESETHAND)
        p->action[signal].handler = USER_SIG_DFL;
    simple_lock_leave(&user_lock, s);
    int error = enter_handler(self, signal, info, &action, mask);
    s = simple_lock_enter(&user_lock);
    if (error)
        process_end_locked(p, USER_SIGSEGV); /* there is no stack */
    return s;
}

/* Counts new clock ticks in a timer of the process's own time. With user_lock held. */
static void run_down(struct process *p, unsigned which, uint32_t ticks)
{
    uint64_t *left = &p->timer[which].left, interval = p->timer[which].interval;
    if (!*left || !ticks)
        return;
    if (ticks < *left) {
        *left -= ticks;
        return;
    }
    *left = interval ? interval - (ticks - *left) % interval : 0;
    signal_send(p, which ? USER_SIGPROF : USER_SIGVTALRM, 0);
}

/* Charges the thread's new clock ticks to its process. With user_lock held. */
static void charge(struct process *p, struct user_thread *t)
{
    uint32_t user = t->user_ticks - t->charged_user, all = t->thread->ticks - t->charged;
    t->charged_user += user;
    t->charged += all;
    run_down(p, 0, user);
    run_down(p, 1, all);
    limits_charge(p, all);
}

void signals_attend(void)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    crit_t s = simple_lock_enter(&user_lock);
    for (;;) {
        if (p->ending || (p->lone && p->lone != self)) {
            simple_lock_leave(&user_lock, s);
            user_thread_end();
        }
        if (p->stopped) {
            thread_sleep(&p->stopped, &user_lock);
            continue;
        }
        self->thread->attention = self->thread->ticked = false;
        charge(p, self);
        struct signal_info info;
        int signal = signal_take(self, p, &info);
        if (!signal)
            break;
        if (handled(p, SIGNAL_BIT(signal)))
            s = handle(self, p, signal, &info, s);
        else
            signal_act(p, signal);
    }
    if (self->suspended) { /* no handler ran: it waits again, and until then has its former mask */
        self->suspended = false;
        change_mask(self, self->mask_before);
    }
    end_call(self, true);
    simple_lock_leave(&user_lock, s);
}

void signals_call_interrupted(int result, uint32_t a0)
{
    struct user_thread *self = user_self();
    self->restarts = result == -ERESTART;
    self->restarts_unless_handled = result == -ERESTART_UNLESS_HANDLED;
    self->restart_a0 = a0;
    self->frame->a[0] = (uint32_t)-EINTR;
    self->thread->attention = true; /* what else set it may already be cleared */
}

bool signal_trap(int signal, int code, uint32_t address)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    crit_t s = simple_lock_enter(&user_lock);
    bool handled = p->action[signal].handler > USER_SIG_IGN && !(self->mask & SIGNAL_BIT(signal));
    if (handled) {
        self->trap = (struct signal_info){.code = code, .value = address};
        self->trapped = SIGNAL_BIT(signal);
        self->pending |= SIGNAL_BIT(signal);
        self->thread->attention = true;
    } else {
        process_end_locked(p, signal);
    }
    simple_lock_leave(&user_lock, s);
    return handled;
}

void signals_exec(struct process *p, struct user_thread *self)
{
    for (unsigned n = 1; n < USER_SIGNALS; n++) {
        uint32_t handler = p->action[n].handler == USER_SIG_IGN ? USER_SIG_IGN : USER_SIG_DFL;
        p->action[n] = (struct user_sigaction){.handler = handler};
    }
    p->trampoline = 0;
    if (self)
        self->stack = (struct user_stack){.flags = USER_SS_DISABLE};
}

void signals_fork(struct process *child, struct user_thread *thread, const struct user_thread *parent)
{
    thread->mask = parent->suspended ? parent->mask_before : parent->mask;
    if (child == parent->process)
        return;
    memcpy(child->action, parent->process->action, sizeof child->action);
    child->trampoline = parent->process->trampoline;
    thread->stack = parent->stack;
}

/* System calls. */

static bool is_signal(uint32_t n)
{
    return n - 1 < USER_SIGNALS - 1;
}

static int sys_sigaction(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t signal = a[0];
    struct user_sigaction action, old;
    if (!is_signal(signal) || (a[1] && SIGNAL_BIT(signal) & SIGNALS_UNMASKED))
        return -EINVAL;
    if (a[1] && copyin(map, &action, a[1], sizeof action))
        return -EFAULT;
    crit_t s = simple_lock_enter(&user_lock);
    old = p->action[signal];
    if (a[1]) {
        action.mask &= ~SIGNALS_UNMASKED;
        p->action[signal] = action;
        if (a[3])
            p->trampoline = a[3];
        if (ignores(p, (int)signal))
            signal_forget(p, SIGNAL_BIT(signal));
    }
    simple_lock_leave(&user_lock, s);
    return a[2] ? copyout(map, a[2], &old, sizeof old) : 0;
}
SYSCALL(SYS_SIGACTION, sys_sigaction);

/* With user_lock held. */
void signals_mask(struct user_thread *self, uint32_t mask)
{
    change_mask(self, mask);
    if ((self->pending | self->process->pending) & ~self->mask)
        self->thread->attention = true;
}

static int sys_sigprocmask(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct user_thread *self = user_self();
    uint32_t set = 0, old = self->mask;
    if (a[1] && copyin(map, &set, a[1], sizeof set))
        return -EFAULT;
    if (a[1]) {
        if (a[0] > USER_SIG_UNBLOCK)
            return -EINVAL;
        crit_t s = simple_lock_enter(&user_lock);
        signals_mask(self, a[0] == USER_SIG_SETMASK ? set : a[0] == USER_SIG_BLOCK ? old | set : old & ~set);
        simple_lock_leave(&user_lock, s);
    }
    return a[2] ? copyout(map, a[2], &old, sizeof old) : 0;
}
SYSCALL(SYS_SIGPROCMASK, sys_sigprocmask);

static int sys_sigpending(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t set = (user_self()->pending | p->pending) & user_self()->mask;
    return copyout(map, a[0], &set, sizeof set);
}
SYSCALL(SYS_SIGPENDING, sys_sigpending);

static void mask_call(struct user_thread *self, uint32_t mask)
{
    crit_t s = simple_lock_enter(&user_lock);
    self->mask_before = self->mask;
    self->suspended = true;
    signals_mask(self, mask);
    simple_lock_leave(&user_lock, s);
}

/* If the call was interrupted, its mask stays until the handlers have been chosen. */
static void unmask_call(struct user_thread *self, bool interrupted)
{
    crit_t s = simple_lock_enter(&user_lock);
    if (!interrupted) {
        self->suspended = false;
        signals_mask(self, self->mask_before);
    }
    simple_lock_leave(&user_lock, s);
}

/* ppoll and pselect: the mask holds while the call waits. */
static int sys_masked(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t mask, of[6] = {0};
    if (a[1] != SYS_POLL && a[1] != SYS_SELECT)
        return -EINVAL;
    if (copyin(map, &mask, a[0], sizeof mask) || copyin(map, of, a[2], 5 * sizeof *of))
        return -EFAULT;
    mask_call(user_self(), mask);
    int result = system_call_of(a[1], p, of);
    unmask_call(user_self(), result == -EINTR || result == -ERESTART_UNLESS_HANDLED);
    return result;
}
SYSCALL(SYS_MASKED, sys_masked);

static int sys_sigsuspend(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct user_thread *self = user_self();
    uint32_t set;
    if (copyin(map, &set, a[0], sizeof set))
        return -EFAULT;
    crit_t s = simple_lock_enter(&user_lock);
    self->mask_before = self->mask;
    self->suspended = true;
    signals_mask(self, set);
    while (!thread_sleep_interruptibly(self, &user_lock)) /* it is only interrupted */
        ;
    simple_lock_leave(&user_lock, s);
    return -ERESTART_UNLESS_HANDLED;
}
SYSCALL(SYS_SIGSUSPEND, sys_sigsuspend);

static int sys_sigaltstack(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct user_thread *self = user_self();
    struct user_stack stack, old = self->stack;
    bool is_on = old.size && self->frame->sp - old.sp <= old.size;
    if (!old.size)
        old.flags = USER_SS_DISABLE;
    else if (is_on)
        old.flags |= USER_SS_ONSTACK;
    if (a[0]) {
        if (copyin(map, &stack, a[0], sizeof stack))
            return -EFAULT;
        if (is_on)
            return -EPERM;
        if (stack.flags & ~USER_SS_DISABLE)
            return -EINVAL;
        if (!(stack.flags & USER_SS_DISABLE) && stack.size < 2 * sizeof(struct user_sigframe))
            return -ENOMEM;
        self->stack = stack.flags & USER_SS_DISABLE ? (struct user_stack){.flags = USER_SS_DISABLE} : stack;
    }
    return a[1] ? copyout(map, a[1], &old, sizeof old) : 0;
}
SYSCALL(SYS_SIGALTSTACK, sys_sigaltstack);

static int sys_sigreturn(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct user_thread *self = user_self();
    struct user_sigframe frame;
    struct frame *f = self->frame;
    if (copyin(map, &frame, a[0], sizeof frame))
        return -EFAULT;
    f->mepc = frame.pc;
    f->ra = frame.ra;
    f->sp = frame.sp;
    f->gp = frame.gp;
    f->tp = frame.tp;
    f->s0 = frame.s0;
    memcpy(f->t, frame.t, sizeof f->t);
    memcpy(f->a, frame.a, sizeof f->a);
    crit_t s = simple_lock_enter(&user_lock);
    signals_mask(self, frame.mask);
    simple_lock_leave(&user_lock, s);
    return (int)frame.a[0];
}
SYSCALL(SYS_SIGRETURN, sys_sigreturn);

/* Alarms. */

#define AT_ONCE 0x40000000u /* ticks of one timeout */

/* The ticks from now until the timer expires, at least 1; 0: not running. With user_lock held. */
static uint64_t signal_ticks_left(const struct process *p)
{
    if (!p->alarm_due)
        return 0;
    int32_t left = (int32_t)(p->alarm_due - clock_ticks());
    return p->alarm_more + (left > 0 ? (uint32_t)left : !p->alarm_more);
}

static void set_alarm(struct process *p, uint64_t ticks);

static void alarm(void *arg)
{
    struct process *p = arg;
    crit_t s = simple_lock_enter(&user_lock);
    if (p->alarm_due && (int32_t)(clock_ticks() - p->alarm_due) >= 0) { /* else it was set again meanwhile */
        bool over = !p->alarm_more;
        p->alarm_due = 0;
        set_alarm(p, over ? p->alarm_interval : p->alarm_more);
        if (over)
            signal_send(p, USER_SIGALRM, 0);
    }
    simple_lock_leave(&user_lock, s);
}

/* With user_lock held. */
static void set_alarm(struct process *p, uint64_t ticks)
{
    timeout_cancel(&p->alarm);
    if (!ticks || p->ending)
        return;
    uint32_t now = ticks < AT_ONCE ? (uint32_t)ticks : AT_ONCE;
    p->alarm_more = ticks - now;
    p->alarm_due = clock_ticks() + now;
    if (!p->alarm_due)
        p->alarm_due = 1;
    timeout_set(&p->alarm, now, alarm, p);
}

void signals_end(struct process *p)
{
    timeout_drain(&p->alarm);
}

#define MOST_SECONDS (1ll << 40) /* longer times count as this */

/* The ticks, from now, that last at least as long; 0 for no time. */
static int signal_ticks_of(const struct user_timeval *t, uint64_t *ticks)
{
    uint64_t hz = clock_hz();
    *ticks = 0;
    if (t->seconds < 0 || t->microseconds < 0 || t->microseconds >= 1000000)
        return -EINVAL;
    if (!t->seconds && !t->microseconds)
        return 0;
    uint64_t seconds = (uint64_t)MIN(t->seconds, MOST_SECONDS);
    *ticks = seconds * hz + ((uint32_t)t->microseconds * hz + 999999) / 1000000 + 1; /* plus the current one */
    return hz ? 0 : -EINVAL;
}

static struct user_timeval signal_time_of(uint64_t ticks)
{
    uint32_t hz = clock_hz();
    if (!hz)
        return (struct user_timeval){0};
    return (struct user_timeval){(int64_t)(ticks / hz), (int32_t)(ticks % hz * 1000000 / hz), 0};
}

/* Without the current tick, which ticks_of counts: periods, and times counted in ticks, do not include it. */
static uint64_t whole_ticks(uint64_t ticks)
{
    return ticks > 1 ? ticks - 1 : ticks;
}

static struct user_itimerval alarm_now(const struct process *p)
{
    return (struct user_itimerval){signal_time_of(p->alarm_interval),
                                   signal_time_of(whole_ticks(signal_ticks_left(p)))};
}

/* With user_lock held: charges all threads' ticks so far to the timers. */
static void charge_all(struct process *p)
{
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        charge(p, t);
}

bool signals_are_timed(const struct process *p)
{
    return p->timer[0].left || p->timer[1].left || p->cpu_left;
}

void signals_time(struct process *p)
{
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        t->thread->timed = signals_are_timed(p);
}

/* For a process's own time. With user_lock held. */
static void signal_set_timer(struct process *p, unsigned which, uint64_t ticks, uint64_t interval)
{
    charge_all(p);
    p->timer[which].left = ticks;
    p->timer[which].interval = interval;
    signals_time(p);
}

/* With user_lock held. */
static struct user_itimerval timer_now(struct process *p, uint32_t which)
{
    if (which == USER_ITIMER_REAL)
        return alarm_now(p);
    charge_all(p);
    return (struct user_itimerval){signal_time_of(p->timer[which - 1].interval),
                                   signal_time_of(p->timer[which - 1].left)};
}

static int sys_setitimer(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_itimerval new = {0}, old;
    uint64_t interval, ticks;
    if (a[0] > USER_ITIMER_PROF)
        return -EINVAL;
    if (a[1] && copyin(map, &new, a[1], sizeof new))
        return -EFAULT;
    int error = signal_ticks_of(&new.interval, &interval);
    if (!error)
        error = signal_ticks_of(&new.value, &ticks);
    if (error)
        return error;
    crit_t s = simple_lock_enter(&user_lock);
    old = timer_now(p, a[0]);
    if (a[1] && a[0] != USER_ITIMER_REAL) {
        signal_set_timer(p, a[0] - 1, whole_ticks(ticks), whole_ticks(interval));
    } else if (a[1]) {
        p->alarm_due = 0;
        p->alarm_interval = whole_ticks(interval);
        set_alarm(p, ticks);
    }
    simple_lock_leave(&user_lock, s);
    return a[2] ? copyout(map, a[2], &old, sizeof old) : 0;
}
SYSCALL(SYS_SETITIMER, sys_setitimer);

static int sys_getitimer(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[0] > USER_ITIMER_PROF)
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    struct user_itimerval now = timer_now(p, a[0]);
    simple_lock_leave(&user_lock, s);
    return copyout(map, a[1], &now, sizeof now);
}
SYSCALL(SYS_GETITIMER, sys_getitimer);

/* kill and its like. */

int signal_send_group(int group, int signal, const struct process *except, const struct signal_info *info)
{
    int n = 0;
    struct process *p;
    SLIST_FOREACH(p, &processes, all) {
        if (!p->id || (group && p->group != group) || p == except)
            continue;
        n++;
        if (signal)
            signal_send(p, signal, info);
    }
    return n;
}

static int send_to(struct process *caller, int which, int signal, const struct signal_info *info)
{
    if (which == INIT_ID)
        return -EPERM;
    if (which <= 0) {
        int group = which == 0 ? caller->group : which == -1 ? 0 : -which;
        return signal_send_group(group, signal, group ? 0 : caller, info) || which == -1 ? 0 : -ESRCH;
    }
    struct process *p = process_find(which);
    if (!p)
        return -ESRCH;
    if (signal)
        signal_send(p, signal, info);
    return 0;
}

static int sys_kill(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if ((a[1] && !is_signal(a[1])) || (int)a[0] == INT32_MIN)
        return -EINVAL;
    struct signal_info info = {.code = USER_SI_USER, .sender = p->id};
    crit_t s = simple_lock_enter(&user_lock);
    int result = send_to(p, (int)a[0], (int)a[1], &info);
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_KILL, sys_kill);

static int sys_killpg(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if ((a[1] && !is_signal(a[1])) || (int)a[0] < 0)
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    struct signal_info info = {.code = USER_SI_USER, .sender = p->id};
    int result = signal_send_group(a[0] ? (int)a[0] : p->group, (int)a[1], 0, &info) ? 0 : -ESRCH;
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_KILLPG, sys_killpg);

static int sys_thread_kill(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    int result = -ESRCH;
    if (a[1] && !is_signal(a[1]))
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        if (t->id == (int)a[0]) {
            if (a[1])
                signal_send_thread(t, (int)a[1]);
            result = 0;
        }
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_THREAD_KILL, sys_thread_kill);

static int sys_thread_cancel(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    int result = -ESRCH;
    struct user_thread *t;
    crit_t s = simple_lock_enter(&user_lock);
    SLIST_FOREACH(t, &p->threads, sibling)
        if (t->id == (int)a[0]) {
            t->cancelled = true;
            user_thread_attend(t);
            result = 0;
        }
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_THREAD_CANCEL, sys_thread_cancel);

static int sys_sigqueue(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if (a[1] && !is_signal(a[1]))
        return -EINVAL;
    if ((int)a[0] <= 0)
        return -ESRCH;
    struct signal_info info = {.code = USER_SI_QUEUE, .sender = p->id, .value = a[2]};
    crit_t s = simple_lock_enter(&user_lock);
    int result = send_to(p, (int)a[0], (int)a[1], &info);
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_SIGQUEUE, sys_sigqueue);

/* Takes one of `set` off the pending ones, or 0; waits for one, or until the limit. With user_lock held. */
static int await(struct user_thread *self, uint32_t set, bool waits, const struct limit *limit,
                 struct signal_info *info)
{
    struct process *p = self->process;
    uint32_t there;
    bool left = false;
    self->awaited = set;
    while (!(there = (self->pending | p->pending) & set) && !left && waits && !limit->over)
        left = limit_sleep(limit);
    self->awaited = 0;
    if (!there)
        return left ? -EINTR : -EAGAIN;
    int signal = __builtin_ctz(there);
    *info = signal_take_off(self, p, signal);
    return signal;
}

static int sys_sigtimedwait(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_thread *self = user_self();
    struct signal_info info;
    struct user_timespec t;
    struct limit limit;
    uint32_t set, ticks = NO_LIMIT;
    (void)p;
    if (copyin(map, &set, a[0], sizeof set) || (a[2] && copyin(map, &t, a[2], sizeof t)))
        return -EFAULT;
    bool waits = !a[2] || t.seconds || t.nanoseconds;
    int signal = a[2] && waits ? clock_ticks_of(&t, &ticks) : 0;
    if (signal)
        return signal;
    limit_begin(&limit, ticks, self, &user_lock);
    crit_t s = simple_lock_enter(&user_lock);
    signal = await(self, set & ~SIGNALS_UNMASKED, waits, &limit, &info);
    self->thread->attention = true; /* other requests to the thread */
    simple_lock_leave(&user_lock, s);
    limit_end(&limit);
    if (signal < 0 || !a[1])
        return signal;
    struct user_siginfo to = signal_shown(signal, &info);
    return copyout(map, a[1], &to, sizeof to) ? -EFAULT : signal;
}
SYSCALL(SYS_SIGTIMEDWAIT, sys_sigtimedwait);

static void broken_pipe(void)
{
    crit_t s = simple_lock_enter(&user_lock);
    signal_send_thread(user_self(), USER_SIGPIPE);
    simple_lock_leave(&user_lock, s);
}

void signals_init(void)
{
    file_broken_pipe = broken_pipe;
    limit_wait_ends = wait_ends;
}
