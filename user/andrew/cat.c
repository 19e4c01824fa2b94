/* cat [FILE...]: the files one after the other; `-`, or none: standard input. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int copy(int fd, const char *name)
{
    static char buffer[4096];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0, more; at < n; at += more)
            if ((more = write(STDOUT_FILENO, buffer + at, (size_t)(n - at))) < 0) {
                fprintf(stderr, "cat: %s\n", strerror(errno));
                return 1;
            }
    if (n < 0)
        fprintf(stderr, "cat: %s: %s\n", name, strerror(errno));
    return n < 0;
}

int main(int argc, char **argv)
{
    int status = argc < 2 ? copy(STDIN_FILENO, "-") : 0;
    for (int i = 1; i < argc; i++) {
        int fd = strcmp(argv[i], "-") ? open(argv[i], O_RDONLY) : STDIN_FILENO;
        if (fd < 0) {
            fprintf(stderr, "cat: %s: %s\n", argv[i], strerror(errno));
            status = 1;
            continue;
        }
        status |= copy(fd, argv[i]);
        if (fd)
            close(fd);
    }
    return status;
}
