/* chmod MODE FILE...: an octal mode. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    int status = argc < 3 ? 2 : 0;
    for (int i = 2; i < argc; i++)
        if (chmod(argv[i], (mode_t)strtoul(argv[1], 0, 8))) {
            fprintf(stderr, "chmod: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    return status;
}
