/*
 * System calls on the console (abi.h). It is read by the line. Locking: a mutex lets one thread at a time read a line.
 */
#include "dev/console.h"

#include <errno.h>
#include <string.h>

#include "lib/syscall.h"
#include "user/futex.h"

#define LINE_SIZE 128   /* of a line typed for a process, with its end; what is longer is cut */
#define WRITE_PIECE 128 /* bytes that go to the console at a time */

DEFINE_MUTEX(reading, "console reading");

static int sys_write(struct process *p, struct space *space, const uint32_t *a)
{
    if (a[0] != 1 && a[0] != 2)
        return -EBADF;
    uint32_t done = 0, most = a[2] < INT32_MAX ? a[2] : INT32_MAX;
    while (done < most && !p->ending) {
        char piece[WRITE_PIECE];
        uint32_t n = most - done < sizeof piece ? most - done : sizeof piece;
        if (space_copy_in(space, piece, a[1] + done, n))
            return done ? (int)done : -EFAULT;
        console_write(piece, n);
        done += n;
    }
    return (int)done;
}
SYSCALL(SYS_WRITE, sys_write);

static bool gives_up(void *arg)
{
    return ((struct process *)arg)->ending;
}

static int sys_read(struct process *p, struct space *space, const uint32_t *a)
{
    char line[LINE_SIZE];
    uint32_t to = a[1], n = a[2];
    if (a[0] != 0)
        return -EBADF;
    while (!mutex_try(&reading))
        if (user_sleep(1))
            return -EINTR;
    bool complete = console_read_line_unless(line, sizeof line - 1, gives_up, p);
    mutex_unlock(&reading);
    if (!complete)
        return -EINTR;
    uint32_t length = strlen(line);
    line[length++] = '\n';
    if (length > n)
        length = n;
    return space_copy_out(space, to, line, length) ? -EFAULT : (int)length;
}
SYSCALL(SYS_READ, sys_read);
