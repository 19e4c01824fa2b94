/* Starting programs from the kernel's runs (run.h). */
#include "proc/run.h"

#include <string.h>

#include "lib/panic.h"

void arguments_clear(struct arguments *a)
{
    a->count = a->environment = a->size = 0;
}

void arguments_add(struct arguments *to, const char *word)
{
    uint32_t n = strlen(word) + 1;
    to->piece[0] = to->own;
    if (n > sizeof to->own - to->size)
        panic("too many arguments for a program: %s", word);
    memcpy(to->own + to->size, word, n);
    to->size += n;
    to->count++;
}

int user_wait_for_all(int id)
{
    int ended, its_status, status = 0;
    while ((ended = process_wait(0, -1, 0, &its_status, 0)) > 0)
        if (ended == id)
            status = its_status;
    return status;
}
