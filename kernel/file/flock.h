/*
 * Locks of whole files, as 4.3BSD's flock gives them to open files: an open file has one, whoever refers to it (dup,
 * fork), until it is given up or the last of them has closed it. They keep out other such locks and nothing else: those
 * of ranges (record_lock.h) know nothing of them, as in Linux.
 *
 * Locking: a simple lock guards them all.
 */
#ifndef FILE_FLOCK_H
#define FILE_FLOCK_H

#include "file/file.h"

/*
 * `how`: LOCK_SH, LOCK_EX or LOCK_UN. Another one that `f` has goes first, whatever comes then. 0; -EAGAIN: it is not
 * to wait; -ERESTART.
 */
int flock_set(struct file *f, int how, bool wait);
void flock_end(struct file *f); /* nobody refers to it any more */
#endif
