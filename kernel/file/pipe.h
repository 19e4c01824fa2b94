/*
 * FIFOs: pipes that have a name in a file system, which says what they are of (fs/ is above file/).
 */
#ifndef FILE_PIPE_H
#define FILE_PIPE_H

#include "file/file.h"

struct fifo_name {
    int (*stat)(void *of, struct user_stat *to);
    void (*release)(void *of);
};

/*
 * The file of an end, or of both, of the FIFO that `name` and `of` mean: all that are open share one pipe. Takes a
 * reference of `of`, whatever the result. `kind` and `flags` as file_create has them. To read one waits until somebody
 * writes, to write until somebody reads, but with both, or O_NONBLOCK: -ENXIO, to write and nobody reads. -ENOMEM,
 * -ERESTART.
 */
int fifo_open(const struct fifo_name *name, void *of, uint32_t kind, uint32_t flags, struct file **f);
#endif
