/* ln [-s] FILE NAME: -s: a symbolic link with that text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int symbolic = argc > 1 && !strcmp(argv[1], "-s");
    if (argc != 3 + symbolic) {
        fprintf(stderr, "ln: give [-s] FILE NAME\n");
        return 2;
    }
    const char *file = argv[1 + symbolic], *name = argv[2 + symbolic];
    if (!(symbolic ? symlink(file, name) : link(file, name)))
        return 0;
    fprintf(stderr, "ln: %s: %s\n", name, strerror(errno));
    return 1;
}
