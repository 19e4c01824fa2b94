/*
 * Streams and what lies below them: threads that share one, fork and execve with buffered bytes, signals that
 * interrupt their reads and writes, descriptors that run out, stacks that do.
 */
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "say.h"

#define THREADS 4
#define LINES 60

static int lines_each = LINES;
static FILE *shared;
static volatile sig_atomic_t handled;

static void count(int number)
{
    (void)number;
    handled++;
}

static void *writes_lines(void *arg)
{
    for (int i = 0; i < lines_each; i++)
        fprintf(shared, "thread %d line %d of %s\n", (int)(long)arg, i, "some");
    return 0;
}

/* Lines are whole, and none is missing, whichever thread flushes. */
static void threads_write(int buffering)
{
    pthread_t t[THREADS];
    int seen[THREADS] = {0}, wrong = 0, thread, line, lines = 0;
    char text[100];
    shared = fopen("lines", "w");
    setvbuf(shared, 0, buffering, 256);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, writes_lines, (void *)i);
    for (int i = 0; i < 10; i++)
        fflush(shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    SAID(fclose(shared));
    FILE *f = fopen("lines", "r");
    while (fgets(text, sizeof text, f)) {
        lines++;
        if (sscanf(text, "thread %d line %d of some\n", &thread, &line) != 2 || thread < 0 || thread >= THREADS ||
            seen[thread]++ != line)
            wrong++;
    }
    fclose(f);
    say("lines %d, wrong %d", lines, wrong);
}

static void *reads_lines(void *arg)
{
    char text[100];
    int *n = arg;
    while (fgets(text, sizeof text, shared))
        ++*n;
    return 0;
}

static void threads_read(void)
{
    pthread_t t[THREADS];
    int n[THREADS] = {0}, all = 0;
    shared = fopen("lines", "r");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, reads_lines, &n[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], 0);
        all += n[i];
    }
    say("read %d, end %d, error %d", all, feof(shared) != 0, ferror(shared) != 0);
    fclose(shared);
}

static void *holds(void *arg)
{
    flockfile(shared);
    fputs("held ", shared);
    *(volatile int *)arg = 1;
    milliseconds(20);
    fputs("on\n", shared);
    funlockfile(shared);
    return 0;
}

