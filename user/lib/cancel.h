/*
 * Cancellation points (pthread_cancel). Without pthread_cancel in a program they are ordinary calls; with it, a call
 * that waits, or would, returns when its thread is cancelled (USER_CANCELS of abi.h), and the thread ends.
 */
#ifndef USER_LIB_CANCEL_H
#define USER_LIB_CANCEL_H

#include "user/lib/system.h"

extern __thread int cancel_state; /* PTHREAD_CANCEL_ENABLE or _DISABLE */

/* Ends the calling thread, which is cancelled. In pthread_cancel's file, so null in a program without. */
__attribute__((weak)) _Noreturn void cancel_act(void);

/* -ECANCELED: the caller has to release what it holds, and call cancel_act. */
int cancellable6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5);

/* The same, and calls it itself. */
int cancel_point6(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5);
int cancel_point(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2);
#endif
