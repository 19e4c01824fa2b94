/* System calls of our own for programs (system.h). */
#include "user/lib/system.h"

#include <errno.h>

#include "user/lib/thread_local.h"

#define NANOSECONDS 1000000000u

int system_call6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5)
{
    register uint32_t r0 __asm__("a0") = a0, r1 __asm__("a1") = a1, r2 __asm__("a2") = a2, r3 __asm__("a3") = a3,
                         r4 __asm__("a4") = a4, r5 __asm__("a5") = a5, r7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r7) : "memory");
    return (int)r0;
}

int system_call(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2)
{
    return system_call6(number, a0, a1, a2, 0, 0, 0);
}

int with_errno(int result)
{
    if (result >= 0 || result < -4095) /* addresses are results too */
        return result;
    errno = -result;
    return -1;
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
    void *thread_local;
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
    char *own = (char *)(((uint32_t)stack + size - thread_local_size()) & ~(THREAD_LOCAL_ALIGNMENT - 1));
    struct start *start = (struct start *)((uint32_t)(own - sizeof *start) & ~15u);
    *start = (struct start){fn, arg, own};
    thread_local_init(own);
    return system_call(SYS_THREAD_SPAWN, (uint32_t)thread_main, (uint32_t)start, (uint32_t)start);
}
