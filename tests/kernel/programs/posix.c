/*
 * What programs expect of a C library and a Unix: each check is one line, and passes on the host too (the test
 * runs it there). argv[1] is a file of the lines "line 0" to "line 199", in the folder whose path is argv[2];
 * with a third argument there is a shell.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES 200

static unsigned checks, failed;

static void check(bool right, const char *what)
{
    checks++;
    if (!right) {
        failed++;
        printf("wrong: %s (errno %d)\n", what, errno);
    }
}
#define CHECK(what) check(what, #what)

/* A mapping may be longer than its file: 0 to the end of the last page, and no page behind that. */
static void mapped(const char *path)
{
    struct stat s;
    int file = open(path, O_RDONLY), status;
    CHECK(file >= 0 && !fstat(file, &s));
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = ((size_t)s.st_size + page - 1) / page * page;
    volatile char *at = mmap(0, end + 3 * page, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(at != MAP_FAILED && at[0] == 'l' && at[s.st_size - 1] == '\n' && !at[end - 1]);
    pid_t id = fork();
    if (!id) {
        signal(SIGBUS, SIG_DFL);
        _exit(at[end]);
    }
    CHECK(waitpid(id, &status, 0) == id && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    CHECK(!munmap((void *)at, end + 3 * page) && !close(file));
    file = open(path, O_RDONLY);
    at = mmap(0, page, PROT_READ, MAP_SHARED, file, (off_t)(end + page));
    CHECK(at != MAP_FAILED && !munmap((void *)at, page) && !close(file));
}

/* stdio, on a file that can be read alone */
static void files(const char *path)
{
    char line[32], wanted[32], *more = 0;
    size_t size = 0;
    FILE *f = fopen(path, "r");
    CHECK(f != 0);
    if (!f)
        return;
    unsigned right = 0;
    for (int i = 0; i < LINES && fgets(line, sizeof line, f); i++) {
        snprintf(wanted, sizeof wanted, "line %d\n", i);
        right += !strcmp(line, wanted);
    }
    CHECK(right == LINES);
    CHECK(getc(f) == EOF && feof(f) && !ferror(f));
    long end = ftell(f);
    struct stat s;
    CHECK(!stat(path, &s) && S_ISREG(s.st_mode) && s.st_size == end);
    CHECK(!fstat(fileno(f), &s) && s.st_size == end);
    CHECK(!fseek(f, 7, SEEK_SET) && getc(f) == 'l' && ftell(f) == 8);
    CHECK(ungetc('L', f) == 'L' && getc(f) == 'L');
    int n;
    rewind(f);
    CHECK(fscanf(f, "line %d", &n) == 1 && n == 0);
    CHECK(!fseek(f, -9, SEEK_END) && getline(&more, &size, f) == 9 && !strcmp(more, "line 199\n"));
    CHECK(getline(&more, &size, f) == -1);
    CHECK(!fseek(f, 0, SEEK_SET) && fread(line, 1, 14, f) == 14 && !memcmp(line, "line 0\nline 1\n", 14));
    free(more);
    CHECK(!fclose(f));
    errno = 0;
    CHECK(!fopen("there is no such file", "r") && errno == ENOENT);
    CHECK(open(path, O_RDONLY | O_DIRECTORY) < 0 && errno == ENOTDIR);
    CHECK(close(99) < 0 && errno == EBADF);
    int fd = open(path, O_RDONLY), other = dup(fd);
    CHECK(fd > 2 && other > fd && lseek(other, 5, SEEK_SET) == 5 && read(fd, line, 1) == 1 && line[0] == '0');
    CHECK(dup2(fd, 9) == 9 && lseek(9, 0, SEEK_CUR) == 6);
    CHECK(fcntl(9, F_SETFD, FD_CLOEXEC) == 0 && fcntl(9, F_GETFD) == FD_CLOEXEC);
    CHECK(!close(9) && !close(other) && !close(fd));
    FILE *null = fopen("/dev/null", "w");
    CHECK(null && fprintf(null, "%d", 5) == 1 && !fflush(0) && !fclose(null));
}

static void directory(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    unsigned found = 0, all = 0, again = 0;
    DIR *d = opendir(folder);
    CHECK(d != 0);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)); all++)
        found += !strcmp(e->d_name, name);
    CHECK(found == 1);
    rewinddir(d);
    while (readdir(d))
        again++;
    CHECK(again == all && !closedir(d));
    CHECK(!opendir(path) && errno == ENOTDIR);
}

