/*
 * FIFOs: pipes with a name in a file system, which says what they belong to (fs/ is above file/).
 */
#ifndef FILE_PIPE_H
#define FILE_PIPE_H

#include "file/file.h"

struct fifo_name {
    int (*stat)(void *of, struct user_stat *to);
    void (*release)(void *of);
};

/*
 * Opens an end, or both, of the FIFO that `name` and `of` identify: all its open files share one pipe. Takes over a
 * reference to `of`, whatever the result. `kind` and `flags` as for file_create. Opening to read waits for a writer,
 * opening to write for a reader, except with both, or O_NONBLOCK: -ENXIO, to write without a reader. -ENOMEM,
 * -ERESTART.
 */
int fifo_open(const struct fifo_name *name, void *of, uint32_t kind, uint32_t flags, struct file **f);
#endif
