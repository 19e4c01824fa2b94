/* The out-of-line half of simple locks and of the algorithm that this image is built with. */
#define SPIN_IMPLEMENTATION
#include "lock/simple_lock.h"

#include "arch/accounting.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"

bool (*spin_poll)(void);

void simple_lock_contended(struct simple_lock *l, spin_place_t place, struct lock_attempt *attempt)
{
    if (simple_lock_held(l))
        panic("simple lock %s: hart %u takes it again%s", l->object.name, (unsigned)curhart->id,
              lock_places(&l->object));
    LOCK_HOOK_MISS(&l->object, attempt);
    enum account was = account_switch(ACCOUNT_SPINNING);
    spin_wait(&l->spin, place);
    account_switch(was);
}

_Noreturn void simple_lock_not_held(struct simple_lock *l)
{
    struct hart *owner = spin_owner(&l->spin);
    panic("simple lock %s: released by hart %u, owner is %d%s", l->object.name, (unsigned)curhart->id,
          owner ? (int)owner->id : -1, lock_places(&l->object));
}

void simple_lock_destroy(struct simple_lock *l)
{
    struct hart *owner = spin_owner(&l->spin);
    if (owner)
        panic("simple lock %s: destroyed while hart %u holds it", l->object.name, (unsigned)owner->id);
    spin_destroy(&l->spin);
}
