/*
 * Values that interfaces name exactly: of each the last valid one, the first invalid one, and what just fits.
 * Limits are named by their constants, which differ between systems.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#ifndef IOV_MAX
#define IOV_MAX 1024 /* what sysconf gives */
#endif

#include "judge.h"

static void show_owner(const char *what)
{
    struct stat s;
    stat("f", &s);
    judge_say("owners", what, "%u, %u", (unsigned)s.st_uid, (unsigned)s.st_gid);
}

static void owners(void)
{
    const uid_t none = (uid_t)-1;
    static const struct {
        const char *name;
        int user, group; /* -1: as it was */
    } all[] = {{"both", 5, 6},      {"neither", -1, -1}, {"the group", -1, 8},
               {"the user", 9, -1}, {"0", 0, 0},         {"most", 65534, 65534}};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        SHOW_AS(all[i].name, chown("f", all[i].user < 0 ? none : (uid_t)all[i].user,
                                   all[i].group < 0 ? (gid_t)-1 : (gid_t)all[i].group));
        show_owner(all[i].name);
    }
    int fd = open("f", O_RDWR);
    SHOW(fchown(fd, none, 3));
    show_owner("fchown");
    close(fd);
    SHOW(chown("f", 0, 0));
    mode_t was = umask(07777);
    SAY("umask keeps", "%#o", (unsigned)umask(was));
    SHOW(access("f", R_OK | W_OK));
    SHOW(access("f", 8));
    SHOW(access("f", 15));
}

/* Parts of a second, in each call that takes one. */
static void times(void)
{
    static const long micro[] = {-1, 0, 1, 999999, 1000000, LONG_MAX};
    static const long nano[] = {-1, 0, 1, 999999999, 1000000000, LONG_MAX};
    struct itimerval none = {{0, 0}, {0, 0}};
    int ends[2];
    sigset_t mask;
    sigemptyset(&mask);
    pipe(ends);
    write(ends[1], "x", 1); /* the pipe is ready: no call waits */
    for (unsigned i = 0; i < sizeof micro / sizeof micro[0]; i++) {
        struct timeval file[2] = {{5, (suseconds_t)micro[i]}, {6, 0}}, other[2] = {{5, 0}, {6, (suseconds_t)micro[i]}};
        struct itimerval in = {{0, (suseconds_t)micro[i]}, {1000, 0}}, first = {{0, 0}, {1000, (suseconds_t)micro[i]}};
        SAY("microseconds", "%ld", micro[i] > 1000000 ? 0 : micro[i]);
        SHOW(utimes("f", file));
        SHOW(utimes("f", other));
        SHOW(setitimer(ITIMER_REAL, &in, 0));
        SHOW(setitimer(ITIMER_REAL, &first, 0));
        SHOW(setitimer(ITIMER_PROF, &first, 0));
        setitimer(ITIMER_REAL, &none, 0);
        setitimer(ITIMER_PROF, &none, 0);
    }
    for (unsigned i = 0; i < sizeof nano / sizeof nano[0]; i++) {
        struct timespec t = {0, nano[i]}, before = {-1, nano[i]};
        struct pollfd one = {ends[0], POLLIN, 0};
        fd_set in;
        SAY("nanoseconds", "%ld", nano[i] > 1000000000 ? 0 : nano[i]);
        SHOW(ppoll(&one, 1, &t, &mask));
        SHOW(ppoll(&one, 1, &t, 0));
        SHOW(ppoll(&one, 1, &before, 0));
        FD_ZERO(&in);
        FD_SET(ends[0], &in);
        SHOW(pselect(ends[0] + 1, &in, 0, 0, &t, &mask));
        SHOW(pselect(ends[0] + 1, &in, 0, 0, &t, 0));
        if (nano[i] == 999999999) /* the call would wait for it */
            continue;
        SAY("clock_nanosleep until then", "%s", judge_error(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)));
        SHOW(nanosleep(&t, 0));
    }
    SHOW(setitimer(ITIMER_PROF + 1, &none, 0));
    SHOW(setitimer(-1, &none, 0));
    SAY("a clock that there is not", "%s", judge_error(clock_nanosleep(99, 0, &(struct timespec){0, 1}, 0)));
    close(ends[0]);
    close(ends[1]);
}

