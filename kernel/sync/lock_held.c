/* What harts and threads hold (lock_held.h). */
#include "sync/lock_held.h"

#if LOCK_HOOKS
#include "arch/hart.h"
#include "lib/backtrace.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/sched.h"

static struct lock_held_list by_hart[MAX_HARTS], by_thread[MAX_THREADS];

struct lock_held_list *lock_held_by_hart(void)
{
    return &by_hart[curhart->id];
}

struct lock_held_list *lock_held_by_thread(void)
{
    return &by_thread[curhart->thread->id];
}

struct lock_held_list *lock_held_list_for(const struct lock_object *o)
{
    return o->class->kind == LOCK_SIMPLE ? lock_held_by_hart() : lock_held_by_thread();
}

struct lock_held *lock_held_find(struct lock_held_list *list, const struct lock_object *o)
{
    for (unsigned i = list->count; i--;)
        if (list->entry[i].object == o)
            return &list->entry[i];
    return 0;
}

void lock_held_add(struct lock_held_list *list, struct lock_held held)
{
    if (list->count == LOCK_HELD_MOST)
        panic("lock %s: more than %u locks are held at once (LOCK_HELD_MOST)", held.object->name, LOCK_HELD_MOST);
    list->entry[list->count++] = held;
}

/* Locks need not go in the order in which they came. */
void lock_held_remove(struct lock_held_list *list, struct lock_held *held)
{
    struct lock_held *last = &list->entry[--list->count];
    for (; held < last; held++)
        held[0] = held[1];
}

static void dump(const char *what, unsigned id, const struct lock_held_list *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct lock_held *h = &list->entry[i];
        kprintf("  %s %u holds %s%s since cycle %lu, from", what, id, h->object->name,
                h->how & LOCK_SHARED ? " for reading" : "", (unsigned long)h->since);
        backtrace_print_place(h->site);
    }
}

void lock_dump_held(void)
{
    for (unsigned h = 0; h < MAX_HARTS; h++)
        dump("hart", h, &by_hart[h]);
    for (unsigned t = 0; t < MAX_THREADS; t++)
        dump("thread", t, &by_thread[t]);
}
#endif
