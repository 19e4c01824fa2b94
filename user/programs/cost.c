/*
 * cost: what system calls and switches cost, in cycles, medians. Run by run=syscall-cost on one hart. Prints
 *
 *   @syscall_cost null=... clock=... yield=... thread_switch=... process_switch=... spawn=...
 *
 * null: getpid. clock: clock_gettime, which copies a result out. yield: sched_yield with no other thread to run.
 * thread_switch and process_switch: from one thread's sched_yield to the next one's return from it, in one address
 * space and between two. spawn: spawn of a program that exits at once, and wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/system.h"

#define SAMPLES 101
#define SPAWNS 3
#define YIELDS "500" /* of the other side: more than are measured */

static uint32_t sample[SAMPLES];
static uint8_t stack[2048];
static volatile uint32_t stop;

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t median(void (*fn)(void), unsigned samples)
{
    for (unsigned i = 0; i < samples; i++) {
        uint32_t before = cycles();
        fn();
        sample[i] = cycles() - before;
    }
    qsort(sample, samples, sizeof *sample, compare);
    return sample[samples / 2];
}

static void get_pid(void)
{
    getpid();
}

static void get_time(void)
{
    static struct user_timespec t;
    system_call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, (uint32_t)&t, 0);
}

static void spawn_and_wait(void)
{
    static const char *const argv[] = {"status", 0};
    int status;
    if (spawn("status", argv) < 0 || wait_child(&status) < 0 || status)
        exit(2);
}

static void yield_until_stopped(void *arg)
{
    (void)arg;
    while (!stop)
        yield();
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "yield")) {
        for (unsigned n = strtoul(argv[2], 0, 0); n; n--)
            yield();
        return 0;
    }
    uint32_t null = median(get_pid, SAMPLES), clock = median(get_time, SAMPLES), alone = median(yield, SAMPLES);

    if (thread_start(yield_until_stopped, 0, stack, sizeof stack) < 0)
        return 3;
    yield();
    uint32_t thread_switch = median(yield, SAMPLES) / 2; /* there and back */
    stop = 1;
    yield();

    static const char *const other[] = {"cost", "yield", YIELDS, 0};
    if (spawn("cost", other) < 0)
        return 4;
    yield();
    uint32_t process_switch = median(yield, SAMPLES) / 2;
    if (wait_child(0) < 0)
        return 5;
    printf("@syscall_cost null=%lu clock=%lu yield=%lu thread_switch=%lu process_switch=%lu spawn=%lu\n",
           (unsigned long)null, (unsigned long)clock, (unsigned long)alone, (unsigned long)thread_switch,
           (unsigned long)process_switch, (unsigned long)median(spawn_and_wait, SPAWNS));
    return 0;
}
