/*
 * The console as a file. It is read by the line. Locking: one thread at a time has the turn to read a line; `rest` is what that
 * line's reader had no room for, and comes first next time.
 */
#include "dev/console.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "file/file.h"
#include "user/console.h"
#include "sched/sched.h"

#define LINE_SIZE 256   /* of a line typed for a process, with its end; what is longer is cut */
#define WRITE_PIECE 128 /* bytes that go to the console at a time */

DEFINE_SIMPLE_LOCK(turn_lock, "console reading", SPL_SOFTPREEMPT);
static bool reading; /* somebody's turn */
static char line[LINE_SIZE];
static uint32_t line_at, line_end;
static int foreground; /* a process group */

static int console_file_write(struct file *f, struct transfer *t)
{
    (void)f;
    int done = 0;
    while (t->left) {
        char piece[WRITE_PIECE];
        uint32_t n = t->left < sizeof piece ? t->left : sizeof piece;
        if (curhart->thread->attention)
            return done ? done : -ERESTART;
        if (transfer_in(t, piece, n))
            return done ? done : -EFAULT;
        console_write(piece, n);
        done += (int)n;
    }
    return done;
}

static bool gives_up(void *arg)
{
    (void)arg;
    return curhart->thread->attention;
}

static int fill_line(void)
{
    if (!console_read_line_unless(line, sizeof line - 1, gives_up, 0))
        return -ERESTART;
    line_at = 0;
    line_end = strlen(line);
    line[line_end++] = '\n';
    return 0;
}

/* Who waits can be interrupted, which a mutex does not offer. */
static int take_turn(void)
{
    int error = 0;
    crit_t s = simple_lock_enter(&turn_lock);
    while (reading && !error)
        error = thread_sleep_interruptibly(&reading, &turn_lock);
    if (!error)
        reading = true;
    simple_lock_leave(&turn_lock, s);
    return error ? -ERESTART : 0;
}

static void end_turn(void)
{
    crit_t s = simple_lock_enter(&turn_lock);
    reading = false;
    thread_wakeup(&reading);
    simple_lock_leave(&turn_lock, s);
}

static int console_file_read(struct file *f, struct transfer *t)
{
    (void)f;
    int error = take_turn();
    if (error)
        return error;
    int result = line_at < line_end ? 0 : t->has_some ? -EAGAIN : fill_line();
    if (!result) {
        uint32_t n = line_end - line_at < t->left ? line_end - line_at : t->left;
        result = transfer_out(t, line + line_at, n) ? -EFAULT : (int)n;
        if (result > 0)
            line_at += n;
    }
    end_turn();
    return result;
}

static int console_file_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    static const uint16_t size[4] = {24, 80};
    (void)f;
    switch (request) {
    case USER_TIOCGWINSZ: return copyout(map, argument, size, sizeof size);
    case USER_TIOCGPGRP: return copyout(map, argument, &foreground, sizeof foreground);
    case USER_TIOCSPGRP: return copyin(map, &foreground, argument, sizeof foreground);
    default: return -ENOTTY;
    }
}

static int console_file_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    *to = (struct user_stat){.ino = 1, .mode = S_IFCHR | 0620, .nlink = 1, .rdev = 1, .blksize = WRITE_PIECE};
    return 0;
}

static const struct file_ops console_ops = {.name = "console",
                                            .read = console_file_read,
                                            .write = console_file_write,
                                            .ioctl = console_file_ioctl,
                                            .stat = console_file_stat};

struct file *console_file(void)
{
    return file_create(&console_ops, 0, FILE_READ | FILE_WRITE, 0);
}
