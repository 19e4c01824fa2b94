/* System calls for programs (system.h), and what picolibc needs from below: stdout, sbrk, exit. */
#include "user/lib/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NANOSECONDS 1000000000u
#define THREAD_LOCAL_SIZE 16

int system_call(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2)
{
    return system_call6(number, a0, a1, a2, 0, 0, 0);
}

int system_call6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5)
{
    register uint32_t r0 __asm__("a0") = a0, r1 __asm__("a1") = a1, r2 __asm__("a2") = a2, r3 __asm__("a3") = a3,
                         r4 __asm__("a4") = a4, r5 __asm__("a5") = a5, r7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r7) : "memory");
    return (int)r0;
}

static int with_errno(int result)
{
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

ssize_t write(int fd, const void *from, size_t n)
{
    return with_errno(system_call(SYS_WRITE, (uint32_t)fd, (uint32_t)from, n));
}

ssize_t read(int fd, void *to, size_t n)
{
    return with_errno(system_call(SYS_READ, (uint32_t)fd, (uint32_t)to, n));
}

void *sbrk(ptrdiff_t bytes)
{
    return (void *)with_errno(system_call(SYS_SBRK, (uint32_t)bytes, 0, 0));
}

pid_t getpid(void)
{
    return system_call(SYS_GETPID, 0, 0, 0);
}

/* stdout, by the line: one program's threads share it without a lock. */
static char line[128];
static unsigned line_length;

static int flush(FILE *file)
{
    (void)file;
    unsigned n = line_length;
    line_length = 0;
    return n && write(1, line, n) != (ssize_t)n ? EOF : 0;
}

static int put(char c, FILE *file)
{
    line[line_length++] = c;
    return (c == '\n' || line_length == sizeof line) && flush(file) ? EOF : (unsigned char)c;
}

static FILE console = FDEV_SETUP_STREAM(put, 0, flush, _FDEV_SETUP_WRITE);
FILE *const stdout = &console;

_Noreturn void exit(int status)
{
    flush(stdout);
    for (;;)
        system_call(SYS_EXIT, (uint32_t)status, 0, 0);
}

int spawn(const char *name, const char *const *argv)
{
    return system_call(SYS_SPAWN, (uint32_t)name, (uint32_t)argv, 0);
}

int wait_child(int *status)
{
    return system_call(SYS_WAIT4, (uint32_t)-1, (uint32_t)status, 0);
}

void yield(void)
{
    system_call(SYS_SCHED_YIELD, 0, 0, 0);
}

int sleep_for(uint32_t seconds, uint32_t nanoseconds)
{
    struct user_timespec t = {seconds, (int32_t)nanoseconds, 0};
    return system_call(SYS_NANOSLEEP, (uint32_t)&t, 0, 0);
}

uint64_t nanoseconds_now(void)
{
    struct user_timespec t;
    system_call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, (uint32_t)&t, 0);
    return (uint64_t)t.seconds * NANOSECONDS + (uint32_t)t.nanoseconds;
}

int futex_wait(volatile uint32_t *word, uint32_t value, uint32_t limit_nanoseconds)
{
    struct user_timespec t = {limit_nanoseconds / NANOSECONDS, (int32_t)(limit_nanoseconds % NANOSECONDS), 0};
    return system_call(SYS_FUTEX_WAIT, (uint32_t)word, value, limit_nanoseconds ? (uint32_t)&t : 0);
}

int futex_wake(volatile uint32_t *word, uint32_t most)
{
    return system_call(SYS_FUTEX_WAKE, (uint32_t)word, most, 0);
}

struct start {
    void (*fn)(void *);
    void *arg;
    uint32_t thread_local[THREAD_LOCAL_SIZE / 4];
};

static void thread_main(struct start *start)
{
    __asm__ volatile("mv tp, %0" ::"r"(start->thread_local));
    start->fn(start->arg);
    for (;;)
        system_call(SYS_THREAD_EXIT, 0, 0, 0);
}

int thread_start(void (*fn)(void *), void *arg, void *stack, uint32_t size)
{
    struct start *start = (struct start *)(((uint32_t)stack + size - sizeof *start) & ~15u);
    *start = (struct start){.fn = fn, .arg = arg};
    return system_call(SYS_THREAD_SPAWN, (uint32_t)thread_main, (uint32_t)start, (uint32_t)start);
}
