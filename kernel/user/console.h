/*
 * The console as processes read it: by the line. Locking: a mutex lets one thread at a time read a line.
 */
#ifndef USER_CONSOLE_H
#define USER_CONSOLE_H

#include "user/process.h"

#define USER_LINE_SIZE 128 /* of a line typed for a process, with its end; what is longer is cut */

/*
 * Copy the next line, with its end and cut to `n` bytes, to user address `to`. Gives how many bytes, or -EFAULT,
 * or -EINTR when the process is ending.
 */
int user_console_read(struct process *p, uint32_t to, uint32_t n);
#endif
