/* sleep SECONDS: with a fraction, if need be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    char *end = "";
    double seconds = argc == 2 ? strtod(argv[1], &end) : -1;
    if (!(seconds >= 0 && seconds < 1e9) || *end || end == argv[1]) {
        fputs("usage: sleep SECONDS\n", stderr);
        return 2;
    }
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
    return 0;
}
