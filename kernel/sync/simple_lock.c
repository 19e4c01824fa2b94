/* Simple locks, contended: test, then test-and-set, so that waiting harts spin in their own caches. */
#include "sync/simple_lock.h"

#include "lib/panic.h"

void simple_lock_contended(struct simple_lock *l)
{
    if (simple_lock_held(l))
        panic("simple lock %s: hart %u takes it again", l->object.name, (unsigned)curhart->id);
    LOCK_HOOK_MISS(&l->object);
    do {
        while (l->owner)
            ;
    } while (!simple_lock_take(l));
}

_Noreturn void simple_lock_not_held(struct simple_lock *l)
{
    panic("simple lock %s: released by hart %u, owner is %d", l->object.name, (unsigned)curhart->id, (int)l->owner - 1);
}
