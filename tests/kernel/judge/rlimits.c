/* Limits of processes and what they do: getrlimit, setrlimit. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "names.h"

#define MB (1 << 20)

static volatile sig_atomic_t got, count;

static void note(int number)
{
    got = number;
    count++;
}

static void set(int which, rlim_t now, rlim_t most)
{
    setrlimit(which, &(struct rlimit){now, most});
}

/* Runs fn in a child, which has limits of its own. */
static void in_child(const char *name, void (*fn)(void))
{
    int status;
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        fn();
        fflush(stdout);
        _exit(7);
    }
    waitpid(id, &status, 0);
    SHOW_STATUS(name, status);
}

static void show_limit(const char *name, int which)
{
    struct rlimit l;
    SHOW_AS(name, getrlimit(which, &l));
    if (l.rlim_cur == RLIM_INFINITY)
        SAY("now", "no limit");
    else
        SAY("now", "%llu", (unsigned long long)l.rlim_cur);
    if (l.rlim_max == RLIM_INFINITY)
        SAY("most", "no limit");
    else
        SAY("most", "%llu", (unsigned long long)l.rlim_max);
}

static void keeps(void)
{
    static const int which[] = {RLIMIT_CPU, RLIMIT_FSIZE,   RLIMIT_DATA,  RLIMIT_STACK,  RLIMIT_CORE,
                                RLIMIT_RSS, RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_AS};
    static const char *const names[] = {"CPU", "FSIZE",   "DATA",  "STACK",  "CORE",
                                        "RSS", "MEMLOCK", "NPROC", "NOFILE", "AS"};
    for (unsigned i = 0; i < sizeof which / sizeof *which; i++) {
        int w = which[i];
        struct rlimit l;
        SHOW_AS(names[i], getrlimit(w, &l));
        SHOW(setrlimit(w, &l));
        SHOW(setrlimit(w, &(struct rlimit){1001, 1000}));
        SHOW(setrlimit(w, NOWHERE));
        SHOW(getrlimit(w, NOWHERE));
        if (w == RLIMIT_AS || w == RLIMIT_STACK || w == RLIMIT_DATA || w == RLIMIT_CORE || w == RLIMIT_NPROC)
            continue;
        rlim_t now = w == RLIMIT_NOFILE ? 100 : 100000, most = w == RLIMIT_NOFILE ? 500 : 200000;
        SHOW(setrlimit(w, &(struct rlimit){now, most}));
        show_limit(names[i], w);
        SHOW(setrlimit(w, &(struct rlimit){now / 2, most / 2}));
        show_limit(names[i], w);
        SHOW(setrlimit(w, &(struct rlimit){0, most / 2}));
        show_limit(names[i], w);
        SHOW(setrlimit(w, &(struct rlimit){most / 2, most / 2}));
    }
    SHOW(getrlimit(-1, NOWHERE));
    SHOW(getrlimit(1000, &(struct rlimit){0}));
    SHOW(setrlimit(1000, &(struct rlimit){0}));
    SHOW(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, RLIM_INFINITY}));
}

static void inherited(void)
{
    set(RLIMIT_RSS, 111, 222);
    fflush(stdout);
    if (!fork()) {
        show_limit("of a child", RLIMIT_RSS);
        set(RLIMIT_RSS, 11, 22);
        fflush(stdout);
        _exit(0);
    }
    wait(0);
    show_limit("of its parent", RLIMIT_RSS);
    pid_t id = vfork();
    if (!id) {
        set(RLIMIT_RSS, 33, 44);
        _exit(0);
    }
    waitpid(id, 0, 0);
    show_limit("behind vfork", RLIMIT_RSS);
}

