/* What the calls on files tell user/. */
#ifndef FILE_CALLS_H
#define FILE_CALLS_H

/* The calling thread has written to what nobody reads: user/ sends it SIGPIPE. */
extern void (*file_broken_pipe)(void);
#endif
