/*
 * The console as an open file, and as the controlling terminal of a session: its foreground group gets what ^C, ^\ and
 * ^Z send, and the others of the session do not read from it (SIGTTIN) nor change it (SIGTTOU), as POSIX has it.
 *
 * Locking: user_lock guards whose it is.
 */
#ifndef USER_CONSOLE_H
#define USER_CONSOLE_H

#include <stdbool.h>

struct file;
struct process;

struct file *console_file(void); /* with a reference, for the caller to release; 0: memory is out */

/*
 * It is to be the controlling terminal of the process's session, which the process leads, unless it is another's. With
 * user_lock.
 */
bool console_control(const struct process *leader);
bool console_controls(const struct process *p); /* with user_lock */

/* The leader of a session ends: if the terminal was its, the foreground group gets SIGHUP, and anybody may have it. */
void console_hang_up(const struct process *leader);
#endif
