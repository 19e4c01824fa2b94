/* The locks that harts and threads hold (lock_held.h). */
#include "lock/lock_held.h"

#if LOCK_HOOKS
#include "arch/panic.h"
#include "lib/backtrace.h"
#include "lib/panic.h"
#include "lib/printf.h"

struct lock_held_list lock_held_by_harts[MAX_HARTS];

_Noreturn void lock_held_too_many(const struct lock_object *o)
{
    panic("lock %s: more than %u locks are held at once (LOCK_HELD_MOST)", o->name, LOCK_HELD_MOST);
}

void lock_held_print(const char *what, unsigned id, const struct lock_held_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct lock_held *h = &list->entry[i];
        kprintf("  %s %u holds %s%s since cycle %lu, from", what, id, h->object->name,
                h->how & LOCK_SHARED ? " for reading" : "", (unsigned long)h->since);
        backtrace_print_place(h->site);
    }
}

void lock_held_print_harts(void)
{
    for (unsigned h = 0; h < MAX_HARTS; h++)
        lock_held_print("hart", h, &lock_held_by_harts[h]);
}

PANIC_REPORT(lock_held_print_harts);
#endif
