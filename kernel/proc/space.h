/*
 * An address space: a map, and data that belongs to it rather than to a process. vfork's child runs in its parent's
 * until it executes or ends, so a space has one process or several; each holds a reference, and the last one that
 * leaves frees it. Sleeping on a word of memory (futex.c) is by space, too: threads of all its processes share it.
 *
 * Locking: `memory`, a mutex, guards the break, and keeps it consistent with the map. user_lock guards the count.
 */
#ifndef USER_SPACE_H
#define USER_SPACE_H

#include "lock/lock.h"
#include "proc/program.h"

struct space {
    struct vm_map *map;
    struct lock memory;
    struct user_break brk;
    unsigned references;
};

/* With an empty map, and one reference; 0: out of memory. */
struct space *space_create(void);

/* With that map, whose reference it takes over. 0: out of memory; the reference is released, too. */
struct space *space_of_map(struct vm_map *map);

/* Another one with a copy-on-write copy of the map, and the same break; 0: out of memory. */
struct space *space_fork(struct space *from);

void space_reference(struct space *s);
void space_release(struct space *s); /* may sleep; at the last reference no thread runs in it any more */

/* The old break, or -EINVAL, -ENOMEM. */
int space_move_break(struct space *s, int32_t bytes);
#endif