static void nothing(int number)
{
    (void)number;
}

/* A second is a valid time for calls that take fractions of one, too: a signal ends all of them. */
static void whole_seconds(void)
{
    struct sigaction action = {.sa_handler = nothing};
    struct itimerval soon = {{0, 0}, {0, 2000}};
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &soon, 0);
    SHOW(usleep(1000000));
    setitimer(ITIMER_REAL, &soon, 0);
    SHOW(nanosleep(&(struct timespec){1, 0}, 0));
    setitimer(ITIMER_REAL, &soon, 0);
    SHOW(pselect(0, 0, 0, 0, &(struct timespec){1, 999999999}, 0));
    setitimer(ITIMER_REAL, &soon, 0);
    SHOW(ppoll(0, 0, &(struct timespec){1, 999999999}, 0));
}

/* sysconf and its like return what the constants say. */
static void constants(void)
{
    SHOW_IF(pathconf("f", _PC_PATH_MAX) == PATH_MAX);
    SHOW_IF(pathconf("f", _PC_NAME_MAX) == NAME_MAX);
    SHOW_IF(pathconf("f", _PC_PIPE_BUF) == PIPE_BUF);
    SHOW_IF(sysconf(_SC_IOV_MAX) == IOV_MAX);
    SHOW_IF(sysconf(_SC_HOST_NAME_MAX) == HOST_NAME_MAX);
    SHOW_IF(sysconf(_SC_THREAD_KEYS_MAX) == PTHREAD_KEYS_MAX);
    SHOW_IF(sysconf(_SC_SEM_VALUE_MAX) == SEM_VALUE_MAX || sysconf(_SC_SEM_VALUE_MAX) == -1);
    SHOW_IF(sysconf(_SC_THREAD_STACK_MIN) == PTHREAD_STACK_MIN);
    static char name[PATH_MAX + 2];
    for (int more = -2; more <= 0; more++) { /* the longest path, with its final 0 */
        int n = PATH_MAX + more;
        for (int i = 0; i < n; i++)
            name[i] = i % 2 ? '/' : '.';
        name[n - 1] = 'f';
        name[n - 2] = '/';
        name[n] = 0;
        SHOW_AS("open", open(name, O_RDONLY) < 0 ? -1 : 0);
    }
    for (int more = -1; more <= 1; more++) { /* the longest name */
        memset(name, 'n', NAME_MAX + 1);
        name[NAME_MAX + more] = 0;
        int fd = (int)SHOW_AS("a name", open(name, O_CREAT | O_RDWR, 0644));
        SHOW_IF(fd < 0 || (!close(fd) && !unlink(name)));
    }
}

