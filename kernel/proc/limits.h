/*
 * What a process may use (4.3BSD's getrlimit and setrlimit; README.md says which limit does what). A child has its
 * parent's. There is one user, who may raise what is most; NOFILE no further than a table of descriptors reaches.
 *
 * Locking: user_lock guards a process's limits; a look without it is good for a moment, as another thread may change
 * them.
 */
#ifndef USER_LIMITS_H
#define USER_LIMITS_H

#include "proc/process.h"

void limits_init(void); /* hart 0 */

/* Of a process that nobody knows yet. `parent` 0: as they are at first. */
void limits_begin(struct process *p, const struct process *parent);

/* What it is limited to, in bytes, of a size that has 32 bits. */
uint32_t limit_bytes(const struct process *p, unsigned which);

/* Its memory is another one now: that one's stack, and all of it, have the process's limits. */
void limits_of_space(struct process *p);

/* Whether `p` may have so many bytes more that are its own to write (RLIMIT_DATA). */
bool limits_allow_data(const struct process *p, uint32_t bytes);

/* With user_lock: whether one thread more may be, at the wish of `p`. */
bool limits_allow_thread(const struct process *p);

/* With user_lock: threads of `p` have run for so many clock ticks. */
void limits_charge(struct process *p, uint32_t ticks);
#endif
