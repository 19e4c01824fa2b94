/* The locks that picolibc takes around malloc, stdio and atexit (its <sys/lock.h>), on futexes. */
#include <stdlib.h>
#include <sys/lock.h>

#include "user/lib/locks.h"

struct __lock __lock___libc_recursive_mutex;

/* 0 stands for no thread: none has its variables there. */
static uint32_t self(void)
{
    return (uint32_t)__builtin_thread_pointer();
}

void __retarget_lock_init(_LOCK_T *lock)
{
    *lock = calloc(1, sizeof **lock);
}

void __retarget_lock_init_recursive(_LOCK_T *lock)
{
    __retarget_lock_init(lock);
}

void __retarget_lock_close(_LOCK_T lock)
{
    free(lock);
}

void __retarget_lock_close_recursive(_LOCK_T lock)
{
    free(lock);
}

void __retarget_lock_acquire(_LOCK_T lock)
{
    futex_lock(&lock->word);
}

int __retarget_lock_try_acquire(_LOCK_T lock)
{
    return futex_lock_try(&lock->word);
}

void __retarget_lock_release(_LOCK_T lock)
{
    futex_unlock(&lock->word);
}

void __retarget_lock_acquire_recursive(_LOCK_T lock)
{
    if (lock->owner != self()) {
        futex_lock(&lock->word);
        lock->owner = self();
    }
    lock->depth++;
}

int __retarget_lock_try_acquire_recursive(_LOCK_T lock)
{
    if (lock->owner != self()) {
        if (!futex_lock_try(&lock->word))
            return 0;
        lock->owner = self();
    }
    lock->depth++;
    return 1;
}

void __retarget_lock_release_recursive(_LOCK_T lock)
{
    if (--lock->depth)
        return;
    lock->owner = 0;
    futex_unlock(&lock->word);
}
