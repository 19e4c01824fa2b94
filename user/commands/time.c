/* time COMMAND [WORD...]: runs it, and says what time passed and was spent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIGNALLED 128
#define NOT_FOUND 127

static void line(const char *what, long long seconds, long microseconds)
{
    fprintf(stderr, "%-4s %lld.%06ld\n", what, seconds, microseconds);
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    struct rusage used = {0};
    int status;
    if (argc < 2) {
        fputs("usage: time COMMAND [WORD...]\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t id = fork();
    if (!id) {
        execvp(argv[1], argv + 1);
        fprintf(stderr, "time: %s: %s\n", argv[1], strerror(errno));
        fflush(stderr);
        _exit(NOT_FOUND);
    }
    if (id < 0 || wait4(id, &status, 0, &used) < 0) {
        fprintf(stderr, "time: %s\n", strerror(errno));
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    long long elapsed = (end.tv_sec - begin.tv_sec) * 1000000LL + (end.tv_nsec - begin.tv_nsec) / 1000;
    line("real", elapsed / 1000000, (long)(elapsed % 1000000));
    line("user", (long long)used.ru_utime.tv_sec, (long)used.ru_utime.tv_usec);
    line("sys", (long long)used.ru_stime.tv_sec, (long)used.ru_stime.tv_usec);
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}
