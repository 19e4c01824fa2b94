/* The console as an open file. */
#ifndef USER_CONSOLE_H
#define USER_CONSOLE_H

struct file;

struct file *console_file(void); /* with a reference, for the caller to release */
#endif
