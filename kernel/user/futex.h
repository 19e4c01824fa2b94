/*
 * Sleeping threads of processes: on a word of their memory (after futex(2) of Linux), or for a time alone. All end
 * early when the process is ending.
 *
 * Locking: user_lock guards the list of those that wait. A word is compared under it, so a thread that changes the
 * word and then wakes never misses one that is about to sleep.
 */
#ifndef USER_FUTEX_H
#define USER_FUTEX_H

#include "user/process.h"

#define FUTEX_NO_LIMIT 0 /* ticks */

/*
 * The calling thread sleeps while the word at `word` is `value`. 0, or -EAGAIN: it has another, -EFAULT, -EINVAL,
 * -ETIMEDOUT, -EINTR.
 */
int futex_wait(uint32_t word, uint32_t value, uint32_t ticks);

/* Wake up to `most` threads of the calling one's process, oldest first. Gives how many, or -EINVAL. */
int futex_wake(uint32_t word, uint32_t most);

/* The calling thread sleeps for `ticks` clock ticks, at least 1. 0 or -EINTR. */
int user_sleep(uint32_t ticks);
#endif
