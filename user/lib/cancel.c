/* Cancelling threads, deferred: a thread that is cancelled ends at its next cancellation point (cancel.h). */
#include "user/lib/cancel.h"

#include <errno.h>
#include <pthread.h>

int pthread_cancel(pthread_t thread)
{
    return -system_call(SYS_THREAD_CANCEL, (uint32_t)pthread_kernel_id(thread), 0, 0);
}

_Noreturn void cancel_act(void)
{
    cancel_state = PTHREAD_CANCEL_DISABLE;
    pthread_exit(PTHREAD_CANCELED);
}