static void numbers(void)
{
    char text[64];
    CHECK(snprintf(text, sizeof text, "%.3f %g %lld %5.1e", 3.14159, 1e100, 1LL << 40, 12345.0) == 34 &&
          !strcmp(text, "3.142 1e+100 1099511627776 1.2e+04"));
    CHECK(strtod("0x1.8p1", 0) == 3 && strtod("1e-3z", 0) == 0.001);
    CHECK(strtod("0xF0.0", 0) == 240 && strtod(" -0x.8", 0) == -0.5 && strtof("0xA.4", 0) == 10.25f);
    CHECK(strtod("0x123456789abcdef.8", 0) == 0x123456789abcdf0 && strtod("0x1.00000000000008000000001", 0) > 1);
    CHECK(strtod("0x.00000000000001p-1017", 0) == 0x1p-1073 && strtod("0x3p-1076", 0) == 0x1p-1074);
    CHECK(strtold("-0x1.4", 0) == -1.25 && strtod("0x0p99999", 0) == 0);
    char *behind;
    errno = 0;
    CHECK(strtod("0x1p99999z", &behind) == HUGE_VAL && errno == ERANGE && *behind == 'z');
    CHECK(strtod("0x.p1", &behind) == 0 && *behind == 'x' && strtod("0x1p+", &behind) == 1 && *behind == 'p');
    CHECK(fabs(sin(1) * sin(1) + cos(1) * cos(1) - 1) < 1e-15 && pow(2, 0.5) == sqrt(2));
    int a = 0, b = 0;
    CHECK(sscanf("12,x34", "%d,x%d", &a, &b) == 2 && a == 12 && b == 34);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void memory(void)
{
    enum { BLOCKS = 300 };
    static unsigned char *block[BLOCKS];
    static unsigned size[BLOCKS];
    unsigned random = 1, wrong = 0;
    for (unsigned round = 0; round < 3 * BLOCKS; round++) {
        random = random * 1103515245 + 12345;
        unsigned i = random >> 16 & 255;
        for (unsigned k = 0; k < size[i]; k++)
            wrong += block[i][k] != (unsigned char)i;
        size[i] = random >> 8 & 255;
        block[i] = realloc(block[i], size[i] + 1);
        memset(block[i], (int)i, size[i]);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
    CHECK(!wrong);
    unsigned char *zero = calloc(50, 100);
    for (unsigned k = 0; k < 5000; k++)
        wrong += zero[k];
    CHECK(!wrong);
    free(zero);
    CHECK(((uintptr_t)aligned_alloc(256, 512) & 255) == 0);
    int sorted[] = {5, 3, 9, 1, 7}, key = 7;
    qsort(sorted, 5, sizeof *sorted, by_number);
    CHECK(sorted[0] == 1 && sorted[4] == 9 && bsearch(&key, sorted, 5, sizeof *sorted, by_number) == &sorted[3]);
    char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED && !map[0] && !map[8191]);
    map[5] = 1;
    CHECK(!mprotect(map, 4096, PROT_READ) && map[5] == 1 && !munmap(map, 8192));
}

static void environment(void)
{
    CHECK(!setenv("COLOUR", "red", 1) && !strcmp(getenv("COLOUR"), "red"));
    CHECK(!setenv("COLOUR", "blue", 0) && !strcmp(getenv("COLOUR"), "red"));
    CHECK(!unsetenv("COLOUR") && !getenv("COLOUR"));
    char *words[] = {"x", "-a", "-b", "value", "rest", 0};
    CHECK(getopt(5, words, "ab:") == 'a' && getopt(5, words, "ab:") == 'b' && !strcmp(optarg, "value") &&
          getopt(5, words, "ab:") == -1 && optind == 4);
}

static sigjmp_buf back;
static volatile sig_atomic_t got, blocked_within;

static void note(int number)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    blocked_within = sigismember(&mask, number);
    got = number;
}

static void jump(int number)
{
    siglongjmp(back, number);
}

static void jumps_and_signals(void)
{
    sigset_t one, old;
    struct sigaction action;
    static jmp_buf here;
    static volatile int times;
    int value = setjmp(here);
    if (!value)
        longjmp(here, 3);
    if (value == 3 && !times++)
        longjmp(here, 0); /* which comes as 1 */
    CHECK(times == 1 && value == 1);
    CHECK(signal(SIGUSR1, note) == SIG_DFL);
    CHECK(!raise(SIGUSR1) && got == SIGUSR1 && blocked_within);
    CHECK(!sigaction(SIGUSR1, 0, &action) && action.sa_handler == note);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    got = 0;
    CHECK(!sigprocmask(SIG_BLOCK, &one, &old) && !kill(getpid(), SIGUSR1) && !got);
    CHECK(!sigpending(&one) && sigismember(&one, SIGUSR1));
    CHECK(!sigprocmask(SIG_SETMASK, &old, 0) && got == SIGUSR1);
    signal(SIGUSR2, jump);
    volatile int came = sigsetjmp(back, 1);
    if (!came)
        raise(SIGUSR2);
    CHECK(came == SIGUSR2);
    sigprocmask(SIG_BLOCK, 0, &old);
    CHECK(!sigismember(&old, SIGUSR2));
    signal(SIGSEGV, jump);
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    signal(SIGSEGV, SIG_DFL);
    got = 0;
    signal(SIGALRM, note);
    struct itimerval soon = {.it_value = {.tv_usec = 3000}};
    sigset_t mask;
    sigemptyset(&one);
    sigaddset(&one, SIGALRM);
    sigprocmask(SIG_BLOCK, &one, &mask);
    CHECK(!setitimer(ITIMER_REAL, &soon, 0) && sigsuspend(&mask) == -1 && errno == EINTR && got == SIGALRM);
    sigprocmask(SIG_SETMASK, &mask, 0);
}

