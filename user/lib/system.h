/*
 * System calls for programs (user/abi.h says what each does) that no standard header declares: they return the result,
 * or minus an error number. The rest is POSIX, in the C library's headers and in user/lib/include.
 */
#ifndef USER_LIB_SYSTEM_H
#define USER_LIB_SYSTEM_H

#include <stdint.h>
#include <unistd.h>

#include "user/abi.h"

int system_call(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2);
int system_call6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5);

/* -1 with errno set for minus an error number, else the result: as POSIX requires of a call. */
int with_errno(int result);

int spawn(const char *name, const char *const *argv);
int wait_child(int *status);
void yield(void);
int sleep_for(uint32_t seconds, uint32_t nanoseconds);
uint64_t nanoseconds_now(void);
int futex_wait(volatile uint32_t *word, uint32_t value, uint32_t limit_nanoseconds); /* limit 0: none */
int futex_wake(volatile uint32_t *word, uint32_t most);

/* Runs fn(arg) in a thread with `size` bytes of stack at `stack`; it ends when fn returns. Returns its id. */
int thread_start(void (*fn)(void *), void *arg, void *stack, uint32_t size);

static inline uint32_t cycles(void)
{
    uint32_t v;
    __asm__ volatile("rdcycle %0" : "=r"(v)::"memory");
    return v;
}
#endif
