/*
 * storm SEED ROUNDS PROCESSES THREADS [scarce|DIRECTORY]: processes of several threads, each of which makes ROUNDS
 * steps at random: maps, frees and protects pages of its own and ones that all threads of its process use at the same
 * time; forks children that end, are ended, or borrow the memory (vfork) and close, replace and duplicate descriptors
 * of their own; duplicates descriptors onto each other; writes to and reads from pipes out of pages that others unmap;
 * sends signals; waits for a lock. In a DIRECTORY also: writes, reads, truncates, renames and unlinks a file and a FIFO
 * of each process. A page's contents, and a file's, are 0 or from a process that may write there: no other's contents
 * are ever seen. With `scarce` memory may be out: calls fail, and a process may end by SIGBUS. Prints a line for each
 * error, and
 *
 *   storm: N steps, N wrong
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define SLOTS 6
#define SLOTS_AT 0x30000000 /* where no mapping without a fixed address is put */
#define MOST 8 /* threads, and processes */
#define FIRST 10 /* descriptors that are duplicated onto each other: two ends of a pipe */
#define DESCRIPTORS 4

struct common {
    volatile uint32_t steps, wrong, beats[MOST];
};

static struct common *common;
static unsigned me, rounds, thread_count, process_count, scarce;
static uint32_t
    tag; /* of what this process, or a child that it has forked, writes: each word has it in its upper half */
static char *slots;  /* used by all threads */
static const char *directory;
static volatile uint32_t caught, counter;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread sigjmp_buf back;
static __thread volatile int may_fault;
static __thread uint32_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * n >> 32);
}

static void wrong(int line, uint32_t is, uint32_t should)
{
    char text[80];
    int n = snprintf(text, sizeof text, "storm.c:%d: process %u has %#lx, not %#lx\n", line, me, (unsigned long)is,
                     (unsigned long)should);
    if (write(1, text, (size_t)n) == n)
        __atomic_fetch_add(&common->wrong, 1, __ATOMIC_RELAXED);
}

#define IS(what, should)                              \
    do {                                              \
        uint32_t is_ = (uint32_t)(what);              \
        if (is_ != (uint32_t)(should))                \
            wrong(__LINE__, is_, (uint32_t)(should)); \
    } while (0)

static void counts(int signal)
{
    (void)signal;
    __atomic_fetch_add(&caught, 1, __ATOMIC_RELAXED);
}

static void faults(int number)
{
    if (may_fault)
        siglongjmp(back, 1);
    signal(number, SIG_DFL); /* again, and for good */
}

/* What follows may fault, once: returns 0 before, 1 after the fault. */
#define TRY (may_fault = 1, !sigsetjmp(back, 1))

static int is_ours(uint32_t word)
{
    return !word || word >> 16 == tag;
}

static void own_pages(void)
{
    unsigned pages = 1 + below(4);
    uint32_t value = tag << 16 | below(1 << 16);
    volatile uint32_t *at = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (at == MAP_FAILED) {
        IS(scarce, 1);
        return;
    }
    volatile unsigned written = 0;
    if (TRY)
        for (; written < pages; written++) {
            IS(at[written * PAGE / 4 + 5], 0);
            at[written * PAGE / 4 + 5] = value + written;
        }
    may_fault = 0;
    IS(written == pages || scarce, 1);
    volatile int went_on = 0;
    int error = mprotect((void *)at, pages * PAGE, PROT_READ);
    if (!error && written && TRY) {
        at[5] = value + 99;
        went_on = 1;
    }
    may_fault = 0;
    IS(went_on, 0);
    if (TRY)
        for (unsigned i = 0; i < written; i++)
            IS(at[i * PAGE / 4 + 5], value + i);
    may_fault = 0;
    IS(!munmap((void *)at, pages * PAGE) || scarce, 1);
}

