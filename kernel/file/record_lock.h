/*
 * Locks of ranges of bytes of files, as POSIX's fcntl gives them to processes (F_GETLK, F_SETLK, F_SETLKW): they
 * exclude only other such locks. A process means its descriptor table. All its locks of a file are released when it
 * closes any descriptor of the file.
 *
 * Memory limits their number (ENOLCK, as in POSIX; a waiting thread uses none), and a range has an end:
 * the last offset of a file is 2^31 - 1.
 *
 * Locking: a simple lock guards them all.
 */
#ifndef FILE_RECORD_LOCK_H
#define FILE_RECORD_LOCK_H

#include "file/descriptors.h"

/* fcntl's F_GETLK, F_SETLK and F_SETLKW on `f` of `d`'s process, with the struct user_flock at `at`. 0, or an error. */
int record_lock_call(struct descriptors *d, uint32_t id, struct file *f, struct vm_map *map, uint32_t command,
                     uint32_t at);

/* `d` has closed a descriptor of `f`; the caller still has its reference. */
void record_locks_end(const struct descriptors *d, const struct file *f);
#endif
