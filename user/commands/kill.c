/* kill [-SIGNAL] ID...: sends the signal, by name or number, TERM without one. kill -l: their names. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    fputs("usage: kill [-SIGNAL] ID... | kill -l\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int number = SIGTERM, i = 1, status = 0;
    if (argc == 2 && !strcmp(argv[1], "-l")) {
        char name[SIG2STR_MAX];
        for (int s = 1; s < NSIG; s++)
            if (!sig2str(s, name))
                printf("%2d %s\n", s, name);
        return 0;
    }
    if (i < argc && argv[i][0] == '-') {
        const char *name = argv[i++] + 1;
        if (!strcmp(name, "0"))
            number = 0;
        else if (str2sig(strncmp(name, "SIG", 3) ? name : name + 3, &number)) {
            fprintf(stderr, "kill: %s: there is no such signal; kill -l lists them\n", name);
            return 2;
        }
    }
    if (i == argc)
        return usage();
    for (; i < argc; i++) {
        char *end;
        long id = strtol(argv[i], &end, 10);
        if (*end || end == argv[i])
            return usage();
        if (kill((pid_t)id, number)) {
            fprintf(stderr, "kill: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    }
    return status;
}
