/* Character devices (devices.h): the console, nothing, and bytes of 0. */
#include "user/devices.h"

#include <errno.h>
#include <sys/stat.h>

#include "user/console.h"

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
        uint32_t n = t->left < sizeof zeros ? t->left : sizeof zeros;
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

int device_open(uint32_t rdev, uint32_t kind, struct file **f)
{
    switch (rdev) {
    case DEVICE_TTY:
    case DEVICE_CONSOLE: *f = console_file(); break;
    case DEVICE_NULL: *f = file_create(&null_ops, 0, kind, 0); break;
    case DEVICE_ZERO: *f = file_create(&zero_ops, 0, kind, 0); break;
    default: return -ENXIO;
    }
    return *f ? 0 : -ENOMEM;
}
