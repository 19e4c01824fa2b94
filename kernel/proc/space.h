/*
 * An address space: a map, and what belongs to it rather than to a process. vfork's child runs in its parent's until it
 * executes or ends, so a space has one process or several; each refers to it, and the last one that leaves takes it
 * away. Sleeping on a word of memory (futex.c) is by space, too: threads of all its processes meet there.
 *
 * Locking: `memory`, a mutex, guards the break, and keeps it and the map together. user_lock guards the count.
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

/* With an empty map, and one reference; 0: memory is out. */
struct space *space_create(void);

/* With that map, whose reference it takes over. 0: memory is out, and the map is gone. */
struct space *space_of_map(struct vm_map *map);

/* Another one with a copy of the map, on write, and the same break; 0: memory is out. */
struct space *space_fork(struct space *from);

void space_reference(struct space *s);
void space_release(struct space *s); /* may sleep; of the last reference no thread runs in it any more */

/* The old break, or -EINVAL, -ENOMEM. */
int space_move_break(struct space *s, int32_t bytes);
#endif