/* All threads do this to the same pages: another thread unmaps what one writes, or makes it read-only. */
static void common_pages(void)
{
    char *slot = slots + below(SLOTS) * PAGE;
    volatile uint32_t *words = (uint32_t *)slot;
    switch (below(5)) {
    case 0: mmap(slot, PAGE * (1 + below(2)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0); break;
    case 1: munmap(slot, PAGE); break;
    case 2: mprotect(slot, PAGE, PROT_READ); break;
    case 3: mprotect(slot, PAGE, PROT_READ | PROT_WRITE); break;
    default: break;
    }
    for (volatile unsigned i = 0; i < 4; i++) {
        if (TRY) {
            uint32_t at = below(PAGE / 4), is = words[at];
            if (!is_ours(is))
                wrong(__LINE__, is, tag << 16);
            words[at] = tag << 16 | i;
        }
        may_fault = 0;
    }
}

/* From and into pages that may be unmapped meanwhile, through descriptors that change meanwhile. */
static void pipes(void)
{
    int from = FIRST + (int)below(DESCRIPTORS), to = FIRST + (int)below(DESCRIPTORS);
    if (below(2)) {
        int fd = dup2(from, to);
        IS(fd == to || (fd < 0 && (errno == EBADF || errno == ENOMEM)), 1);
    }
    uint32_t words[16], *slot = (uint32_t *)(slots + below(SLOTS) * PAGE);
    int n = (int)write(from, slot + below(PAGE / 4 - 16), sizeof words);
    IS(n == sizeof words || n < 0, 1);
    n = (int)read(to, below(2) ? words : slot, sizeof words);
    for (int i = 0; i < n / 4; i++)
        if (TRY && !is_ours(words[i]))
            words[i] = words[i];
    may_fault = 0;
    n = (int)read(to, words, sizeof words);
    for (int i = 0; i < n / 4; i++)
        if (!is_ours(words[i]))
            wrong(__LINE__, words[i], tag << 16);
}

static void children(void)
{
    volatile uint32_t *at = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    uint32_t value = tag << 16 | below(1 << 16);
    int how = (int)below(4), status = 0;
    volatile int there = 0;
    if (at == MAP_FAILED)
        return;
    if (TRY) {
        at[7] = value;
        at[PAGE / 4 + 7] = ~value;
        there = 1;
    }
    may_fault = 0;
    pid_t id = there ? fork() : -1;
    if (!id) {
        signal(SIGSEGV, SIG_DFL);
        if (at[7] != value || at[PAGE / 4 + 7] != ~value)
            _exit(1);
        at[7] = 1;
        if (how == 0)
            raise(SIGKILL);
        if (how == 1 && munmap((void *)at, PAGE))
            _exit(2);
        if (how == 2 && at[PAGE / 4 + 7] != ~value)
            _exit(3);
        _exit(0);
    }
    if (id > 0) {
        at[PAGE / 4 + 7] = 2;
        if (how == 3)
            kill(id, SIGTERM);
        while (waitpid(id, &status, 0) < 0)
            IS(errno, EINTR);
        int ended = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        IS(!status || (ended == SIGKILL && how == 0) || (ended == SIGTERM && how == 3) || (ended == SIGBUS && scarce),
           1);
        IS(at[7], value);
    } else if (there) {
        IS(scarce, 1);
    }
    munmap((void *)at, 2 * PAGE);
}

/* The child has the parent's memory, but descriptors of its own: what it does to them does not concern the parent. */
static void __attribute__((noinline)) borrowers(void)
{
    volatile int how = (int)below(5);
    volatile uint32_t word = tag << 16 | below(1 << 16), came = 0;
    int fd[2], status = 0;
    if (pipe(fd)) {
        IS(scarce || errno == EMFILE, 1);
        return;
    }
    pid_t id = vfork();
    if (!id) {
        close(fd[0]);
        if (how == 0)
            dup2(fd[1], FIRST);
        if (how == 1)
            close(FIRST + 1);
        if (write(fd[1], (void *)&word, sizeof word) != sizeof word)
            _exit(9);
        close(fd[1]);
        if (how == 2)
            kill(getpid(), SIGKILL);
        if (how == 3)
            execl("/none", "none", (char *)0);
        came = word;
        _exit(how);
    }
    if (id > 0) {
        while (waitpid(id, &status, 0) < 0)
            IS(errno, EINTR);
        IS(status, how == 2 ? SIGKILL : how << 8);
        IS(came, how == 2 ? 0 : word);
        IS(read(fd[0], (void *)&came, sizeof came), sizeof came);
        IS(came, word);
        IS(fcntl(FIRST, F_GETFD) >= 0 || errno == EBADF, 1);
    } else {
        IS(scarce, 1);
    }
    IS(close(fd[0]), 0);
    IS(close(fd[1]), 0);
}

static const char *name_of(const char *kind, unsigned which, char name[256])
{
    snprintf(name, 256, "%s/%s%u-%u", directory, kind, me, which);
    return name;
}

/* Two names of a file that all threads write, truncate, rename and unlink. */
static void files(void)
{
    char one[256], other[256];
    uint32_t words[32];
    int fd = open(name_of("file", below(2), one), O_RDWR | O_CREAT | (below(4) ? 0 : O_TRUNC), 0600);
    IS(fd >= 0 || errno == EMFILE, 1);
    if (fd < 0)
        return;
    for (unsigned i = 0; i < 32; i++)
        words[i] = tag << 16 | i;
    off_t at = (off_t)(4 * below(3000));
    int n = (int)pwrite(fd, words, sizeof words, at);
    IS(n == sizeof words || (n < 0 && errno == ENOSPC), 1);
    switch (below(5)) {
    case 0: IS(ftruncate(fd, (off_t)(4 * below(3000))), 0); break;
    case 1: IS(!unlink(one) || errno == ENOENT, 1); break;
    case 2: IS(!rename(one, name_of("file", below(2), other)) || errno == ENOENT, 1); break;
    case 3: IS(fsync(fd), 0); break;
    default: break;
    }
    n = (int)pread(fd, words, sizeof words, (off_t)(4 * below(3000)));
    IS(n >= 0 && n % 4 == 0, 1);
    for (int i = 0; i < n / 4; i++)
        if (!is_ours(words[i]))
            wrong(__LINE__, words[i], tag << 16);
    IS(close(fd), 0);
}

/* A FIFO under two names: opened for one end or both, written and read without waiting. */
static void fifos(void)
{
    static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR};
    char one[256], other[256];
    uint32_t words[16];
    name_of("fifo", below(2), one);
    IS(!mkfifo(one, 0600) || errno == EEXIST, 1);
    int way = ways[below(3)], fd = open(one, way | O_NONBLOCK);
    IS(fd >= 0 || errno == ENOENT || errno == EMFILE || (errno == ENXIO && way == O_WRONLY), 1);
    if (!below(3))
        IS(!unlink(one) || errno == ENOENT, 1);
    else if (!below(2))
        IS(!rename(one, name_of("fifo", below(2), other)) || errno == ENOENT, 1);
    if (fd < 0)
        return;
    for (unsigned i = 0; i < 16; i++)
        words[i] = tag << 16 | i;
    int n = (int)write(fd, words, sizeof words);
    IS(n == sizeof words || (n < 0 && errno == (way == O_RDONLY ? EBADF : EAGAIN)) ||
           (n < 0 && errno == EPIPE && way == O_WRONLY),
       1);
    n = (int)read(fd, words, sizeof words);
    IS(n >= 0 || errno == (way == O_WRONLY ? EBADF : EAGAIN), 1);
    for (int i = 0; i < n / 4; i++)
        if (!is_ours(words[i]))
            wrong(__LINE__, words[i], tag << 16);
    IS(close(fd), 0);
}

