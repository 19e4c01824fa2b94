/*
 * nnb TESTS USERS FILE AVERAGE LOOPS CALLS READS DISKS HARTS THREADS: the Neal Nelson Benchmark's tests
 * (user/programs/nnb_tests.h) by as many users at once as the list USERS says, each a process, or, with THREADS=1, a
 * thread of one process, so that all share a descriptor table. TESTS is a list too; FILE is in KiB. For each test and
 * number of users prints
 *
 *   @nnb test=... users=... disks=... harts=... cycles=... mean=...
 *
 * cycles: from the common start to the end of the last user (paper `mach`: completion time); mean: over the users. All
 * wait for the start, a word in shared memory, by sched_yield; each ends by a byte in a pipe, for which the driver
 * sleeps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/programs/nnb_tests_calls.h"
#include "user/lib/system.h"

#define USERS_MOST 20
#define STACK 4096

static struct shared {
    volatile uint32_t go, ready, left, there;
    volatile uint32_t ended[USERS_MOST];
} *shared;

static int commands[USERS_MOST][2], done[2];
static uint32_t file_bytes, disks;
static struct nnb_scale scale;
static struct nnb users[USERS_MOST];
static char paths[USERS_MOST][16], temporaries[USERS_MOST][16];
static uint8_t stacks[USERS_MOST][STACK] __attribute__((aligned(16)));

static void work(void *arg)
{
    struct nnb *n = arg;
    uint32_t i = (uint32_t)(n - users);
    uint8_t test;
    static const uint8_t zeros[4096];
    n->fd = nnb_open(0, paths[i], true);
    for (uint32_t at = 0, piece; at < file_bytes; at += piece) {
        piece = MIN(file_bytes - at, sizeof zeros);
        nnb_write(0, n->fd, zeros, piece);
    }
    nnb_random_read(n); /* copy-on-write pages are copied now */
    __atomic_fetch_add(&shared->there, 1, __ATOMIC_SEQ_CST);
    while (read(commands[i][0], &test, 1) == 1 && test) {
        uint32_t turn = shared->go;
        __atomic_fetch_add(&shared->ready, 1, __ATOMIC_SEQ_CST);
        while (shared->go == turn)
            yield();
        nnb_run(n, test, &scale);
        shared->ended[i] = cycles();
        if (!__atomic_sub_fetch(&shared->left, 1, __ATOMIC_SEQ_CST))
            nnb_write(0, done[1], &test, 1);
    }
    nnb_close(0, n->fd);
}

static void command(uint32_t i, uint8_t test)
{
    nnb_write(0, commands[i][1], &test, 1);
}

static void run_test(uint8_t test, uint32_t count, const char *harts)
{
    sync(); /* earlier writes do not belong to the test */
    shared->ready = 0;
    shared->left = count;
    for (uint32_t i = 0; i < count; i++)
        command(i, test);
    while (shared->ready < count)
        yield();
    uint32_t begin = cycles(), last = 0;
    uint64_t sum = 0;
    __atomic_store_n(&shared->go, shared->go + 1, __ATOMIC_SEQ_CST);
    nnb_read(0, done[0], &test, 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t took = shared->ended[i] - begin;
        last = MAX(took, last);
        sum += took;
    }
    printf("@nnb test=%u users=%lu disks=%lu harts=%s cycles=%lu mean=%lu\n", test, (unsigned long)count,
           (unsigned long)disks, harts, (unsigned long)last, (unsigned long)(sum / count));
    fflush(stdout);
}

/* The numbers of a comma-separated list. */
static unsigned numbers(char *text, uint32_t *to, unsigned room)
{
    unsigned n = 0;
    for (char *word, *rest = text; n < room && (word = strtok_r(rest, ",", &rest));)
        to[n++] = (uint32_t)atoi(word);
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 11) {
        fprintf(stderr, "nnb: give TESTS USERS FILE AVERAGE LOOPS CALLS READS DISKS HARTS THREADS\n");
        return 2;
    }
    uint32_t tests[8], counts[16], most = 0;
    unsigned test_count = numbers(argv[1], tests, 8), count_count = numbers(argv[2], counts, 16);
    file_bytes = (uint32_t)atoi(argv[3]) * 1024;
    scale = (struct nnb_scale){(uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6]),
                               (uint32_t)atoi(argv[7])};
    disks = (uint32_t)atoi(argv[8]);
    bool threads = atoi(argv[10]);
    for (unsigned i = 0; i < count_count; i++)
        most = MAX(counts[i], most);
    if (disks > 1 && (mkdir("/1", 0755) || mount("ext2", "/1", 0, "disk1")))
        nnb_failed("the second disk");
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (most > USERS_MOST || shared == MAP_FAILED || pipe(done))
        nnb_failed("start");
    for (uint32_t i = 0; i < most; i++) {
        const char *top = i % disks ? "/1" : "";
        snprintf(paths[i], sizeof paths[i], "%s/f%lu", top, (unsigned long)i);
        snprintf(temporaries[i], sizeof temporaries[i], "%s/t%lu", top, (unsigned long)i);
        users[i] = (struct nnb){.file = file_bytes, .temporary = temporaries[i], .random = i + 1};
        if (pipe(commands[i]))
            nnb_failed("pipe");
        if (threads) {
            thread_start(work, &users[i], stacks[i], STACK);
            continue;
        }
        int id = fork();
        if (id < 0)
            nnb_failed("fork");
        if (!id) {
            work(&users[i]);
            _exit(0);
        }
        close(commands[i][0]);
    }
    while (shared->there < most) /* else processes that still make files take processor time from the first test */
        yield();
    for (unsigned t = 0; t < test_count; t++)
        for (unsigned i = 0; i < count_count; i++)
            run_test((uint8_t)tests[t], counts[i], argv[9]);
    for (uint32_t i = 0; i < most; i++)
        command(i, 0);
    for (int status; !threads && wait_child(&status) > 0;)
        if (status)
            return 1;
    return 0;
}
