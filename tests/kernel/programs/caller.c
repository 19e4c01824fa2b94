/* caller WAY COUNT: makes system calls of one kind in a loop, and nothing else between them (kernel/test/calling.c). */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd, ends[2];
static char text[64];

static void handler(int number)
{
    (void)number;
}

static int asks_for_its_id(void)
{
    return getpid() > 0;
}

static int reads(void)
{
    return read(fd, text, sizeof text) == sizeof text;
}

static int pipes(void)
{
    return write(ends[1], "text", 4) == 4 && read(ends[0], text, sizeof text) == 4;
}

/* Each page faults, and allocates and frees kernel memory. */
static int maps(void)
{
    char *page = mmap(0, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; page != MAP_FAILED && i < 8; i++)
        page[i * 4096] = 1;
    return page != MAP_FAILED && munmap(page, 8 * 4096) == 0;
}

static int sets_its_alarm(void)
{
    return alarm(1000) <= 1000;
}

static int signals(void)
{
    return kill(getpid(), SIGUSR1) == 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*call)(void);
        int times; /* short calls are repeated more often */
    } ways[] = {{"id", asks_for_its_id, 8}, {"read", reads, 8},           {"pipe", pipes, 1},
                {"map", maps, 1},           {"alarm", sets_its_alarm, 8}, {"signal", signals, 1}};
    signal(SIGUSR1, handler);
    if (argc != 3 || pipe(ends) || (fd = open("/dev/zero", O_RDONLY)) < 0)
        return 2;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name)) {
            for (int n = atoi(argv[2]) * ways[i].times; n > 0; n--)
                if (!ways[i].call())
                    return 1;
            return 0;
        }
    return 2;
}
