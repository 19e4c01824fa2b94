/*
 * What a process may use (4.3BSD's getrlimit and setrlimit; README.md says which limit does what). A child inherits its
 * parent's. The only user may raise hard limits; NOFILE no further than the size of a table of descriptors.
 *
 * Locking: user_lock guards a process's limits; a value read without it may be outdated, as another thread may change
 * them.
 */
#ifndef USER_LIMITS_H
#define USER_LIMITS_H

#include "proc/process.h"

void limits_init(void); /* hart 0 */

/* For a new process that is not listed yet. `parent` 0: the initial limits. */
void limits_begin(struct process *p, const struct process *parent);

/* The limit in bytes of a size that has 32 bits. */
uint32_t limit_bytes(const struct process *p, unsigned which);

/* The process has a new space: applies its limits to the space's stack and total size. */
void limits_of_space(struct process *p);

/* Whether `p` may have `bytes` more of private writable memory (RLIMIT_DATA). */
bool limits_allow_data(const struct process *p, uint32_t bytes);

/* With user_lock held: whether `p` may create one more thread. */
bool limits_allow_thread(const struct process *p);

/* With user_lock held: threads of `p` have run for `ticks` clock ticks. */
void limits_charge(struct process *p, uint32_t ticks);
#endif
