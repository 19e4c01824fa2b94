/*
 * Locks of whole files, as 4.3BSD's flock gives them to open files: an open file has one, shared by all references
 * (dup, fork), until it is released or the file is closed for the last time. They exclude only other such locks:
 * those of ranges (record_lock.h) are independent of them, as in Linux.
 *
 * Locking: a simple lock guards them all.
 */
#ifndef FILE_FLOCK_H
#define FILE_FLOCK_H

#include "file/file.h"

/*
 * `how`: LOCK_SH, LOCK_EX or LOCK_UN. A different lock of `f` is released first, whatever the result. 0; -EAGAIN:
 * would wait, and `wait` is false; -ERESTART.
 */
int flock_set(struct file *f, int how, bool wait);
void flock_end(struct file *f); /* the last reference was dropped */
#endif