/* Other threads wait for a stream that one keeps locked. */
static void locked(void)
{
    pthread_t t;
    volatile int there = 0;
    char text[100] = "";
    shared = fopen("held", "w");
    pthread_create(&t, 0, holds, (void *)&there);
    while (!there)
        milliseconds(1);
    SAID(ftrylockfile(shared) != 0);
    fputs("other\n", shared);
    pthread_join(t, 0);
    SAID(ftrylockfile(shared));
    SAID(ftrylockfile(shared)); /* it nests */
    funlockfile(shared);
    funlockfile(shared);
    fclose(shared);
    FILE *f = fopen("held", "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = '|';
    say("%s", text);
    fclose(f);
}

static void show_file(const char *name)
{
    char text[200];
    FILE *f = fopen(name, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = '|';
    say("%s: %s", name, text);
    fclose(f);
}

/* After fork, both have the buffered bytes; execve and _exit lose them. */
static void forked(const char *self)
{
    for (int how = 0; how < 4; how++) {
        FILE *f = fopen("buffered", "w");
        fputs("before ", f);
        pid_t id = how == 3 ? vfork() : fork();
        if (!id) {
            if (how == 0) {
                fputs("child ", f);
                exit(0);
            }
            if (how == 1) {
                fputs("lost ", f);
                _exit(0);
            }
            if (how == 2)
                fputs("lost ", f);
            execl(self, self, "ends", (char *)0);
            _exit(9);
        }
        say_wait("child", id, 0);
        fputs("parent ", f);
        SAID(fclose(f));
        show_file("buffered");
    }
    /* An offset is shared; a buffer is not. */
    FILE *f = fopen("offsets", "w");
    for (int i = 0; i < 1000; i++)
        fprintf(f, "%04d\n", i);
    fclose(f);
    f = fopen("offsets", "r");
    char text[20];
    fgets(text, sizeof text, f);
    pid_t id = fork();
    if (!id) {
        fgets(text, sizeof text, f);
        _exit(atoi(text));
    }
    say_wait("the child's second line", id, 0);
    fgets(text, sizeof text, f);
    say("the parent's: %d", atoi(text));
    SAID(fseek(f, 100, SEEK_SET));
    id = fork();
    if (!id) {
        fgets(text, sizeof text, f);
        _exit(atoi(text));
    }
    say_wait("behind a seek", id, 0);
    SAID(fclose(f));
    /* Descriptors of streams survive execve, except close-on-exec ones. */
    f = fopen("over", "w");
    FILE *closed = fopen("closed", "we");
    char number[2][16];
    snprintf(number[0], 16, "%d", fileno(f));
    snprintf(number[1], 16, "%d", fileno(closed));
    fputs("first ", f);
    fflush(f);
    id = fork();
    if (!id)
        execl(self, self, "writes", number[0], number[1], (char *)0);
    say_wait("executed", id, 0);
    fputs("last", f);
    fclose(f);
    fclose(closed);
    show_file("over");
    show_file("closed");
}

static void writer_of(int fd, int delay)
{
    milliseconds(delay);
    if (write(fd, "late line\n", 10) != 10)
        _exit(1);
    _exit(0);
}

/* A handler that does not restart calls ends a read; the stream goes on where it was. */
static void interrupted(void)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        int ends[2];
        char text[40] = "";
        pipe(ends);
        write(ends[1], "part ", 5);
        FILE *f = fdopen(ends[0], "r");
        pid_t id = fork();
        if (!id)
            writer_of(ends[1], 60);
        handled = 0;
        handle(SIGALRM, count, restarts ? SA_RESTART : 0);
        ualarm(20000, 0);
        errno = 0;
        char *got = fgets(text, sizeof text, f);
        say("fgets: %d %s, error %d, end %d, handled %d", got != 0,
            got ? text[0] == 'p' ? "a line" : "another" : judge_error(errno), ferror(f) != 0, feof(f) != 0,
            (int)handled);
        clearerr(f);
        if (!got) {
            got = fgets(text, sizeof text, f);
            say("again: %d, ends as it should %d", got != 0, got && strstr(text, "late line") != 0);
        }
        say_wait("writer", id, 0);
        close(ends[1]);
        SAID(fgetc(f));
        SAID(feof(f) != 0);
        SAID(fclose(f));
        handle(SIGALRM, SIG_DFL, 0);
    }
    /* Into a pipe without readers, and into a full one. */
    int ends[2];
    static char much[100000];
    pipe(ends);
    FILE *f = fdopen(ends[1], "w");
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    SAID(fputs("nobody", f) >= 0);
    errno = 0;
    int flushed = fflush(f);
    say("fflush: %d %s", flushed, judge_error(errno));
    SAID(ferror(f) != 0);
    errno = 0;
    int closes = fclose(f);
    say("fclose: %d", closes);
    pipe(ends);
    f = fdopen(ends[1], "w");
    setvbuf(f, 0, _IONBF, 0);
    handle(SIGALRM, count, 0);
    handled = 0;
    struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &soon, 0);
    errno = 0;
    size_t n = fwrite(much, 1, sizeof much, f);
    say("fwrite: whole %d, %s, error %d", n == sizeof much, judge_error(errno), ferror(f) != 0);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, 0);
    say("handled: %d", handled > 0);
    close(ends[0]);
    fclose(f);
    signal(SIGPIPE, SIG_DFL);
}

static void exhausted(void)
{
    FILE *many[64];
    int n = 0;
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){20, l.rlim_max});
    while (n < 64 && (many[n] = fopen("lines", "r")))
        n++;
    say("streams: some %d, then %s", n > 0, judge_error(errno));
    SAID(fopen("lines", "r") == 0 && errno == EMFILE);
    SAID(popen("exit 1", "r") == 0 && errno == EMFILE);
    while (n)
        fclose(many[--n]);
    setrlimit(RLIMIT_NOFILE, &l);
    FILE *f = fopen("lines", "r");
    SAID(f != 0);
    SAID(close(fileno(f)));
    SAID(fgetc(f));
    SAID(ferror(f) != 0);
    SAID(fclose(f));
    SAID(fopen("lines", "q") == 0 && errno == EINVAL);
    SAID(fopen("nonsense/file", "w") == 0 && errno == ENOENT);
    SAID(fopen("lines", "wx") == 0 && errno == EEXIST);
    SAID(fdopen(77, "r") == 0 && errno == EBADF);
}

