/* Says hello, with its arguments and how many harts there are, through the C library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/lib/system.h"

int main(int argc, char **argv)
{
    char *text = malloc(256);
    if (!text)
        return 1;
    *text = 0;
    for (int i = 1; i < argc; i++) {
        strlcat(text, " ", 256);
        strlcat(text, argv[i], 256);
    }
    printf("hello from %s, process %d%s, harts %ld\n", argv[0], (int)getpid(), text, sysconf(_SC_NPROCESSORS_ONLN));
    free(text);
    return 0;
}
