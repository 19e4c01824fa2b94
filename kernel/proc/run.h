/* Starting programs from the kernel's runs. */
#ifndef USER_RUN_H
#define USER_RUN_H

#include "proc/process.h"

void arguments_clear(struct arguments *a);

/* Append a word; panics if it does not fit. */
void arguments_add(struct arguments *to, const char *word);

/* Wait for every child of the kernel, also those that ended processes left. Returns the status of process `id`. */
int user_wait_for_all(int id);
#endif