/* Output gets exactly the room that it needs, and one byte less. */
static void room(void)
{
    char text[512];
    getcwd(text, sizeof text);
    size_t n = strlen(text);
    SHOW_IF(getcwd(text, n + 1) != 0);
    SHOW_IF(getcwd(text, n) == 0 && errno == ERANGE);
    SHOW_IF(getcwd(text, 1) == 0 && errno == ERANGE);
    SHOW_IF(getcwd(text, 0) == 0 && errno == EINVAL);
    SHOW(symlink("target", "l"));
    for (int size = 0; size <= 8; size++) {
        memset(text, '?', 9);
        SHOW_AS("readlink", readlink("l", text, (size_t)size));
        SHOW_BYTES("readlink", text, 9);
    }
    gethostname(text, sizeof text);
    n = strlen(text);
    SHOW(gethostname(text, n + 1));
    SHOW(gethostname(text, n));
    SHOW(getentropy(text, 256));
    SHOW(getentropy(text, 257));
    for (unsigned size = 6; size <= 10; size++) { /* a line of eight and its end need nine */
        FILE *f = fopen("lines", "w+");
        char *line = malloc(size);
        size_t room = size;
        fputs("1234567\nx", f);
        rewind(f);
        SHOW_AS("getline", getline(&line, &room, f));
        SHOW_IF(room >= 9);
        SHOW_BYTES("line", line, 9);
        free(line);
        fclose(f);
    }
    static char lines[400];
    for (unsigned length = 118; length <= 122; length++) { /* and its own first room */
        FILE *f = fopen("lines", "w+");
        char *line = 0;
        size_t room = 0;
        memset(lines, 'y', length - 1);
        lines[length - 1] = '\n', lines[length] = 0;
        fputs(lines, f);
        rewind(f);
        SHOW_AS("getline", getline(&line, &room, f));
        SHOW_IF(room > length && !strcmp(line, lines));
        free(line);
        fclose(f);
    }
}

static void templates(void)
{
    static const char *const all[] = {"", "X", "XXXXX", "XXXXXX", "aXXXXXX", "aXXXXXXX", "XXXXXXa"};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        char dir[16], file[16];
        strcpy(dir, all[i]), strcpy(file, all[i]);
        char *made = mkdtemp(dir);
        SAY(all[i], "%s", made ? "made" : judge_error(errno));
        SHOW_IF(made ? !rmdir(dir) : !strcmp(dir, all[i]));
        int fd = mkstemp(file);
        SAY(all[i], "%s", fd >= 0 ? "made" : judge_error(errno));
        SHOW_IF(fd < 0 || (!close(fd) && !unlink(file)));
    }
}

/* The most pieces allowed, and one more; most of them are empty. */
static void pieces(void)
{
    static struct iovec v[IOV_MAX + 1];
    static char bytes[2] = "ab";
    int fd = open("pieces", O_CREAT | O_TRUNC | O_RDWR, 0644);
    v[0] = (struct iovec){bytes, 1};
    v[IOV_MAX - 1] = (struct iovec){bytes + 1, 1};
    SHOW(writev(fd, v, IOV_MAX));
    SHOW(pwritev(fd, v, IOV_MAX, 1));
    SHOW(preadv(fd, v, IOV_MAX, 0));
    SHOW(preadv(fd, v, IOV_MAX, 2));
    SHOW_BYTES("read", bytes, 2);
    lseek(fd, 0, SEEK_SET);
    SHOW(readv(fd, v, IOV_MAX));
    SHOW_BYTES("read", bytes, 2);
    SHOW(writev(fd, v, IOV_MAX + 1));
    SHOW(readv(fd, v, IOV_MAX + 1));
    SHOW(pwritev(fd, v, IOV_MAX + 1, 0));
    SHOW(preadv(fd, v, IOV_MAX + 1, 0));
    SHOW(preadv(fd, v, -judge_one, 0));
    SHOW(preadv(fd, v, 0, 0));
    SHOW(readv(fd, v, 0));
    static char more[5];
    v[0] = (struct iovec){more, 3}, v[1] = (struct iovec){more + 3, 2};
    SHOW(pwrite(fd, "abcdefgh", 8, 0));
    SHOW(ftruncate(fd, 4));
    SHOW(preadv(fd, v, 2, 0)); /* the second is not complete */
    close(fd);
}

static volatile long unaligned, handled;

static void looks(int number)
{
    _Alignas(16) volatile char here = 0;
    volatile uintptr_t at = (uintptr_t)&here;
    unaligned += at % 16 != 0;
    handled += number == SIGUSR1;
}

