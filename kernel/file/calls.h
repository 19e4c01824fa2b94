/* What the calls on files report to user/. */
#ifndef FILE_CALLS_H
#define FILE_CALLS_H

/* The calling thread has written to a pipe or socket without a reader: user/ sends it SIGPIPE. */
extern void (*file_broken_pipe)(void);
#endif
