/* The console as a file and as a controlling terminal (console.h). */
#include "proc/console.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "dev/console.h"
#include "dev/terminal.h"
#include "file/file.h"
#include "lib/minmax.h"
#include "proc/signal.h"

static int session;    /* whose controlling terminal it is; 0: of none */
static int foreground; /* a group of the session */

bool console_control(const struct process *leader)
{
    if (session && session != leader->session)
        return false;
    if (!session) {
        session = leader->session;
        foreground = leader->group;
    }
    return true;
}

bool console_controls(const struct process *p)
{
    return session && p->session == session;
}

void console_hang_up(const struct process *leader)
{
    crit_t s = simple_lock_enter(&user_lock);
    bool was = console_controls(leader) && leader->session == leader->id;
    if (was) {
        signal_send_group(foreground, USER_SIGHUP, leader, 0);
        signal_send_group(foreground, USER_SIGCONT, leader, 0);
        session = foreground = 0;
    }
    simple_lock_leave(&user_lock, s);
    if (was && console_terminal())
        terminal_reset(console_terminal());
}

static void to_foreground(int number)
{
    crit_t s = simple_lock_enter(&user_lock);
    if (foreground)
        signal_send_group(foreground, number, 0, 0);
    simple_lock_leave(&user_lock, s);
}

/*
 * Whether the calling thread's process may do what only the foreground may: 0; or -ERESTART, with `number` sent to its
 * group; or -EIO where the signal would have no effect. With SIGTTOU ignored or masked, a process in the background
 * writes and changes modes nevertheless.
 */
static int in_background(int number)
{
    struct user_thread *self = curhart->thread->user;
    struct process *p = self ? self->process : 0;
    int result = 0;
    if (!p)
        return 0;
    crit_t s = simple_lock_enter(&user_lock);
    if (console_controls(p) && p->group != foreground) {
        bool deaf = p->action[number].handler == USER_SIG_IGN || self->mask & SIGNAL_BIT(number);
        if (deaf && number == USER_SIGTTOU)
            result = 0;
        else if (deaf || !p->parent)
            result = -EIO;
        else
            result = signal_send_group(p->group, number, 0, 0) ? -ERESTART : -EIO;
    }
    simple_lock_leave(&user_lock, s);
    return result;
}

/*
 * Whether the leader of the calling process's session has ended: the terminal was that session's, and may be another's
 * by now. The remaining processes of the session read end of file, and get an error from everything else.
 */
static bool has_hung_up(void)
{
    struct user_thread *self = curhart->thread->user;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process *p = self ? self->process : 0, *leader = p ? process_find(p->session) : 0;
    bool result = p && !console_controls(p) && (!leader || leader->ending);
    simple_lock_leave(&user_lock, s);
    return result;
}

#define HUNG_UP -ENXIO

static int may_read(void)
{
    return has_hung_up() ? HUNG_UP : in_background(USER_SIGTTIN);
}

static struct terminal *terminal_of(struct file *f)
{
    return f->data;
}

static int console_file_write(struct file *f, struct transfer *t)
{
    struct terminal *tp = terminal_of(f);
    int done = 0, error = has_hung_up() ? -EIO : tp->modes.lflag & USER_TOSTOP ? in_background(USER_SIGTTOU) : 0;
    while (t->left && !error) {
        char piece[TERMINAL_WRITE];
        uint32_t n = MIN(t->left, sizeof piece);
        error = transfer_in(t, piece, n);
        if (!error)
            error = terminal_write(tp, piece, n);
        if (!error)
            done += (int)n;
    }
    return done ? done : error;
}

static int console_file_read(struct file *f, struct transfer *t)
{
    uint8_t typed[TERMINAL_LINE];
    int n = terminal_read(terminal_of(f), typed, t->left, !t->has_some && !(f->flags & O_NONBLOCK));
    if (n > 0 && transfer_out(t, typed, (uint32_t)n))
        return -EFAULT;
    return n == HUNG_UP ? 0 : n;
}

static int console_file_poll(struct file *f, int events)
{
    if (has_hung_up())
        return (events & (USER_POLLIN | USER_POLLOUT)) | USER_POLLERR | USER_POLLHUP;
    return (terminal_is_readable(terminal_of(f)) ? events & USER_POLLIN : 0) | (events & USER_POLLOUT);
}