static void times_pass(void)
{
    struct timespec a, b, pause = {.tv_nsec = 3000000};
    struct timeval day;
    CHECK(!clock_gettime(CLOCK_MONOTONIC, &a) && !nanosleep(&pause, 0) && !clock_gettime(CLOCK_MONOTONIC, &b));
    CHECK((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec >= 3000000);
    CHECK(!gettimeofday(&day, 0) && time(0) + 1 >= day.tv_sec /* whose seconds may be a tick behind */);
    struct tms mine;
    CHECK(clock() != (clock_t)-1 && times(&mine) != (clock_t)-1 && mine.tms_utime >= 0 && !mine.tms_cutime);
    unsigned right = 0;
    for (unsigned i = 0; i < 5; i++) /* wherever in a clock's tick */
        right += !alarm(100) && alarm(0) == 100;
    CHECK(right == 5 && !alarm(0));
    struct itimerval set = {.it_value.tv_sec = 7}, left;
    right = 0;
    for (unsigned i = 0; i < 5; i++)
        right += !setitimer(ITIMER_REAL, &set, 0) && !getitimer(ITIMER_REAL, &left) &&
                 (left.it_value.tv_sec < 7 || !left.it_value.tv_usec);
    CHECK(right == 5 && alarm(0) == 7);
    time_t t = 86400 * 365;
    char text[32];
    CHECK(strftime(text, sizeof text, "%Y-%m-%d", gmtime(&t)) == 10 && !strcmp(text, "1971-01-01"));
}

static void processes(bool shell)
{
    int ends[2], status;
    char text[64] = "";
    CHECK(!pipe(ends));
    fflush(0);
    pid_t id = fork();
    if (!id) {
        close(ends[0]);
        dprintf(ends[1], "child of %d", (int)getppid());
        _exit(5);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text - 1), end = read(ends[0], text + n, 1);
    char wanted[32];
    snprintf(wanted, sizeof wanted, "child of %d", (int)getpid());
    CHECK(n > 0 && !end && !strcmp(text, wanted));
    CHECK(waitpid(id, &status, 0) == id && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    CHECK(!close(ends[0]) && wait(0) == -1 && errno == ECHILD);
    id = fork();
    if (!id) {
        signal(SIGTERM, SIG_DFL);
        for (;;)
            pause();
    }
    CHECK(!waitpid(id, &status, WNOHANG) && !kill(id, SIGTERM));
    CHECK(waitpid(id, &status, 0) == id && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(execvp("there is no such program", (char *[]){"x", 0}) == -1 && errno == ENOENT);
    if (!shell)
        return;
    FILE *f = popen("echo one; echo two", "r");
    CHECK(f && fgets(text, sizeof text, f) && !strcmp(text, "one\n") && fgets(text, sizeof text, f) &&
          !strcmp(text, "two\n") && !fgets(text, sizeof text, f) && !pclose(f));
    CHECK(WEXITSTATUS(system("exit 7")) == 7);
}

/* threads */
enum { THREADS = 3, ROUNDS = 200 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static unsigned count, begun, destroyed, turn;
static __thread int own = 7;

/* Long enough for the other threads to come meanwhile, which have to wait. */
static void begin(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, 0);
    begun++;
}

static void destroy(void *value)
{
    pthread_mutex_lock(&mutex);
    destroyed += *(unsigned *)value;
    pthread_mutex_unlock(&mutex);
    free(value);
}

static void *thread(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument, *value = malloc(sizeof *value);
    pthread_once(&once, begin);
    bool is_begun = begun == 1;
    *value = me;
    pthread_setspecific(key, value);
    own += (int)me;
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        free(malloc(i)); /* takes the C library's lock */
    }
    for (unsigned i = 0; i < 5; i++) { /* in turn */
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != me)
            pthread_cond_wait(&changed, &mutex);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return (void *)(uintptr_t)(is_begun && pthread_getspecific(key) == value ? own : -1);
}

/* Frees what it allocates, one turn after the other: two threads that share, and wait for each other. */
static sem_t given, taken;

static void *take_and_give(void *argument)
{
    unsigned *turns = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sem_wait(&given);
        ++*turns;
        sem_post(&taken);
    }
    return 0;
}

static void semaphores(void)
{
    unsigned turns = 0, seen = 0;
    int value;
    pthread_t other;
    CHECK(!sem_init(&given, 0, 1) && !sem_getvalue(&given, &value) && value == 1);
    CHECK(!sem_trywait(&given) && sem_trywait(&given) == -1 && errno == EAGAIN);
    CHECK(!sem_init(&taken, 0, 0) && !pthread_create(&other, 0, take_and_give, &turns));
    for (unsigned i = 0; i < ROUNDS; i++) {
        sem_post(&given);
        sem_wait(&taken);
        seen += turns == i + 1;
    }
    CHECK(!pthread_join(other, 0) && seen == ROUNDS && !sem_destroy(&given) && !sem_destroy(&taken));
}

static void *leave_early(void *argument)
{
    pthread_exit((char *)argument + 1);
}

static bool ends_silently;

static void *says_last(void *to)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, 0);
    fprintf(to, "the last thread");
    return 0;
}

