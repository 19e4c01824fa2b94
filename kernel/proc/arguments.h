/*
 * The strings of argv and envp, passed from one program to the next: in pages, as there may be many. Programs that runs
 * start have theirs in the structure itself (run.h).
 */
#ifndef USER_ARGUMENTS_H
#define USER_ARGUMENTS_H

#include "proc/program.h"

/* No strings, and no pages for them yet. 0: out of memory. */
struct arguments *arguments_create(void);
void arguments_destroy(struct arguments *a);

/* Append the string at user address `from`, or one of the kernel. 0, -E2BIG, -ENOMEM, -EFAULT. */
int arguments_copy_in(struct arguments *to, struct vm_map *map, uint32_t from);
int arguments_append(struct arguments *to, const char *string);

/*
 * The arguments of `from` for a script's interpreter: its name, `word` if that is not empty, and `path` instead of the
 * first. 0, or as above.
 */
int arguments_for_script(struct arguments *to, const struct arguments *from, const char *interpreter, const char *word,
                         const char *path);
#endif
