/*
 * run FOLDER WORK FAMILY:PART...: runs the programs FOLDER/FAMILY PART, each in a new folder WORK/FAMILY, with its
 * output in WORK/FAMILY.out and, as its last line, how it ended. Prints on standard error how long each took, and how
 * much processor time.
 *
 * A program writes into a pipe: a line into a file takes five times as long. The console
 * is no session's terminal, so each may acquire it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAST "main: end = "

static void fails(const char *what)
{
    perror(what);
    exit(1);
}

static long milliseconds_of(struct timeval t)
{
    return (long)t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* In a process of its own: runs the family, and prints its end in one line. Its children may keep the pipe open. */
static void family(const char *program, const char *part, int to)
{
    struct timespec begin, end;
    struct rusage used;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    if (child < 0)
        fails("fork");
    if (!child) {
        int in = open("/dev/null", O_RDONLY);
        setsid(); /* its signals to its group must not reach others */
        dup2(in, 0);
        dup2(to, 1);
        close(in);
        close(to);
        execl(program, program, part, (char *)0);
        perror(program);
        _exit(99);
    }
    if (waitpid(child, &status, 0) != child)
        fails("waitpid");
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_CHILDREN, &used);
    fprintf(stderr, "%s: %ld ms, %ld of a processor\n", strrchr(program, '/') + 1,
            (long)(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000,
            milliseconds_of(used.ru_utime) + milliseconds_of(used.ru_stime));
    char text[64];
    int n = snprintf(text, sizeof text, LAST "%s %d\n", WIFEXITED(status) ? "exit" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    _exit(write(to, text, (size_t)n) != n);
}

static size_t last_line(const char *text, size_t n)
{
    while (n && text[n - 1] != '\n')
        n--;
    return n;
}

/* Whether the last line is there, and complete. */
static int is_over(const char *text, size_t n)
{
    size_t at = n && text[n - 1] == '\n' ? last_line(text, n - 1) : n;
    return n - at > strlen(LAST) && !memcmp(text + at, LAST, strlen(LAST));
}

int main(int argc, char **argv)
{
    static char text[16384];
    signal(SIGHUP, SIG_IGN);
    ioctl(0, TIOCNOTTY);
    signal(SIGHUP, SIG_DFL);
    for (int i = 3; i < argc; i++) {
        char program[256], work[256], out[256], *part = strchr(argv[i], ':');
        int ends[2];
        size_t n = 0;
        if (!part)
            fails(argv[i]);
        *part++ = 0;
        snprintf(program, sizeof program, "%s/%s", argv[1], argv[i]);
        snprintf(work, sizeof work, "%s/%s", argv[2], argv[i]);
        snprintf(out, sizeof out, "%s/%s.out", argv[2], argv[i]);
        int fd = open(out, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0 || mkdir(work, 0755) || chdir(work) || pipe2(ends, O_CLOEXEC))
            fails(work);
        pid_t keeper = fork();
        if (keeper < 0)
            fails("fork");
        if (!keeper)
            family(program, part, ends[1]);
        close(ends[1]);
        for (int over = 0; !over;) {
            ssize_t more = read(ends[0], text + n, sizeof text - n);
            if (more < 0)
                fails("read");
            n += (size_t)more;
            over = !more || is_over(text, n);
            size_t whole = over ? n : n > sizeof text / 2 ? last_line(text, n) : 0;
            if (write(fd, text, whole) != (ssize_t)whole)
                fails(out);
            if (whole) /* else the C library moves the offset back */
                memmove(text, text + whole, n -= whole);
        }
        waitpid(keeper, 0, 0);
        close(ends[0]);
        close(fd);
    }
    return 0;
}
