/* wc [FILE...]: lines, words and bytes of each file, and the sum of several; none: of standard input. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned long all[3];

static void print(const unsigned long *n, const char *name)
{
    printf("%7lu %7lu %7lu%s%s\n", n[0], n[1], n[2], *name ? " " : "", name);
}

static int count(int fd, const char *name)
{
    static char buffer[4096];
    unsigned long n[3] = {0};
    int inside = 0;
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0) {
        n[2] += (unsigned long)got;
        for (ssize_t i = 0; i < got; i++) {
            int blank = isspace((unsigned char)buffer[i]);
            n[0] += buffer[i] == '\n';
            n[1] += !blank && !inside;
            inside = !blank;
        }
    }
    if (got < 0) {
        fprintf(stderr, "wc: %s: %s\n", name, strerror(errno));
        return 1;
    }
    for (int i = 0; i < 3; i++)
        all[i] += n[i];
    print(n, name);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc < 2 ? count(STDIN_FILENO, "") : 0;
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);
        if (fd < 0) {
            fprintf(stderr, "wc: %s: %s\n", argv[i], strerror(errno));
            status = 1;
            continue;
        }
        status |= count(fd, argv[i]);
        close(fd);
    }
    if (argc > 2)
        print(all, "total");
    return fflush(stdout) ? 1 : status;
}
