/*
 * Whose processor time is counted where: a process, a thread of it, its child or its grandchild uses some, the
 * processes end in several ways, and each is waited for or not. Prints whether the time is the caller's own, its
 * children's, or neither.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "judge.h"

#define BURN_US 12000
#define SOME_US 8000 /* ticks are counted, so a little is missing, ... */
#define NONE_US 5000 /* ... and what else it does takes this at most */

enum who { SELF, THREAD, CHILD, GRANDCHILD, USERS };
enum end { EXIT, KILLED, EXEC_OF_IT, ENDS };
enum fate { AWAITED, LEFT, IGNORED, NO_WAIT, FATES }; /* what the child does about the grandchild */
static const char *const user_names[] = {"itself", "a thread", "the child", "the grandchild"};
static const char *const end_names[] = {"exits", "is killed", "executes a program"};
static const char *const fate_names[] = {"awaited", "left", "SIGCHLD ignored", "SA_NOCLDWAIT"};

/* In user mode. */
static long used(int whose)
{
    struct rusage r;
    getrusage(whose, &r);
    return r.ru_utime.tv_sec * 1000000L + r.ru_utime.tv_usec;
}

static void burn(void)
{
    long end = used(RUSAGE_SELF) + BURN_US;
    while (used(RUSAGE_SELF) < end)
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void *burns(void *arg)
{
    burn();
    return arg;
}

static const char *amount(long us)
{
    return us >= SOME_US ? "some" : us <= NONE_US ? "none" : "in between";
}

static char *self;

static void end_by(enum end end)
{
    if (end == KILLED)
        kill(getpid(), SIGKILL);
    if (end == EXEC_OF_IT)
        execl(self, self, "ends", (char *)0);
    _exit(0);
}

static void in_child(enum who who, enum end end, enum fate fate)
{
    struct sigaction action = {.sa_handler = fate == IGNORED ? SIG_IGN : SIG_DFL,
                               .sa_flags = fate == NO_WAIT ? SA_NOCLDWAIT : 0};
    int status;
    if (who == CHILD)
        burn();
    if (who == GRANDCHILD) {
        sigaction(SIGCHLD, &action, 0);
        int ended[2];
        pipe(ended);
        pid_t id = fork();
        if (!id) {
            close(ended[0]);
            fcntl(ended[1], F_SETFD, FD_CLOEXEC);
            burn();
            end_by(end);
        }
        close(ended[1]);
        char c;
        read(ended[0], &c, 1); /* its end, or its execve */
        if (fate == AWAITED)
            waitpid(id, &status, 0);
        if (fate == IGNORED || fate == NO_WAIT)
            waitpid(-1, &status, 0);
        end = EXIT;
    }
    end_by(end);
}

static void one(enum who who, enum end end, enum fate fate)
{
    long before = used(RUSAGE_SELF), children = used(RUSAGE_CHILDREN);
    pthread_t t;
    int status;
    if (who == SELF)
        burn();
    if (who == THREAD && !pthread_create(&t, 0, burns, 0))
        pthread_join(t, 0);
    char label[80];
    snprintf(label, sizeof label, "%s, %s, %s", user_names[who], end_names[end], fate_names[fate]);
    if (who >= CHILD) {
        pid_t id = fork();
        if (!id)
            in_child(who, end, fate);
        siginfo_t info;
        waitid(P_PID, (id_t)id, &info, WEXITED | WNOWAIT);
        SAY(label, "children's before it is awaited: %s",
            amount(used(RUSAGE_CHILDREN) - children)); /* it has ended, and is not awaited yet */
        waitpid(id, &status, 0);
    }
    long own = used(RUSAGE_SELF) - before;
    SAY(label, "own: %s", amount(own));
    SAY(label, "children's: %s", amount(used(RUSAGE_CHILDREN) - children));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && !strcmp(argv[1], "ends"))
        return 0;
    judge_begin(argc, argv);
    for (int who = 0; who < USERS; who++)
        for (int end = 0; end < (who >= CHILD ? ENDS : 1); end++)
            for (int fate = 0; fate < (who == GRANDCHILD ? FATES : 1); fate++)
                if (TAKEN)
                    one((enum who)who, (enum end)end, (enum fate)fate);
    return 0;
}
