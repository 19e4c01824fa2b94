/*
 * run FOLDER WORK FAMILY:PART...: runs the programs FOLDER/FAMILY PART, each in a new folder WORK/FAMILY, with its
 * output in WORK/FAMILY.out and, as its last line, how it ended.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void fails(const char *what)
{
    perror(what);
    exit(1);
}

int main(int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        char program[256], work[256], out[256], *part = strchr(argv[i], ':');
        if (!part)
            fails(argv[i]);
        *part++ = 0;
        snprintf(program, sizeof program, "%s/%s", argv[1], argv[i]);
        snprintf(work, sizeof work, "%s/%s", argv[2], argv[i]);
        snprintf(out, sizeof out, "%s/%s.out", argv[2], argv[i]);
        int fd = open(out, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644), status;
        if (fd < 0 || mkdir(work, 0755) || chdir(work))
            fails(work);
        pid_t child = fork();
        if (child < 0)
            fails("fork");
        if (!child) {
            int in = open("/dev/null", O_RDONLY);
            setsid(); /* what it sends its group is not for others */
            dup2(in, 0);
            dup2(fd, 1);
            close(in);
            close(fd);
            execl(program, program, part, (char *)0);
            perror(program);
            _exit(99);
        }
        if (waitpid(child, &status, 0) != child)
            fails("waitpid");
        char text[64];
        int n = snprintf(text, sizeof text, "main: end = %s %d\n", WIFEXITED(status) ? "exit" : "signal",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        if (write(fd, text, (size_t)n) != n)
            fails(out);
        close(fd);
    }
    return 0;
}