static void descriptors(void)
{
    int ends[2], fd = open("/dev/null", O_RDONLY), n = 0;
    struct pollfd p[40] = {0};
    SAY("the first", "%d", fd);
    SHOW(dup2(fd, 30));
    SHOW(setrlimit(RLIMIT_NOFILE, &(struct rlimit){20, 40}));
    SHOW(sysconf(_SC_OPEN_MAX));
    SHOW(getdtablesize());
    while ((fd = dup(0)) >= 0)
        n = fd;
    SAY("the last", "%d %s", n, judge_error(errno));
    SHOW(open("/dev/null", O_RDONLY));
    SHOW(pipe(ends));
    SHOW(dup2(0, 19));
    SHOW(dup2(0, 20));
    SHOW(dup2(30, 30));
    SHOW(dup2(0, 30));
    SHOW(fcntl(0, F_DUPFD, 19));
    SHOW(fcntl(0, F_DUPFD, 20));
    SHOW(fcntl(0, F_DUPFD, 21));
    SHOW(read(30, &n, 1));
    SHOW(close(19));
    SHOW(pipe(ends));
    SHOW(open("/dev/null", O_RDONLY));
    for (unsigned i = 0; i < 40; i++)
        p[i].fd = -1;
    SHOW(poll(p, 20, 0));
    SHOW(poll(p, 21, 0));
    SHOW(setrlimit(RLIMIT_NOFILE, &(struct rlimit){25, 40}));
    SHOW(dup(0));
    SHOW(poll(p, 25, 0));
    SHOW(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 40}));
    SHOW(dup(0));
    SHOW(dup2(0, 1));
    SHOW(close(3));
    SHOW(open("/dev/null", O_RDONLY));
}

static char bytes[3000];

static void sizes(void)
{
    static char said[4096];
    int fd = open("sized", O_RDWR | O_CREAT | O_TRUNC, 0644), out = dup(1), held[2];
    fflush(stdout);
    pipe(held); /* output may go to a file, which is limited, too */
    dup2(held[1], 1);
    signal(SIGXFSZ, note);
    set(RLIMIT_FSIZE, 1000, RLIM_INFINITY);
    SHOW(write(fd, bytes, 900));
    SHOW(write(fd, bytes, 200));
    SAY("signals", "%d", count);
    SHOW(write(fd, bytes, 1));
    SAY("signals", "%d %s", count, judge_signal(got));
    SHOW(write(fd, bytes, 0));
    SHOW(pwrite(fd, bytes, 100, 950));
    SHOW(pwrite(fd, bytes, 100, 1000));
    SHOW(pwrite(fd, bytes, 100, 5000));
    SHOW(pwrite(fd, bytes, 0, 5000));
    SAY("signals", "%d", count);
    SHOW(ftruncate(fd, 1000));
    SHOW(ftruncate(fd, 1001));
    SHOW(truncate("sized", 2000));
    SHOW(ftruncate(fd, -1));
    SAY("signals", "%d", count);
    SHOW(ftruncate(fd, 10));
    int append = open("sized", O_WRONLY | O_APPEND);
    SHOW(write(append, bytes, 980));
    SHOW(write(append, bytes, 980));
    SHOW(write(append, bytes, 980));
    SAY("signals", "%d", count);
    set(RLIMIT_FSIZE, 2000, RLIM_INFINITY);
    SHOW(ftruncate(fd, 1500));
    set(RLIMIT_FSIZE, 1000, RLIM_INFINITY);
    SHOW(ftruncate(fd, 1400)); /* less than it is */
    SHOW(pwrite(fd, bytes, 10, 1200)); /* within it */
    SHOW(pwrite(fd, bytes, 400, 800));
    SAY("signals", "%d", count);
    struct stat s;
    fstat(fd, &s);
    SAY("size", "%ld", (long)s.st_size);
    FILE *f = fopen("sized", "a");
    SHOW(setvbuf(f, 0, _IONBF, 0));
    SHOW(fputs("more", f) == EOF);
    SHOW(ferror(f) != 0);
    SHOW(fclose(f));
    int ends[2];
    pipe(ends); /* a pipe is no file with a size */
    set(RLIMIT_FSIZE, 0, RLIM_INFINITY);
    SHOW(write(ends[1], bytes, 100));
    SHOW(open("empty", O_WRONLY | O_CREAT, 0644) >= 0);
    SHOW(mkdir("folder of no size", 0755));
    signal(SIGXFSZ, SIG_IGN);
    SHOW(write(append, bytes, 1));
    SAY("signals", "%d", count);
    set(RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY);
    SHOW(write(append, bytes, 2000));
    fflush(stdout);
    dup2(out, 1);
    write(1, said, (size_t)read(held[0], said, sizeof said));
}

