/* The console as processes read it (console.h). */
#include "user/console.h"

#include <errno.h>
#include <string.h>

#include "dev/console.h"
#include "user/futex.h"

DEFINE_MUTEX(reading, "console reading");

static bool gives_up(void *arg)
{
    return ((struct process *)arg)->ending;
}

int user_console_read(struct process *p, uint32_t to, uint32_t n)
{
    char line[USER_LINE_SIZE];
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
    return space_copy_out(&p->space, to, line, length) ? -EFAULT : (int)length;
}