static void signals(void)
{
    sigset_t set, old;
    struct itimerval soon = {{0, 0}, {0, 1000}};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    switch (below(4)) {
    case 0: kill(getpid(), SIGUSR1); break;
    case 1: setitimer(ITIMER_REAL, &soon, 0); break;
    case 2: raise(SIGUSR1); break;
    default:
        pthread_sigmask(SIG_BLOCK, &set, &old);
        raise(SIGUSR1);
        pthread_sigmask(SIG_SETMASK, &old, 0);
    }
    __atomic_fetch_add(&common->beats[me], 1, __ATOMIC_RELAXED);
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
    uint32_t before = counter;
    for (unsigned n = below(200); n; n--)
        __asm__ volatile("");
    counter = before + 1;
    pthread_mutex_unlock(&mutex);
}

static void *steps(void *seed)
{
    static void (*const step[])(void) = {own_pages,    common_pages, pipes,     children, signals, lock,
                                         common_pages, pipes,        borrowers, files,    fifos};
    uint32_t locked = 0;
    state = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned which = below(sizeof step / sizeof step[0] - (directory ? 0 : 2));
        locked += which == 5;
        step[which]();
        __atomic_fetch_add(&common->steps, 1, __ATOMIC_RELAXED);
    }
    return (void *)(uintptr_t)locked;
}

static int run(uint32_t seed)
{
    pthread_t threads[MOST];
    unsigned made = 0, ended = 0;
    int fd[2];
    struct sigaction action = {.sa_handler = counts, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGALRM, &action, 0);
    action.sa_handler = faults;
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGBUS, &action, 0);
    signal(SIGPIPE, SIG_IGN);
    tag = 0x4000 + seed % 0x1000 * MOST + me;
    slots =
        mmap((void *)SLOTS_AT, (SLOTS + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
    if (slots == MAP_FAILED || pipe(fd))
        return !scarce;
    for (int i = 0; i < DESCRIPTORS; i++) {
        dup2(fd[i & 1], FIRST + i);
        fcntl(FIRST + i, F_SETFL, O_NONBLOCK);
    }
    while (made < thread_count && !pthread_create(&threads[made], 0, steps, (void *)(uintptr_t)(seed * MOST + made)))
        made++;
    IS(made == thread_count || scarce, 1);
    for (unsigned i = 0; i < made; i++) {
        void *locked;
        IS(pthread_join(threads[i], &locked), 0);
        ended += (uintptr_t)locked;
    }
    IS(counter, ended);
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t seed = argc > 1 ? strtoul(argv[1], 0, 0) : 1;
    rounds = argc > 2 ? strtoul(argv[2], 0, 0) : 20;
    process_count = argc > 3 ? strtoul(argv[3], 0, 0) : 2;
    thread_count = argc > 4 ? strtoul(argv[4], 0, 0) : 3;
    scarce = argc > 5 && !strcmp(argv[5], "scarce");
    directory = argc > 5 && !scarce ? argv[5] : 0;
    common = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (common == MAP_FAILED || process_count > MOST || thread_count > MOST)
        return 2;
    for (me = 0; me < process_count; me++) {
        pid_t id = fork();
        if (!id)
            _exit(run(seed * MOST + me));
        if (id < 0)
            IS(scarce, 1);
    }
    for (int status; wait(&status) > 0;)
        IS(!status || (scarce && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS), 1);
    printf("storm: %lu steps, %lu wrong\n", (unsigned long)common->steps, (unsigned long)common->wrong);
    return common->wrong != 0;
}
