/* What musl does by its list of threads: streams that a thread keeps locked, and the standard streams' locks. */
#include "stdio_impl.h"

int ftrylockfile(FILE *f)
{
    int self = __pthread_self()->tid;
    if ((f->lock & ~MAYBE_WAITERS) == self)
        f->lockcount++;
    else if (a_cas(&f->lock, 0, self))
        return -1;
    else
        f->lockcount = 1;
    return 0;
}

void flockfile(FILE *f)
{
    if (__lockfile(f))
        f->lockcount = 1;
    else
        f->lockcount++;
}

void funlockfile(FILE *f)
{
    if (!--f->lockcount)
        __unlockfile(f);
}

/* musl locks the standard streams once a second thread begins; here they always are. Unused ones are 0. */
__attribute__((constructor)) static void lock_standard_streams(void)
{
    FILE *const used[] = {__stdin_used, __stdout_used, __stderr_used};
    for (unsigned i = 0; i < sizeof used / sizeof *used; i++)
        if (used[i])
            used[i]->lock = 0;
}

/* Named for the linker (library.mk), as nothing refers to it. */
__attribute__((destructor)) void flush_at_exit(void)
{
    __stdio_exit();
}
