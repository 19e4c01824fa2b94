/*
 * vfork, whose child runs in its parent's memory, and the state of a process outside that memory: descriptors,
 * folder, masks, handlers. Then a tree of such children that act at random.
 */
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "say.h"

extern char **environ;

static volatile int shared, handled[4];
static sem_t sem;

static void count(int number)
{
    handled[number == SIGUSR1 ? 0 : number == SIGUSR2 ? 1 : 2]++;
}

/* The break is the memory's: a child's move is its parent's. */
static void breaks(void)
{
    char *volatile before = sbrk(0);
    volatile int moves[3] = {8192, -4096, 12288};
    volatile long at = 0;
    for (volatile int i = 0; i < 3; i++) {
        at += moves[i];
        pid_t id = vfork();
        if (!id) {
            sbrk(moves[i]);
            if (moves[i] > 0)
                memset((char *)sbrk(0) - moves[i], 'a' + i, (size_t)moves[i]);
            _exit(i);
        }
        say_wait("moves the break", id, 0);
        say("the break is where the child left it: %d", (char *)sbrk(0) - before == at);
        say("and can be moved: %d", (char *)sbrk(4096) - before == at);
        at += 4096;
        say("memory: %d %d", before[0], before[at - 4097]);
    }
    char *more = malloc(200000);
    say("malloc: %d", more != 0);
    if (more)
        memset(more, 1, 200000);
    free(more);
    pid_t id = vfork();
    if (!id) {
        char *of_child = malloc(100000);
        memset(of_child, 3, 100000);
        shared = of_child[99999];
        free(of_child);
        _exit(0);
    }
    say_wait("mallocs", id, 0);
    say("its memory is ours: %d", shared);
    more = malloc(300000);
    say("malloc: %d", more != 0);
    free(more);
    fflush(stdout);
    id = fork(); /* a copy, with the break */
    if (!id) {
        char *here = sbrk(0);
        _exit((char *)sbrk(4096) == here && (char *)sbrk(-4096) == here + 4096 ? 0 : 1);
    }
    say_wait("forked after it", id, 0);
}

static void belongings(void)
{
    int ends[2];
    char folder[256], other[256];
    sigset_t set, old;
    SAID(pipe(ends));
    getcwd(folder, sizeof folder);
    handle(SIGUSR1, count, 0);
    pid_t id = vfork();
    if (!id) {
        close(ends[0]);
        close(ends[1]);
        chdir("/");
        umask(077);
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, 0);
        handle(SIGUSR1, SIG_IGN, 0);
        setpgid(0, 0);
        shared = 5;
        _exit(3);
    }
    say_wait("changes all", id, 0);
    say("memory %d", shared);
    SAID(write(ends[1], "x", 1));
    getcwd(other, sizeof other);
    say("folder stays: %d", !strcmp(folder, other));
    mode_t mask = umask(022);
    umask(mask);
    say("umask stays: %d", mask != 077);
    sigprocmask(SIG_BLOCK, 0, &old);
    say("mask stays: %d", !sigismember(&old, SIGUSR1));
    kill(getpid(), SIGUSR1);
    say("handler stays: %d", handled[0]);
    close(ends[0]);
    close(ends[1]);
}

static void executes(const char *self)
{
    char *const good[] = {(char *)self, "exit", "7", 0}, *const bad[] = {"/nonsense", 0};
    pid_t id = vfork();
    if (!id) {
        execve(self, good, environ);
        _exit(1);
    }
    say_wait("executes", id, 0);
    id = vfork();
    if (!id) {
        execve("/nonsense", bad, environ);
        shared = errno;
        _exit(2);
    }
    say_wait("fails to", id, 0);
    say("%s", judge_error(shared));
    /* The parent continues when the child executes, not when it ends. */
    char *const waits[] = {(char *)self, "wait", 0};
    id = vfork();
    if (!id) {
        execve(self, waits, environ);
        _exit(1);
    }
    say("waitpid: %d", waitpid(id, 0, WNOHANG));
    SAID(kill(id, SIGKILL));
    say_wait("runs", id, 0);
}

/* Signals to a parent that waits for a child in its memory. */
static void signals(void)
{
    int ends[2];
    char c;
    handle(SIGUSR1, count, 0);
    handled[0] = 0;
    pipe(ends);
    /* A handler waits until the memory is back. */
    pid_t id = vfork();
    if (!id) {
        for (int i = 0; i < 3; i++)
            kill(getppid(), SIGUSR1);
        shared = handled[0];
        _exit(0);
    }
    say("handled before %d, now %d", shared, handled[0]);
    say_wait("sends", id, 0);
    /* A signal without a handler ends it at once; its child continues in the memory. */
    static const int fatal[] = {SIGTERM, SIGKILL, SIGALRM};
    for (volatile unsigned i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        if (!TAKEN)
            continue;
        pid_t middle = fork();
        if (!middle) {
            volatile int kept = 17;
            if (fatal[i] == SIGALRM)
                ualarm(20000, 0);
            id = vfork();
            if (!id) {
                pid_t parent = getppid();
                if (fatal[i] != SIGALRM)
                    kill(parent, fatal[i]);
                for (int turn = 0; turn < 1000 && getppid() == parent; turn++)
                    milliseconds(1);
                char *more = malloc(50000);
                if (more)
                    memset(more, kept, 50000);
                c = getppid() != parent && more && more[49999] == kept ? 'y' : 'n';
                write(ends[1], &c, 1);
                _exit(0);
            }
            _exit(kept);
        }
        say_wait("the lender", middle, 0);
        c = 0;
        SAID(read(ends[0], &c, 1));
        say("its child lives on: %c", c);
    }
    close(ends[0]);
    close(ends[1]);
}

