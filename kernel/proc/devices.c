/* Character devices (devices.h): the console, nothing, and bytes of 0. */
#include "proc/devices.h"

#include <errno.h>
#include <sys/stat.h>

#include "lib/minmax.h"
#include "proc/console.h"
#include "proc/process.h"

static int null_read(struct file *f, struct transfer *t)
{
    (void)f, (void)t;
    return 0;
}

static int null_write(struct file *f, struct transfer *t)
{
    (void)f;
    return (int)t->left;
}

static int zero_read(struct file *f, struct transfer *t)
{
    static const uint8_t zeros[256];
    int done = 0;
    (void)f;
    while (t->left) {
        uint32_t n = MIN(t->left, sizeof zeros);
        if (transfer_out(t, zeros, n))
            return done ? done : -EFAULT;
        done += (int)n;
    }
    return done;
}

static int stat_as(struct user_stat *to, int rdev)
{
    *to = (struct user_stat){.nlink = 1, .blksize = 512, .mode = S_IFCHR | 0666, .ino = 1, .rdev = (int16_t)rdev};
    return 0;
}

static int null_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    return stat_as(to, DEVICE_NULL);
}

static int zero_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    return stat_as(to, DEVICE_ZERO);
}

static const struct file_ops null_ops = {.name = "null", .read = null_read, .write = null_write, .stat = null_stat},
                             zero_ops = {.name = "zero", .read = zero_read, .write = null_write, .stat = zero_stat};

/* /dev/tty is the controlling terminal; a session's leader without one gets the console as such by opening it. */
static int open_terminal(uint32_t rdev, bool takes_control, struct file **f)
{
    struct user_thread *self = curhart->thread->user;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process *p = self ? self->process : 0;
    if (p && rdev == DEVICE_CONSOLE && takes_control && p->session == p->id)
        console_control(p);
    bool there = rdev == DEVICE_CONSOLE || (p && console_controls(p));
    simple_lock_leave(&user_lock, s);
    if (!there)
        return -ENXIO;
    *f = console_file();
    return 0;
}

int device_open(uint32_t rdev, uint32_t kind, bool takes_control, struct file **f)
{
    int error = 0;
    switch (rdev) {
    case DEVICE_TTY:
    case DEVICE_CONSOLE: error = open_terminal(rdev, takes_control, f); break;
    case DEVICE_NULL: *f = file_create(&null_ops, 0, kind, 0); break;
    case DEVICE_ZERO: *f = file_create(&zero_ops, 0, kind, 0); break;
    default: return -ENXIO;
    }
    return error ? error : *f ? 0 : -ENOMEM;
}
