/* Cancellation points (cancel.h), and a thread's cancellation state. */
#include "user/lib/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

__thread int cancel_state;

int cancellable6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5)
{
    bool may = cancel_act && cancel_state == PTHREAD_CANCEL_ENABLE;
    return system_call6(may ? number | USER_CANCELS : number, a0, a1, a2, a3, a4, a5);
}

int cancel_point6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5)
{
    int result = cancellable6(number, a0, a1, a2, a3, a4, a5);
    if (result == -ECANCELED && cancel_act)
        cancel_act();
    return result;
}

int cancel_point(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2)
{
    return cancel_point6(number, a0, a1, a2, 0, 0, 0);
}

void pthread_testcancel(void)
{
    cancel_point(SYS_GETTID, 0, 0, 0);
}

int pthread_setcancelstate(int state, int *old)
{
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE)
        return EINVAL;
    if (old)
        *old = cancel_state;
    cancel_state = state;
    return 0;
}

/* A thread ends at cancellation points only. */
int pthread_setcanceltype(int type, int *old)
{
    if (type != PTHREAD_CANCEL_DEFERRED)
        return type == PTHREAD_CANCEL_ASYNCHRONOUS ? ENOTSUP : EINVAL;
    if (old)
        *old = PTHREAD_CANCEL_DEFERRED;
    return 0;
}
