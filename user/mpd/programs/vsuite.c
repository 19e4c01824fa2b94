/*
 * Executes the programs that a list names, one a line (`list`, or its argument), and says what became of each: the
 * verification suite on the machine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char name[64];
    const char *names = argc > 1 ? argv[1] : "list";
    FILE *list = fopen(names, "r");
    int nothing = open("/dev/null", O_RDONLY); /* what they read */
    if (!list || nothing < 0 || dup2(nothing, 0) < 0) {
        perror(list ? "/dev/null" : names);
        return 1;
    }
    while (fgets(name, sizeof name, list)) {
        name[strcspn(name, "\n")] = 0;
        printf("@begin %s\n", name);
        fflush(stdout);
        pid_t child = vfork();
        if (!child) {
            execve(name, (char *[]){name, NULL}, (char *[]){NULL});
            _exit(127);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0) {
            perror(name);
            return 1;
        }
        printf("@end %s %d\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    printf("@suite done=1\n");
    return 0;
}
