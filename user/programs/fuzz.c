/*
 * fuzz SEED CALLS MILLISECONDS: a thread makes random system calls with random arguments, good and bad ones, while the
 * first thread waits for that time and then ends the process, whatever call it may be in. Most arguments are likely to
 * pass the first check. Its exit status is 0, unless a thread that it started somewhere was ended by a trap.
 */

#include "user/programs/random_calls.h"

static uint32_t calls;
static uint32_t buffer[16 + sizeof(struct user_timespec) / 4]; /* results go to its first 16 words */
static uint8_t stack[2][2048];
static volatile uint32_t word, started;

static void stays(void *arg)
{
    (void)arg;
    for (;;)
        futex_wait(&word, 0, 0);
}

static uint32_t pointer(void)
{
    uint32_t kind = below(12);
    return kind < ODD_POINTERS ? odd_pointer(kind) : (uint32_t)&buffer[below(16)];
}

/* The address of a time, seldom a bad one or one too long to see its end. */
static uint32_t duration(void)
{
    static struct user_timespec t;
    t = (struct user_timespec){0, (int32_t)below(150000), 0};
    if (!below(16))
        t.nanoseconds = (int32_t)number();
    return below(16) ? (uint32_t)&t : pointer();
}

/* The buffer holds pointers, small times and words, some of them from the last calls. */
static void scramble(void)
{
    buffer[below(16)] = below(2) ? pointer() : below(4) ? below(3) : number();
}

static void call(void)
{
    static const char *const names[] = {"status", "fuzz", "nonsense"};
    static const uint32_t numbers[] = {SYS_EXIT,          SYS_WRITE,        SYS_READ,        SYS_SPAWN,
                                       SYS_WAIT4,         SYS_GETPID,       SYS_GETTID,      SYS_SBRK,
                                       SYS_SCHED_YIELD,   SYS_NANOSLEEP,    SYS_FUTEX_WAIT,  SYS_FUTEX_WAKE,
                                       SYS_CLOCK_GETTIME, SYS_THREAD_SPAWN, SYS_THREAD_EXIT, SYS_CALLS};
    switch (numbers[below(sizeof numbers / sizeof numbers[0])]) {
    case SYS_EXIT:
    case SYS_THREAD_EXIT:
        if (!below(100))
            system_call(SYS_THREAD_EXIT, 0, 0, 0);
        return;
    case SYS_WRITE:
        system_call(SYS_WRITE, below(8) ? number() : 1, pointer(), below(4) ? below(8) : number() & 0x8000003f);
        return;
    case SYS_READ: system_call(SYS_READ, below(100) ? number() | 1 : 0, pointer(), number()); return;
    case SYS_SPAWN:
        if (!below(12))
            system_call(SYS_SPAWN, below(3) ? (uint32_t)names[below(3)] : pointer(), pointer(), 0);
        return;
    case SYS_WAIT4: /* nearly always with a child to wait for, or without any */
        system_call(SYS_WAIT4, (uint32_t)-1, below(2) ? (uint32_t)buffer : pointer(), 0);
        return;
    case SYS_SBRK: system_call(SYS_SBRK, below(4) ? below(3000) : number(), 0, 0); return;
    case SYS_THREAD_SPAWN:
        if (!below(300))
            system_call(SYS_THREAD_SPAWN, pointer(), pointer(), pointer());
        else if (started < 1) {
            started++;
            thread_start(stays, 0, stack[1], sizeof stack[1]);
        }
        return;
    case SYS_NANOSLEEP:
        if (!below(8))
            system_call(SYS_NANOSLEEP, duration(), 0, 0);
        return;
    case SYS_FUTEX_WAIT: system_call(SYS_FUTEX_WAIT, pointer(), number(), duration()); return;
    case SYS_CALLS: /* no such call */
        system_call(SYS_CALLS + below(4) * number(), number(), number(), number());
        return;
    default:
        system_call(below(2) ? SYS_CLOCK_GETTIME : SYS_FUTEX_WAKE, below(2) ? pointer() : number(),
                    below(2) ? pointer() : number(), pointer());
    }
}

static void worker(void *arg)
{
    (void)arg;
    for (; calls; calls--) {
        scramble();
        call();
    }
    word = 1;
    futex_wake(&word, 2);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 0;
    random_state = strtoul(argv[1], 0, 0) * 2654435761u + 1;
    calls = strtoul(argv[2], 0, 0);
    uint64_t until = nanoseconds_now() + strtoul(argv[3], 0, 0) * 1000000ull;
    if (thread_start(worker, 0, stack[0], sizeof stack[0]) < 0)
        return 0;
    while (!word && nanoseconds_now() < until)
        futex_wait(&word, 0, 1000000);
    return 0;
}
