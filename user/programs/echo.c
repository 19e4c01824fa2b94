/*
 * echo: asks for a line on the console and shows what it got. echo leave: a second thread exits with 3 while the
 * first waits for a line that does not come.
 */
#include <stdio.h>

#include "user/lib/system.h"

static uint8_t stack[1024];

static void leave(void *arg)
{
    (void)arg;
    sleep_for(0, 2000000);
    system_call(SYS_EXIT, 3, 0, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    char line[32];
    if (argc > 1)
        thread_start(leave, 0, stack, sizeof stack);
    else
        write(1, "> ", 2);
    int n = read(0, line, sizeof line);
    printf("read %d: %.*s", n, n > 0 ? n : 0, line);
    return n <= 0;
}