static int set_foreground(struct process *p, int group)
{
    int error = in_background(USER_SIGTTOU);
    if (error)
        return error;
    crit_t s = simple_lock_enter(&user_lock);
    if (!console_controls(p))
        error = -ENOTTY;
    else if (group <= 0 || !process_group_exists(group, session))
        error = group <= 0 ? -EINVAL : -EPERM;
    else
        foreground = group;
    simple_lock_leave(&user_lock, s);
    return error;
}

static int take_control(struct process *p)
{
    crit_t s = simple_lock_enter(&user_lock);
    int error = p->session == p->id && console_control(p) ? 0 : -EPERM;
    simple_lock_leave(&user_lock, s);
    return error;
}

/* Requests about jobs. */
static int job_ioctl(struct process *p, struct vm_map *map, uint32_t request, uint32_t argument)
{
    int value;
    if (request == USER_TIOCSCTTY)
        return take_control(p);
    if (request == USER_TIOCSPGRP)
        return copyin(map, &value, argument, sizeof value) ? -EFAULT : set_foreground(p, value);
    crit_t s = simple_lock_enter(&user_lock);
    bool mine = console_controls(p), leads = p->session == p->id;
    value = request == USER_TIOCGSID ? session : foreground;
    simple_lock_leave(&user_lock, s);
    if (!mine)
        return -ENOTTY;
    if (request == USER_TIOCNOTTY) {
        if (leads)
            console_hang_up(p);
        return leads ? 0 : -EPERM;
    }
    return copyout(map, argument, &value, sizeof value);
}

/* Requests that change the terminal: only for the foreground. */
static int change_ioctl(struct terminal *tp, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct user_termios modes;
    uint32_t which;
    int error = in_background(USER_SIGTTOU);
    if (error)
        return error;
    switch (request) {
    case USER_TIOCSETA:
    case USER_TIOCSETAW:
    case USER_TIOCSETAF:
        return copyin(map, &modes, argument, sizeof modes) ? -EFAULT : terminal_set_modes(tp, &modes, request);
    case USER_TIOCFLUSH:
        if (copyin(map, &which, argument, sizeof which))
            return -EFAULT;
        if (!which || which & 1)
            terminal_flush_input(tp);
        return 0;
    case USER_TIOCDRAIN: return serial_drain_interruptibly(tp->port) ? -ERESTART : 0;
    case USER_TIOCSTOP:
    case USER_TIOCSTART: terminal_stop(tp, request == USER_TIOCSTOP); return 0;
    default: return copyin(map, tp->size, argument, sizeof tp->size);
    }
}

static int console_file_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct terminal *tp = terminal_of(f);
    struct user_termios modes;
    uint32_t n;
    if (has_hung_up())
        return request == USER_TIOCSPGRP ? -ENOTTY : -EIO;
    switch (request) {
    case USER_FIONREAD: n = terminal_readable(tp); return copyout(map, argument, &n, sizeof n);
    case USER_TIOCOUTQ: n = serial_unsent(tp->port); return copyout(map, argument, &n, sizeof n);
    case USER_TIOCGWINSZ: return copyout(map, argument, tp->size, sizeof tp->size);
    case USER_TIOCGETA: terminal_modes(tp, &modes); return copyout(map, argument, &modes, sizeof modes);
    case USER_TIOCSCTTY:
    case USER_TIOCNOTTY:
    case USER_TIOCGSID:
    case USER_TIOCGPGRP:
    case USER_TIOCSPGRP: return job_ioctl(user_self()->process, map, request, argument);
    case USER_TIOCSETA:
    case USER_TIOCSETAW:
    case USER_TIOCSETAF:
    case USER_TIOCFLUSH:
    case USER_TIOCDRAIN:
    case USER_TIOCSTOP:
    case USER_TIOCSTART:
    case USER_TIOCSWINSZ: return change_ioctl(tp, map, request, argument);
    default: return -ENOTTY;
    }
}

static int console_file_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    *to = (struct user_stat){.ino = 1, .mode = S_IFCHR | 0620, .nlink = 1, .rdev = 1, .blksize = TERMINAL_WRITE};
    return 0;
}

static const struct file_ops console_ops = {.name = "console",
                                            .read = console_file_read,
                                            .write = console_file_write,
                                            .ioctl = console_file_ioctl,
                                            .poll = console_file_poll,
                                            .stat = console_file_stat};

struct file *console_file(void)
{
    struct terminal *tp = console_terminal();
    if (!tp)
        return 0;
    tp->hooks = (struct terminal_hooks){.signal = to_foreground, .changed = poll_wakeup, .may_read = may_read};
    return file_create(&console_ops, tp, FILE_READ | FILE_WRITE, 0);
}
