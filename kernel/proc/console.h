/*
 * The console as an open file, and as the controlling terminal of a session: its foreground group gets what ^C, ^\ and
 * ^Z send, and the other groups of the session neither read from it (SIGTTIN) nor change it (SIGTTOU), as in POSIX.
 *
 * Locking: user_lock guards the terminal's session.
 */
#ifndef USER_CONSOLE_H
#define USER_CONSOLE_H

#include <stdbool.h>

struct file;
struct process;

struct file *console_file(void); /* with a reference, for the caller to release; 0: out of memory */

/*
 * Makes it the controlling terminal of the session that the process leads, unless it is another session's. With
 * user_lock held.
 */
bool console_control(const struct process *leader);
bool console_controls(const struct process *p); /* with user_lock held */

/* A session's leader ends: if it had the terminal, the foreground group gets SIGHUP, and the terminal is free. */
void console_hang_up(const struct process *leader);
#endif
