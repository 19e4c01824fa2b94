/*
 * An algorithm that is wrong on purpose, to test the tests: CLH whose hart keeps the node that it has left in the
 * queue, and not the one before it.
 */
#define spin_take right_spin_take
#include "lock/spin/clh.h"
#undef spin_take

static inline bool spin_take(struct spin *s, spin_place_t *place)
{
    bool taken = right_spin_take(s, place);
    if (taken)
        place->slot->node = place->own;
    return taken;
}
