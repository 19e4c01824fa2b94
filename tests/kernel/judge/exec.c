/*
 * What execve takes: scripts with their interpreter, files that are no programs, arguments up to their limit; what
 * posix_spawn passes on.
 */
#include <limits.h>
#include <spawn.h>
#include <sys/resource.h>

#include "say.h"

extern char **environ;

static const char *self;
static char folder[256];

static void run(const char *what, int how, char *const argv[])
{
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        if (how == 0)
            execve(argv[0], argv, environ);
        else if (how == 1)
            execvp(argv[0], argv);
        say("%s: %s", what, judge_error(errno));
        _exit(100);
    }
    say_wait(what, id, 0);
}

/* Scripts of all kinds, in the family's folder. */
static void write_scripts(void)
{
    char x[401], nested[300], loops[300], by_self[4][300];
    for (unsigned i = 0; i < 400; i++)
        x[i] = "/x"[i % 2];
    x[400] = 0;
    snprintf(nested, sizeof nested, "#!%s/shows\n", folder);
    snprintf(loops, sizeof loops, "#!%s/loops\n", folder);
    snprintf(by_self[0], sizeof by_self[0], "#!%s shows\n", self);
    snprintf(by_self[1], sizeof by_self[1], "#!%s shows \nrest", self);
    snprintf(by_self[2], sizeof by_self[2], "#! \t%s shows  many words \n", self);
    snprintf(by_self[3], sizeof by_self[3], "#!%s shows", self);
    const char *const texts[][3] = {{"shows", by_self[0], ""},
                                    {"with-word", by_self[1], ""},
                                    {"with-words", by_self[2], ""},
                                    {"nested", nested, ""},
                                    {"no-newline", by_self[3], ""},
                                    {"no-interpreter", "#!/nonsense/interpreter\n", ""},
                                    {"blanks", "#!   \n", ""},
                                    {"text", "exit 9\n", ""},
                                    {"empty", "", ""},
                                    {"loops", loops, ""},
                                    {"long", "#!", x},
                                    {0}};
    for (unsigned i = 0; texts[i][0]; i++) {
        int fd = open(texts[i][0], O_CREAT | O_WRONLY | O_TRUNC, 0755);
        write(fd, texts[i][1], strlen(texts[i][1]));
        write(fd, texts[i][2], strlen(texts[i][2]));
        close(fd);
    }
}

static void scripts(void)
{
    static const char *const names[] = {"shows",          "with-word",  "with-words", "nested",
                                        "no-interpreter", "no-newline", "blanks",     "text",
                                        "empty",          "loops",      "long"};
    for (int how = 0; how < 2; how++)
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
            char path[256];
            if (!TAKEN)
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            char *const argv[] = {path, "one", "two words", "", 0};
            char what[64];
            snprintf(what, sizeof what, "%s %s", how ? "execvp" : "execve", names[i]);
            run(what, how, argv);
        }
    setenv("PATH", folder, 1);
    char *const argv[] = {"text", "three", 0}, *const none[] = {"nonsense", 0}, *const bare[] = {"shows", 0};
    run("by PATH", 1, argv);
    run("by PATH", 1, none);
    run("by PATH", 1, bare);
}

/* The strings' sizes, from little to much, arrive whole. */
static void arguments(void)
{
    say("ARG_MAX suffices: %d", sysconf(_SC_ARG_MAX) >= _POSIX_ARG_MAX);
    static const unsigned sizes[] = {1, 4095, 4096, 4097, 8192, 30000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!TAKEN)
            continue;
        char *one = malloc(sizes[i] + 1), half[16];
        memset(one, 'a' + (int)i, sizes[i]);
        one[sizes[i]] = 0;
        snprintf(half, sizeof half, "%u", sizes[i]);
        char *const argv[] = {(char *)self, "counts", half, one, "end", 0};
        char *const envp[] = {"A=1", "B=2", 0};
        pid_t id = fork();
        if (!id) {
            execve(self, argv, envp);
            _exit(100);
        }
        say_wait("one long word", id, 0);
        free(one);
    }
    static const unsigned counts[] = {1, 100, 700};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!TAKEN)
            continue;
        char **argv = calloc(counts[i] + 4, sizeof *argv), text[16];
        snprintf(text, sizeof text, "%u", counts[i]);
        argv[0] = (char *)self;
        argv[1] = "many";
        argv[2] = text;
        for (unsigned k = 0; k < counts[i]; k++)
            argv[3 + k] = "word";
        pid_t id = fork();
        if (!id) {
            execve(self, argv, environ);
            _exit(100);
        }
        say_wait("many words", id, 0);
        free(argv);
    }
    size_t too_many = (size_t)sysconf(_SC_ARG_MAX) + 1;
    char *all = malloc(too_many + 1);
    if (all) {
        memset(all, 'x', too_many);
        all[too_many] = 0;
        char *const argv[] = {(char *)self, all, 0};
        execve(self, argv, environ);
        say("beyond: %s", judge_error(errno));
        free(all);
    }
}