/* Reading and writing one stream, in turns; its ends. */
static void turns(void)
{
    FILE *f = fopen("turns", "w+");
    char text[40] = "";
    SAID(fputs("0123456789", f) >= 0);
    SAID(ftell(f));
    rewind(f);
    SAID(fgetc(f));
    SAID(ungetc('x', f));
    SAID(ftell(f));
    SAID(fgetc(f));
    SAID(fgetc(f));
    SAID(fseek(f, 0, SEEK_CUR));
    SAID(fputs("AB", f) >= 0);
    SAID(fseek(f, -1, SEEK_END));
    SAID(fgetc(f));
    SAID(fgetc(f));
    SAID(feof(f) != 0);
    SAID(fseek(f, 0, SEEK_SET));
    SAID(feof(f) != 0);
    SAID(fread(text, 1, sizeof text, f));
    say("%s", text);
    SAID(fclose(f));
    f = fopen("turns", "a+");
    SAID(fgetc(f));
    SAID(fseek(f, 3, SEEK_SET));
    SAID(fputs("end", f) >= 0);
    SAID(fflush(f));
    SAID(ftell(f));
    SAID(fseek(f, -100, SEEK_SET));
    SAID(fclose(f));
    show_file("turns");
    f = fopen("turns", "r");
    SAID(fputc('x', f));
    SAID(ferror(f) != 0);
    clearerr(f);
    SAID(ftruncate(fileno(f), 0));
    char *line = 0;
    size_t size = 0;
    SAID(getline(&line, &size, f));
    SAID(getline(&line, &size, f));
    free(line);
    fclose(f);
    f = fopen("zero", "w");
    fwrite("a\0b\n\0c", 1, 6, f);
    fclose(f);
    f = fopen("zero", "r");
    line = 0;
    size = 0;
    SAID(getline(&line, &size, f));
    SAID(getdelim(&line, &size, 'x', f));
    SAID(getline(&line, &size, f));
    free(line);
    fclose(f);
    char memory[16] = "";
    f = fmemopen(memory, sizeof memory, "w");
    SAID(fprintf(f, "%d %s", 12345, "words that are long"));
    SAID(fclose(f) != 0 || memory[0] == '1');
    char *grown = 0;
    f = open_memstream(&grown, &size);
    for (int i = 0; i < 300; i++)
        fprintf(f, "%d,", i);
    SAID(fclose(f));
    say("grown: %d, as long %d", (int)size, strlen(grown) == size);
    free(grown);
}

static sigjmp_buf back;
static volatile int trapped;

static void trap(int number)
{
    trapped = number;
    siglongjmp(back, 1);
}

static int deep(volatile int *depth)
{
    volatile char frame[2000];
    frame[0] = 1;
    ++*depth;
    return *depth < 1000000 ? deep(depth) + frame[0] : 0;
}

static void *overflows(void *arg)
{
    static char own[2][65536];
    volatile int depth = 0;
    stack_t s = {.ss_sp = own[arg != 0], .ss_size = sizeof own[0]};
    sigaltstack(&s, 0);
    trapped = 0;
    if (!sigsetjmp(back, 1))
        deep(&depth);
    say("%s: %s, deep %d", arg ? "a thread" : "the first", judge_signal(trapped), depth > 10);
    s.ss_flags = SS_DISABLE;
    sigaltstack(&s, 0);
    return 0;
}

/* A stack overflows, and the handler has another stack: more than once. */
static void stacks(void)
{
    struct sigaction action = {.sa_handler = trap, .sa_flags = SA_ONSTACK};
    struct rlimit l;
    getrlimit(RLIMIT_STACK, &l);
    setrlimit(RLIMIT_STACK, &(struct rlimit){150000, l.rlim_max});
    sigaction(SIGSEGV, &action, 0);
    pthread_t t;
    overflows(0);
    overflows(0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t, 0, overflows, &back);
        pthread_join(t, 0);
    }
    overflows(0);
    signal(SIGSEGV, SIG_DFL);
    setrlimit(RLIMIT_STACK, &l);
    pid_t id = fork();
    if (!id) {
        volatile int depth = 0;
        setrlimit(RLIMIT_STACK, &(struct rlimit){150000, l.rlim_max});
        _exit(deep(&depth));
    }
    say_wait("without a handler", id, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "ends"))
        return 4;
    if (argc > 3 && !strcmp(argv[1], "writes")) {
        errno = 0;
        int closed = write(atoi(argv[3]), "x", 1), number = errno;
        return write(atoi(argv[2]), "executed ", 9) == 9 && closed < 0 && number == EBADF ? 3 : 5;
    }
    judge_begin(argc, argv);
    lines_each /= (int)judge_part;
    threads_write(_IOFBF);
    threads_write(_IOLBF);
    threads_write(_IONBF);
    threads_read();
    locked();
    forked(argv[0]);
    interrupted();
    exhausted();
    turns();
    stacks();
    return 0;
}