static void signals(void)
{
    static const int hows[] = {SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
    int most = 0, least = 9;
    for (int i = 0; i < 3; i++) {
        most = hows[i] > most ? hows[i] : most;
        least = hows[i] < least ? hows[i] : least;
    }
    static char stack[65536];
    struct sigaction action = {.sa_handler = looks, .sa_flags = SA_ONSTACK};
    sigset_t set;
    sigemptyset(&set);
    SHOW(sigprocmask(most + 1, &set, 0));
    SHOW(sigprocmask(least - 1, &set, 0));
    SHOW(sigprocmask(most + 1, 0, &set)); /* nothing is changed: how does not matter */
    SHOW(sigaction(0, 0, &action));
    SHOW(sigaction(-1, 0, &action));
    action = (struct sigaction){.sa_handler = looks, .sa_flags = SA_ONSTACK};
    SHOW(kill(getpid(), -1));
    SHOW(kill(getpid(), 0));
    SHOW(sigqueue(0, SIGUSR1, (union sigval){0}));
    SHOW(sigqueue(-1, SIGUSR1, (union sigval){0}));
    stack_t of = {.ss_sp = stack, .ss_size = 1};
    SHOW(sigaltstack(&of, 0));
    of.ss_size = (size_t)MINSIGSTKSZ;
    SHOW(sigaltstack(&of, 0));
    of.ss_flags = 77;
    SHOW(sigaltstack(&of, 0));
    SHOW(sigaction(SIGUSR1, &action, 0));
    for (int i = 0; i < 16; i++) { /* wherever the stack begins and ends, the handler's is aligned */
        of = (stack_t){.ss_sp = stack + i, .ss_size = 32768 + 5 * (size_t)i};
        sigaltstack(&of, 0);
        raise(SIGUSR1);
    }
    SHOW(handled);
    SHOW(unaligned);
    of.ss_flags = SS_DISABLE;
    sigaltstack(&of, 0);
}

static void children(void)
{
    siginfo_t info;
    int ends[2], status;
    char byte;
    SHOW(waitid(P_PID, 0, &info, WEXITED));
    SHOW(waitid(P_PID, (id_t)-1, &info, WEXITED));
    SHOW(waitid(P_PGID, (id_t)-1, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, 0));
    SHOW(waitid(P_ALL, 0, &info, WNOHANG));
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, WEXITED | 0x100));
    SHOW(waitpid(-1, &status, 0x100));
    SHOW(waitpid(-1, &status, WNOHANG));
    SHOW(setpgid(0, -1));
    SHOW(setpgid(0, -2));
    SHOW(setpgid(getpid(), INT_MIN));
    SHOW(getpgid(-1));
    SHOW(pipe(ends));
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        close(ends[0]);
        execl("/bin/limits", "limits", "waits", (char *)0);
        _exit(9);
    }
    close(ends[1]);
    SHOW(read(ends[0], &byte, 1)); /* until it has executed */
    SHOW(setpgid(id, id));
    SHOW(setpgid(id, getpgrp()));
    SHOW(kill(id, SIGKILL));
    SHOW_IF(waitpid(id, &status, 0) == id);
    SHOW_STATUS("child", status);
    close(ends[0]);
}