/* A process that ends with its last thread ends by exit: its output is flushed. */
static void last_thread(void)
{
    static FILE *to;
    char text[32] = "";
    int ends[2], status;
    pthread_t t;
    CHECK(!pipe(ends));
    fflush(0);
    pid_t id = fork();
    if (!id) {
        ends_silently = true;
        to = fdopen(ends[1], "w");
        if (pthread_create(&t, 0, says_last, to) || pthread_detach(t))
            _exit(1);
        pthread_exit(0);
    }
    close(ends[1]);
    CHECK(read(ends[0], text, sizeof text - 1) == 15 && !strcmp(text, "the last thread"));
    CHECK(waitpid(id, &status, 0) == id && !status && !close(ends[0]));
}

static void threads(void)
{
    pthread_t t[THREADS];
    void *result;
    CHECK(!pthread_key_create(&key, destroy) && !pthread_getspecific(key));
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&t[i], 0, thread, (void *)i));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(t[i], &result) && (int)(uintptr_t)result == 7 + i);
    CHECK(count == THREADS * ROUNDS && begun == 1 && destroyed == 0 + 1 + 2 && turn == 5 * THREADS && own == 7);
    CHECK(!pthread_setspecific(key, &count) && pthread_getspecific(key) == &count);
    CHECK(!pthread_key_delete(key) && !pthread_key_create(&key, 0) && !pthread_getspecific(key));
    pthread_key_t keys[100]; /* and the library may need some: POSIX has 128 at least */
    int wrong = 0;
    for (int i = 0; i < 100; i++)
        wrong += pthread_key_create(&keys[i], 0) || pthread_setspecific(keys[i], &keys[i]);
    for (int i = 0; i < 100; i++)
        wrong += pthread_getspecific(keys[i]) != &keys[i] || pthread_key_delete(keys[i]);
    CHECK(!wrong && pthread_key_delete(keys[0]));
    CHECK(!pthread_create(&t[0], 0, leave_early, (void *)8) && !pthread_join(t[0], &result) && result == (char *)9);
    for (int i = 0; i < 20; i++) /* their stacks come back */
        CHECK(!pthread_create(&t[0], 0, leave_early, 0) && !pthread_detach(t[0]));
    pthread_mutexattr_t kind;
    pthread_mutex_t m;
    CHECK(!pthread_mutexattr_init(&kind) && !pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE));
    CHECK(!pthread_mutex_init(&m, &kind) && !pthread_mutex_lock(&m) && !pthread_mutex_lock(&m) &&
          !pthread_mutex_unlock(&m) && !pthread_mutex_trylock(&m) && !pthread_mutex_unlock(&m) &&
          !pthread_mutex_unlock(&m));
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    CHECK(!pthread_mutex_init(&m, &kind) && !pthread_mutex_lock(&m) && pthread_mutex_lock(&m) == EDEADLK &&
          pthread_mutex_trylock(&m) == EBUSY && !pthread_mutex_unlock(&m) && pthread_mutex_unlock(&m) == EPERM);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&mutex);
    CHECK(pthread_cond_timedwait(&changed, &mutex, &until) == ETIMEDOUT);
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY && !pthread_mutex_unlock(&mutex));
}

static void at_exit(void)
{
    if (ends_silently)
        return;
    printf("@posix checks=%u failed=%u\n", checks, failed); /* with no end of line behind it, exit writes it out */
    printf("last words");
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3 && !argv[argc]);
    atexit(at_exit);
    numbers();
    memory();
    environment();
    files(argv[1]);
    mapped(argv[1]);
    directory(argv[2], argv[1]);
    times_pass();
    jumps_and_signals();
    processes(argc > 3);
    last_thread(); /* before there are detached threads, whose ends may hold the locks of a sanitizer at its fork */
    threads();
    semaphores();
    return failed != 0;
}