static void spawns(void)
{
    pid_t id;
    char *const argv[] = {(char *)self, "state", 0}, *const none[] = {"/nonsense", 0};
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGUSR2, SIG_IGN);
    int error = posix_spawn(&id, self, 0, 0, argv, environ); /* the child prints, too: its result is printed later */
    say_wait("spawned", id, 0);
    say("posix_spawn: %s", judge_error(error));
    posix_spawnattr_t a;
    posix_spawnattr_init(&a);
    SAID(posix_spawnattr_setsigmask(&a, &old));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    SAID(posix_spawnattr_setsigdefault(&a, &set));
    SAID(posix_spawnattr_setpgroup(&a, 0));
    SAID(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
    error = posix_spawn(&id, self, 0, &a, argv, environ);
    say_wait("with attributes", id, 0);
    say("posix_spawn: %s", judge_error(error));
    posix_spawnattr_destroy(&a);
    posix_spawn_file_actions_t f;
    int ends[2];
    char text[64];
    pipe(ends);
    posix_spawn_file_actions_init(&f);
    SAID(posix_spawn_file_actions_adddup2(&f, ends[1], 9));
    SAID(posix_spawn_file_actions_addclose(&f, ends[0]));
    SAID(posix_spawn_file_actions_addclose(&f, ends[1]));
    SAID(posix_spawn_file_actions_addopen(&f, 8, "/dev/null", O_RDONLY, 0));
    char *const writes[] = {(char *)self, "writes", 0};
    SAID(posix_spawn(&id, self, &f, 0, writes, environ));
    close(ends[1]);
    long n = read(ends[0], text, sizeof text);
    say("%.*s", n < 0 ? 0 : (int)n, text);
    say_wait("with actions", id, 0);
    posix_spawn_file_actions_destroy(&f);
    posix_spawn_file_actions_init(&f);
    posix_spawn_file_actions_addopen(&f, 8, "/nonsense/file", O_RDONLY, 0);
    say("an action that fails: %s", judge_error(posix_spawn(&id, self, &f, 0, writes, environ)));
    posix_spawn_file_actions_destroy(&f);
    close(ends[0]);
    say("nothing there: %s", judge_error(posix_spawn(&id, "/nonsense", 0, 0, none, environ)));
    say("nothing there: %s", judge_error(posix_spawnp(&id, "nonsense", 0, 0, none, environ)));
    setenv("PATH", folder, 1);
    char *const by_path[] = {"shows", "by path", 0};
    error = posix_spawnp(&id, "shows", 0, 0, by_path, environ);
    say_wait("by PATH", id, 0);
    say("by PATH: %s", judge_error(error));
    sigprocmask(SIG_SETMASK, &old, 0);
    signal(SIGUSR2, SIG_DFL);
    SAID(waitpid(-1, 0, WNOHANG));
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1 && !strcmp(argv[1], "state")) {
        sigset_t now;
        struct sigaction action;
        sigprocmask(SIG_BLOCK, 0, &now);
        sigaction(SIGUSR2, 0, &action);
        say("masked %d %d %d, ignored %d, leads a group %d", sigismember(&now, SIGUSR1), sigismember(&now, SIGHUP),
            sigismember(&now, SIGTERM), action.sa_handler == SIG_IGN, getpgrp() == getpid());
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "writes")) {
        char c;
        return write(9, "written", 7) == 7 && read(8, &c, 1) == 0 ? 0 : 1;
    }
    if (argc > 3 && !strcmp(argv[1], "counts")) {
        unsigned n = (unsigned)atoi(argv[2]), wrong = strlen(argv[3]) != n;
        for (unsigned i = 0; i < n; i++)
            wrong += argv[3][i] != argv[3][0];
        say("%u bytes, %u wrong, then %s %s %s", n, wrong, argv[4], environ[0], environ[1]);
        return argc;
    }
    if (argc > 2 && !strcmp(argv[1], "many")) {
        unsigned wrong = 0;
        for (int i = 3; i < argc; i++)
            wrong += strcmp(argv[i], "word") != 0;
        say("%d words, %u wrong", argc - 3, wrong);
        return 0;
    }
    if (argc > 1 && !strncmp(argv[1], "shows", 5)) { /* for scripts: its arguments without folders */
        for (int i = 0; i < argc; i++) {
            const char *slash = strrchr(argv[i], '/');
            say("argument %d: '%s'", i, slash ? slash + 1 : argv[i]);
        }
        return argc;
    }
    judge_begin(argc, argv);
    if (!getcwd(folder, sizeof folder))
        return 98;
    write_scripts();
    scripts();
    arguments();
    spawns();
    return 0;
}