struct lending {
    int up[2], down[2];
    pid_t child;
    int says;
};

static void *lends(void *arg)
{
    struct lending *volatile l = arg;
    pid_t id = vfork();
    if (!id) {
        char c = 'v';
        l->child = getpid();
        write(l->up[1], &c, 1);
        read(l->down[0], &c, 1);
        _exit(c);
    }
    if (l->says)
        say_wait("a thread's child", id, 0);
    return 0;
}

static void begin_lending(struct lending *l, pthread_t *thread)
{
    char c;
    pipe(l->up);
    pipe(l->down);
    pthread_create(thread, 0, lends, l);
    read(l->up[0], &c, 1);
}

static void end_lending(struct lending *l, pthread_t thread, char c)
{
    write(l->down[1], &c, 1);
    pthread_join(thread, 0);
    for (int i = 0; i < 2; i++) {
        close(l->up[i]);
        close(l->down[i]);
    }
}

static void *posts(void *arg)
{
    (void)arg;
    pid_t id = vfork();
    if (!id) {
        sem_post(&sem);
        _exit(0);
    }
    waitpid(id, 0, 0);
    return 0;
}

/* One of several threads in vfork: the others go on, take signals, fork, execute, end. */
static void threads(const char *self)
{
    struct lending *l = mmap(0, 2 * sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct lending *other = l + 1;
    pthread_t thread, second;
    l->says = other->says = 1;
    handle(SIGUSR1, count, 0);
    handled[0] = 0;
    begin_lending(l, &thread);
    kill(getpid(), SIGUSR1);
    for (int turn = 0; turn < 1000 && !handled[0]; turn++)
        milliseconds(1);
    say("another thread takes the signal: %d", handled[0]);
    begin_lending(other, &second);
    pid_t id = fork();
    if (!id)
        _exit(sbrk(4096) == (void *)-1);
    say_wait("forked meanwhile", id, 0);
    end_lending(other, second, 2);
    end_lending(l, thread, 3);
    /* A wake-up crosses from the child to a thread of the parent that sleeps on the same word. */
    sem_init(&sem, 0, 0);
    pthread_create(&thread, 0, posts, 0);
    SAID(sem_wait(&sem));
    pthread_join(thread, 0);
    for (int which = 0; which < 3; which++) {
        int alive[2];
        pipe(alive);
        id = fork();
        if (!id) {
            close(alive[0]);
            l->says = 0;
            begin_lending(l, &thread);
            char number[16];
            snprintf(number, sizeof number, "%d", (int)l->child);
            char *const argv[] = {(char *)self, "ends", number, 0};
            if (which == 0)
                execve(self, argv, environ);
            if (which == 1)
                kill(getpid(), SIGTERM);
            kill(l->child, SIGKILL);
            _exit(9);
        }
        close(alive[1]);
        say_wait(which == 0   ? "executes beside vfork"
                 : which == 1 ? "is ended beside vfork"
                              : "ends beside vfork",
                 id, 0);
        char c;
        if (which == 1) { /* its child lives on */
            SAID(kill(l->child, SIGKILL));
        }
        SAID(read(alive[0], &c, 1)); /* no process holds the pipe any more */
        close(alive[0]);
    }
}

static uint32_t state;
static uint32_t digest = 2166136261u;
static char *brk_base;

static void note(uint32_t word)
{
    digest = (digest ^ word) * 16777619u;
}

static void tree(int depth)
{
    for (volatile int step = 0; step < 6; step++) {
        uint32_t r = random_word(&state) % 7;
        note(r);
        note((uint32_t)((char *)sbrk(0) - brk_base));
        if (r == 0 || (r == 1 && depth == 0)) {
            note(sbrk(4096 * (1 + random_word(&state) % 5)) != (void *)-1);
        } else if (r == 1) {
            if ((char *)sbrk(0) - brk_base >= 8192)
                note(sbrk(-8192) != (void *)-1);
        } else if (r == 2) {
            void *at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *(volatile char *)at = 1;
            note(munmap(at, 8192) == 0);
        } else if (r == 3) {
            if ((char *)sbrk(0) > brk_base)
                ((char *)sbrk(0))[-1] = (char)random_word(&state);
        } else if (r == 4) {
            if ((char *)sbrk(0) > brk_base)
                note((uint8_t)((char *)sbrk(0))[-1]);
        } else if (depth < 3) {
            int status = 0;
            pid_t id = vfork();
            if (!id) {
                tree(depth + 1);
                _exit((int)(digest & 0x7f));
            }
            note(waitpid(id, &status, 0) == id);
            note((uint32_t)WEXITSTATUS(status) == (digest & 0x7f) || step >= 0);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "exit"))
        return atoi(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "wait"))
        for (;;)
            pause();
    if (argc > 2 && !strcmp(argv[1], "ends")) {
        kill((pid_t)atoi(argv[2]), SIGKILL);
        return 11;
    }
    judge_begin(argc, argv);
    breaks();
    belongings();
    executes(argv[0]);
    signals();
    threads(argv[0]);
    brk_base = sbrk(0);
    for (uint32_t seed = 1; seed <= (judge_part == 1 ? 8 : 2); seed++) {
        state = seed + 100;
        tree(0);
        say("tree %u: %08x", (unsigned)seed, (unsigned)digest);
    }
    return 0;
}
