/*
 * threads: threads of one process. A futex lock keeps their sums exact; a thread that never yields its hart does not
 * keep the others from running; a wake-up wakes as many as asked; each has its own gp; one thread's exit ends those
 * that spin and those that sleep. Instructions that a thread writes are executed by a thread that comes to its hart
 * from another process, whatever that hart has fetched of the page before. Prints @threads count=... waits=... ; the
 * exit status is 0 if all is right.
 *
 * threads spins: only a thread that spins beside the first one, which ends as soon as it does: without clock ticks, on
 * another hart.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "user/lib/system.h"

#define THREADS 4
#define ROUNDS 60
#define STACK 2048

static volatile uint32_t lock; /* 0 free, 1 taken, 2 taken and a thread may sleep (Drepper, Futexes Are Tricky) */
static volatile uint32_t count, waits, done, spins, stop, wrong, gate;
static uint8_t stack[THREADS + 2][STACK];

static void take(void)
{
    uint32_t was = 0;
    if (__atomic_compare_exchange_n(&lock, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE)) {
        futex_wait(&lock, 2, 0);
        __atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
    }
}

static void release(void)
{
    if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
        futex_wake(&lock, 1);
}

/* gp is private to the thread, as every register: other threads run in between with another value in it. */
static int yield_keeps_gp(uint32_t number)
{
    uint32_t saved, found;
    __asm__ volatile("mv %0, gp\n mv gp, %2\n li a7, %3\n ecall\n mv %1, gp\n mv gp, %0"
                     : "=&r"(saved), "=&r"(found)
                     : "r"(number), "i"(SYS_SCHED_YIELD)
                     : "a0", "a7", "memory");
    return found == number;
}

static void counts(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        take();
        uint32_t seen = count;
        if (i % 8 == 0)
            wrong |= !yield_keeps_gp((uint32_t)(uintptr_t)arg); /* the others find the lock held */
        count = seen + 1;
        release();
    }
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    futex_wake(&done, 1);
}

static void spin_until_stopped(void *arg)
{
    (void)arg;
    while (!stop)
        spins++;
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    futex_wake(&done, 1);
}

static void spin_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        spins++;
}

static void sleep_for_ever(void *arg)
{
    (void)arg;
    static volatile uint32_t never;
    for (;;)
        futex_wait(&never, 0, 0);
}

static void wait_at_gate(void *arg)
{
    (void)arg;
    futex_wait(&gate, 0, 0);
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    futex_wake(&done, 1);
}

static void wait_until_done(uint32_t most)
{
    for (uint32_t n; (n = done) < most;)
        futex_wait(&done, n, 0);
}

/* ---- Instructions that change: a page with a function in each set of a small instruction cache. */

#define LINE 32
#define FUNCTIONS (2048 / LINE)
#define TEXTS 20

static uint32_t (*functions)[LINE / sizeof(uint32_t)];
static volatile uint32_t text, seen_right, seen;

/* Whether all functions return `n`. */
static uint32_t all_give(uint32_t n)
{
    uint32_t right = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++)
        right += ((int (*)(void))(uintptr_t)functions[i])() == (int)n;
    return right == FUNCTIONS;
}

static void execute_texts(void *arg)
{
    (void)arg;
    for (uint32_t n = 1; n <= TEXTS; n++) {
        while (text < n)
            futex_wait(&text, n - 1, 0);
        seen_right += all_give(n);
        seen = n;
        futex_wake(&seen, 1);
    }
}

/* Another process runs on the hart that the other thread leaves, and only there. */
static int texts_change(void)
{
    int id = fork();
    if (!id)
        for (;;)
            yield();
    uint32_t *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (id < 0 || page == MAP_FAILED || thread_start(execute_texts, 0, stack[0], STACK) < 0)
        return 0;
    functions = (uint32_t(*)[LINE / sizeof(uint32_t)]) page;
    uint32_t right = 0;
    for (uint32_t n = 1; n <= TEXTS; n++) {
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        for (unsigned i = 0; i < FUNCTIONS; i++) {
            page[i * LINE / 4] = n << 20 | 0x513;  /* li a0, n */
            page[i * LINE / 4 + 1] = 0x8067; /* ret */
        }
        mprotect(page, 4096, PROT_READ | PROT_EXEC);
        right += all_give(n);
        text = n;
        futex_wake(&text, 1);
        while (seen < n)
            futex_wait(&seen, n - 1, 0);
    }
    kill(id, SIGKILL);
    return right == TEXTS && seen_right == TEXTS && wait_child(0) == id;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        int id = thread_start(spin_for_ever, 0, stack[0], STACK);
        while (id > 0 && !spins)
            ;
        return id < 0;
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (thread_start(counts, (void *)(uintptr_t)(i + 1), stack[i], STACK) < 0)
            return 1;
    wait_until_done(THREADS);
    if (thread_start(spin_until_stopped, 0, stack[0], STACK) < 0)
        return 2;
    sleep_for(0, 3000000); /* longer than a time slice at 1000 Hz */
    stop = 1;
    wait_until_done(THREADS + 1);
    for (unsigned i = 1; i < 3; i++)
        if (thread_start(wait_at_gate, 0, stack[i], STACK) < 0)
            return 5;
    sleep_for(0, 2000000);
    wrong |= futex_wake(&gate, 0) != 0 || futex_wake(&gate, 1) != 1 || futex_wake(&gate, THREADS) != 1;
    wait_until_done(THREADS + 3);
    wrong |= !texts_change();
    printf("@threads count=%lu waits=%lu spins=%lu\n", (unsigned long)count, (unsigned long)waits,
           (unsigned long)spins);
    if (thread_start(spin_for_ever, 0, stack[THREADS], STACK) < 0 ||
        thread_start(sleep_for_ever, 0, stack[THREADS + 1], STACK) < 0)
        return 3;
    sleep_for(0, 1000000);
    return count == THREADS * ROUNDS && waits && spins && !wrong ? 0 : 4;
}