static void memory(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *at = mmap(0, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW_IF(at != MAP_FAILED);
    SHOW(mprotect(at, 0, PROT_READ));
    SHOW(mprotect(at + 1, 0, PROT_READ));
    SHOW(mprotect(at + 1, 1, PROT_READ));
    SHOW(mprotect(at, 1, PROT_READ | PROT_WRITE));
    SHOW(mprotect(at, 2 * (size_t)page, PROT_READ | PROT_WRITE));
    SHOW(munmap(at, 0));
    SHOW(munmap(at + 1, (size_t)page));
    SHOW(msync(at, (size_t)page, MS_ASYNC | MS_SYNC));
    SHOW(msync(at, (size_t)page, MS_SYNC));
    SHOW(msync(at + 1, (size_t)page, MS_SYNC));
    SHOW_IF(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    SHOW_IF(mmap(0, 1, PROT_READ, MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    SHOW_IF(mmap(0, 1, PROT_READ, MAP_PRIVATE, open("f", O_RDONLY), 1) == MAP_FAILED && errno == EINVAL);
    SHOW(munmap(at, 1));
    at[page] = 1;
    SHOW(munmap(at + page, (size_t)page));
}

static pthread_key_t key;
static int destroyed;

static void comes_again(void *value)
{
    destroyed++;
    pthread_setspecific(key, value);
}

static void *sets(void *arg)
{
    pthread_setspecific(key, arg);
    return 0;
}

static void threads(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
    pthread_attr_t attributes;
    pthread_barrier_t barrier;
    pthread_t thread;
    sem_t sem;
    int n = 0;
    pthread_attr_init(&attributes);
    SAY("the least stack", "%s", judge_error(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN)));
    SAY("less", "%s", judge_error(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN - 1)));
    while (n <= PTHREAD_KEYS_MAX && !pthread_key_create(&keys[n], 0))
        n++;
    SHOW_IF(n == PTHREAD_KEYS_MAX);
    SAY("one more", "%s", judge_error(pthread_key_create(&key, 0)));
    while (n)
        pthread_key_delete(keys[--n]);
    SAY("a key", "%s", judge_error(pthread_key_create(&key, comes_again)));
    SAY("a thread", "%s", judge_error(pthread_create(&thread, 0, sets, &n)));
    SAY("its end", "%s", judge_error(pthread_join(thread, 0)));
    SHOW_IF(destroyed == PTHREAD_DESTRUCTOR_ITERATIONS);
    SAY("a barrier of none", "%s", judge_error(pthread_barrier_init(&barrier, 0, 0)));
    SAY("a barrier of one", "%s", judge_error(pthread_barrier_init(&barrier, 0, 1)));
    SHOW_IF(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    SHOW(sem_init(&sem, 0, SEM_VALUE_MAX + 1u));
    SHOW(sem_init(&sem, 0, SEM_VALUE_MAX - 1));
    SHOW(sem_post(&sem));
    SHOW(sem_post(&sem));
    SHOW_IF(!sem_getvalue(&sem, &n) && n == SEM_VALUE_MAX);
    SHOW(sem_init(&sem, 0, 0));
    SHOW(sem_trywait(&sem));
    SHOW(sem_post(&sem));
    SHOW(sem_trywait(&sem));
}

/* Searching a program in PATH with paths near the greatest length; spawn's file actions on descriptor -1. */
static void programs(void)
{
    static char path[PATH_MAX + 2];
    posix_spawn_file_actions_t actions;
    for (int more = -2; more <= 1; more++) {
        size_t folder = (size_t)(PATH_MAX + more) - sizeof "/none";
        for (size_t i = 0; i < folder; i++)
            path[i] = i % 2 ? 'd' : '/';
        path[folder] = 0;
        setenv("PATH", path, 1);
        SHOW_AS("execvp", execvp("none", (char *[]){"none", 0}));
    }
    setenv("PATH", "/bin", 1);
    posix_spawn_file_actions_init(&actions);
    SAY("close -1", "%s", judge_error(posix_spawn_file_actions_addclose(&actions, -1)));
    SAY("to -1", "%s", judge_error(posix_spawn_file_actions_adddup2(&actions, 0, -1)));
    SAY("of -1", "%s", judge_error(posix_spawn_file_actions_adddup2(&actions, -1, 0)));
    SAY("open -1", "%s", judge_error(posix_spawn_file_actions_addopen(&actions, -1, "f", O_RDONLY, 0)));
    posix_spawn_file_actions_destroy(&actions);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "waits"))
        for (;;)
            pause();
    judge_begin(argc, argv);
    close(open("f", O_CREAT | O_RDWR, 0644));
    owners();
    times();
    whole_seconds();
    constants();
    room();
    templates();
    pieces();
    signals();
    children();
    memory();
    threads();
    programs();
    return 0;
}
