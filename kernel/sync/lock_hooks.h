/*
 * What locks of every kind do at each step of an acquisition: a probe mark, at no cost, with the lock's address, so that the
 * simulator can count and time from outside. The place of the ATTEMPT mark is the call site of the acquisition.
 */
#ifndef SYNC_LOCK_HOOKS_H
#define SYNC_LOCK_HOOKS_H

#include "sync/lock_class.h"
#include "sync/probe.h"

#define LOCK_HOOK_ATTEMPT(object) PROBE_VALUE(LOCK_ATTEMPT, object)
#define LOCK_HOOK_MISS(object) PROBE_VALUE(LOCK_MISS, object)
#define LOCK_HOOK_BLOCK(object) PROBE_VALUE(LOCK_BLOCK, object)
#define LOCK_HOOK_ACQUIRED(object) PROBE_VALUE(LOCK_ACQUIRED, object)
#define LOCK_HOOK_RELEASED(object) PROBE_VALUE(LOCK_RELEASED, object)
#define LOCK_HOOK_FAILED(object) PROBE_VALUE(LOCK_FAILED, object)
#endif
