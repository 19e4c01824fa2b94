/*
 * full: fills the kernel's table of threads, again and again: with threads, then, if they are few, with programs, until
 * one is refused; while it is full of threads a program is refused, too. What has ended can be started again: each time
 * as many. Prints @full threads=... programs=...; the exit status is 0 if all is right.
 */
#include <errno.h>
#include <stdio.h>

#include "user/lib/system.h"

#define MOST 80
#define STACK 256
#define TURNS 3
#define FEW 16 /* programs are tried, too, if there is no more room than this: each takes a while to load */
#define STAY_NANOSECONDS 45000000 /* enough to start all */

static uint8_t stack[MOST][STACK] __attribute__((aligned(16)));
static volatile uint32_t may_end, ended;

static void waits(void *arg)
{
    (void)arg;
    while (!may_end)
        futex_wait(&may_end, 0, 0);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
}

/* How many threads could be started; 0 if lack of room was not the reason for the end. */
static unsigned threads(void)
{
    unsigned n = 0;
    may_end = ended = 0;
    static const char *const argv[] = {"full", "stay", 0};
    int id = 0;
    while (n < MOST && (id = thread_start(waits, 0, stack[n], STACK)) > 0)
        n++;
    int program = spawn("full", argv);
    may_end = 1;
    futex_wake(&may_end, MOST);
    while (ended < n)
        yield();
    sleep_for(0, 20000000); /* the last of them have signalled, and are about to end */
    return id == -EAGAIN && program == -EAGAIN ? n : 0;
}

static unsigned programs(void)
{
    static const char *const argv[] = {"full", "stay", 0};
    unsigned n = 0;
    int id, status;
    while ((id = spawn("full", argv)) > 0 && n < MOST)
        n++;
    for (unsigned i = 0; i < n; i++)
        if (wait_child(&status) <= 0)
            return 0;
    return id == -EAGAIN ? n : 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    unsigned thread_count = 0, program_count = 0;
    if (argc > 1)
        return sleep_for(0, STAY_NANOSECONDS);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        unsigned t = threads();
        if (!t || (turn && t != thread_count)) {
            printf("turn %u: %u threads, then %u\n", turn, thread_count, t);
            return 1;
        }
        thread_count = t;
    }
    if (thread_count <= FEW) {
        program_count = programs();
        if (!program_count || programs() != program_count)
            return 1;
    }
    printf("@full threads=%u programs=%u\n", thread_count, program_count);
    return 0;
}