static void size_kills(void)
{
    int fd = open("sized", O_RDWR | O_CREAT | O_TRUNC, 0644);
    set(RLIMIT_FSIZE, 10, 10);
    write(fd, bytes, 100);
    write(fd, bytes, 100);
}

static void memory(void)
{
    char *some = mmap(0, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *before = sbrk(0);
    SHOW_IF(some != MAP_FAILED);
    set(RLIMIT_AS, 100 * 4096, RLIM_INFINITY); /* less than is in use */
    SHOW_IF(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
    SHOW_IF(sbrk(MB) == (void *)-1 && errno == ENOMEM);
    SHOW_IF(sbrk(0) == before);
    SHOW_IF(mmap(some, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED &&
            errno == ENOMEM);
    SHOW(munmap(some, MB));
    set(RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY);
    SHOW_IF((some = mmap(0, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
    SHOW_IF(sbrk(4096) == before);
}

static void data(void)
{
    int fd = open("mapped", O_RDWR | O_CREAT, 0644);
    ftruncate(fd, MB);
    set(RLIMIT_DATA, 4096, RLIM_INFINITY);
    SHOW_IF(mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
    SHOW_IF(mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == ENOMEM);
    SHOW_IF(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    SHOW_IF(mmap(0, MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
    SHOW_IF(sbrk(MB) == (void *)-1 && errno == ENOMEM);
    SHOW_IF(sbrk(0) != (void *)-1);
    set(RLIMIT_DATA, 200 * MB, RLIM_INFINITY);
    SHOW_IF(sbrk(MB) != (void *)-1);
}

/* Recurses through so many frames of 4 KB. */
static int deep(int n)
{
    volatile char frame[4096];
    frame[0] = (char)n;
    return n ? deep(n - 1) + frame[0] - (char)n : 0;
}

static void shallow_stack(void)
{
    SHOW(deep(30));
    set(RLIMIT_STACK, 400000, RLIM_INFINITY);
    SHOW(deep(60));
    fflush(stdout);
    deep(150);
    SHOW(1);
}

static void deep_stack(void)
{
    set(RLIMIT_STACK, MB, RLIM_INFINITY);
    SHOW(deep(200));
    fflush(stdout);
    deep(400);
}

static void time_signals(void)
{
    struct rlimit l;
    signal(SIGXCPU, note);
    got = 0;
    getrlimit(RLIMIT_CPU, &l);
    set(RLIMIT_CPU, 0, l.rlim_max); /* a second, as no limit can be shorter */
    for (clock_t began = clock(); !got && clock() - began < 3 * CLOCKS_PER_SEC;)
        ;
    SAY("signal", "%s", judge_signal(got));
}

static void time_kills(void)
{
    signal(SIGXCPU, SIG_IGN);
    set(RLIMIT_CPU, 0, 1);
    for (;;)
        ;
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    judge_clean();
    in_child("keeps", keeps);
    in_child("inherited", inherited);
    in_child("descriptors", descriptors);
    in_child("sizes", sizes);
    in_child("size kills", size_kills);
    in_child("memory", memory);
    in_child("data", data);
    in_child("shallow stack", shallow_stack);
    in_child("deep stack", deep_stack);
    if (judge_part == 1) { /* they take a second each */
        in_child("time signals", time_signals);
        in_child("time kills", time_kills);
    }
    return 0;
}
