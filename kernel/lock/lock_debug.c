/* Checks of how locks are used (lock_debug.h). */
#include "lock/lock_debug.h"

#if LOCK_DEBUG
#include <stdio.h>

#include "lib/backtrace.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"
#include "lock/lock_held.h"
#include "lock/lock_order.h"
#include "lock/simple_lock.h"
#include "lock/spin/spin.h"
#include "lock/threads.h"
#include "sync/handler_level.h"

static struct lock_order lock_debug_order;
static struct spin order_lock; /* lets one hart at a time add to it; a raw spin lock, as it is not itself checked */

/* Locks that a panic takes to print are not checked. */
#define BREACH(...)             \
    do {                        \
        if (!panicking())       \
            panic(__VA_ARGS__); \
    } while (0)

static bool is_simple(const struct lock_object *o)
{
    return o->class->kind == LOCK_SIMPLE;
}

static bool at_interrupt_level(void)
{
    return sync_hart()->intr_depth || sync_hart()->in_softint;
}

/* "function+0x12"; in a panic, so one hart at a time writes `text`. */
static void name_place(char *text, unsigned size, uintptr_t pc)
{
    uint32_t offset;
    const char *name = symbol_of(pc, &offset);
    if (name)
        snprintf(text, size, "%s+0x%lx", name, (unsigned long)offset);
    else
        snprintf(text, size, "nowhere");
}

const char *lock_places(const struct lock_object *o)
{
    static char text[160];
    char locked[60], unlocked[60];
    name_place(locked, sizeof locked, o->locked_at);
    name_place(unlocked, sizeof unlocked, o->unlocked_at);
    snprintf(text, sizeof text, " (last locked at %s, unlocked at %s)", locked, unlocked);
    return text;
}

static inline unsigned class_number(const struct lock_class *class)
{
    unsigned n = class - lock_classes;
    if (unlikely(n >= LOCK_ORDER_CLASSES))
        panic("lock class %s: the image has more than %u (LOCK_ORDER_CLASSES)", class->name, LOCK_ORDER_CLASSES);
    return n;
}

struct cycle {
    const struct lock_order_edge *edge[LOCK_ORDER_CLASSES];
    const struct lock_held *held;
    unsigned length;
};

static void explain_cycle(const void *what)
{
    const struct cycle *c = what;
    kprintf("above: the call path that goes against the order. %s is held since", c->held->object->name);
    backtrace_print_place(c->held->site);
    for (unsigned i = 0; i < c->length; i++) {
        const struct lock_order_edge *e = c->edge[i];
        kprintf("before: class %s was wanted here, with a lock of class %s taken at", lock_classes[e->to].name,
                lock_classes[e->from].name);
        backtrace_print_place(e->held_site);
        backtrace_print(e->path, e->frames);
    }
}

static void add_to_order(const struct lock_held *held, const struct lock_object *o, uint32_t fp)
{
    struct lock_order_edge e = {.from = (uint8_t)class_number(held->object->class),
                                .to = (uint8_t)class_number(o->class),
                                .held_site = held->site};
    e.frames = (uint8_t)backtrace_collect(fp, e.path, LOCK_ORDER_FRAMES);
    struct cycle c = {.held = held};
    spin_place_t place;
    if (!spin_take(&order_lock, &place))
        spin_wait(&order_lock, place);
    enum lock_order_result result = lock_order_knows(&lock_debug_order, e.from, e.to)
                                        ? LOCK_ORDER_ADDED
                                        : lock_order_add(&lock_debug_order, &e, c.edge, &c.length);
    spin_release(&order_lock);
    if (result == LOCK_ORDER_CYCLE && !panicking())
        panic_explained(explain_cycle, &c,
                        "lock order: %s (class %s) is wanted while %s (class %s) is held, "
                        "against the order seen before",
                        o->name, o->class->name, held->object->name, held->object->class->name);
    if (result == LOCK_ORDER_FULL)
        BREACH("lock order: more than %u pairs of classes (LOCK_ORDER_EDGES)", LOCK_ORDER_EDGES);
}

static __attribute__((noinline)) void check_addresses(const struct lock_held *held, const struct lock_object *o)
{
    if (held->object > o && !o->class->tree)
        BREACH("lock order: %s is wanted while %s is held, both of class %s, against the order of their "
               "addresses%s",
               o->name, held->object->name, o->class->name, lock_places(held->object));
}

/* Checks each held lock: if its order is known, nothing but its class is read. */
static void lock_debug_check_order(const struct lock_held_list *list, const struct lock_object *o, uint32_t fp)
{
    const struct lock_class *class = o->class;
    const struct lock_held *end = list->entry + list->count;
    unsigned to = class_number(class);
    for (const struct lock_held *held = list->entry; held != end; held++) {
        if (held->class == class)
            check_addresses(held, o); /* a lock being upgraded is not ordered against itself */
        else if (unlikely(!lock_order_knows(&lock_debug_order, class_number(held->class), to)))
            add_to_order(held, o, fp);
    }
}

static void check_blocking(const struct lock_object *o, unsigned how)
{
    const struct lock_held_list *simple = lock_held_by_hart();
    if (simple->count && !(how & LOCK_CONDITIONAL))
        BREACH("lock %s may block, but the hart holds simple lock %s%s", o->name, simple->entry[0].object->name,
               lock_places(simple->entry[0].object));
}

static void check_again(const struct lock_object *o, const struct lock_held *held, unsigned how)
{
    if (how & LOCK_UPGRADE) {
        if (!held)
            BREACH("lock %s: upgraded by a thread that has it not%s", o->name, lock_places(o));
    } else if (held && !(how & LOCK_CONDITIONAL)) {
        BREACH("lock %s: %s takes it again%s", o->name, is_simple(o) ? "the hart" : "the thread", lock_places(o));
    }
}

/* A holder, in a section of the lock's level, could be interrupted by this handler, which would wait for ever. */
static void check_handler(const struct lock_object *o, unsigned how)
{
    unsigned level = handler_level[curhart->id];
    if (level > o->class->level && !(how & LOCK_CONDITIONAL))
        BREACH("handler of level %u takes simple lock %s of level %u", level, o->name, o->class->level);
}

void lock_check_attempt(const struct lock_object *o, unsigned how, bool masked, uint32_t fp)
{
    if (is_simple(o)) {
        check_handler(o, how);
        if (!masked && !crit_level_masks(o->class->level))
            BREACH("simple lock %s: taken outside a section of level %u", o->name, o->class->level);
    } else {
        if (at_interrupt_level() || !curhart->thread)
            return; /* lock.c panics in any image */
        check_blocking(o, how);
    }
    struct lock_held_list *list = lock_held_list_for(o);
    check_again(o, lock_held_find(list, o), how);
    if (list->count && !(how & LOCK_CONDITIONAL))
        lock_debug_check_order(list, o, fp);
}

void lock_check_held(const struct lock_object *o, const struct lock_held *held, const char *what)
{
    if (unlikely(!held))
        BREACH("lock %s: %s by %s that has it not%s", o->name, what, is_simple(o) ? "a hart" : "a thread",
               lock_places(o));
}

void lock_assert_object(const struct lock_object *o, bool held, bool alone)
{
    uint32_t masked = csr_read_clear(mstatus, MSTATUS_MIE) & MSTATUS_MIE; /* stay on the hart whose list it is */
    const struct lock_held *h = lock_held_find(lock_held_list_for(o), o);
    if (held != (h != 0))
        BREACH("lock %s: assertion that it is%s held%s", o->name, held ? "" : " not", lock_places(o));
    if (alone && h && (h->how & LOCK_SHARED))
        BREACH("lock %s: assertion that it is held alone%s", o->name, lock_places(o));
    csr_set(mstatus, masked);
}

void lock_check_switch(const struct lock_class *scheduler, const struct simple_lock *held)
{
    const struct lock_held_list *list = lock_held_by_hart();
    for (unsigned i = 0; i < list->count; i++)
        if (list->entry[i].object->class != scheduler && !(held && list->entry[i].object == &held->object))
            BREACH("thread %s gives up the hart, which holds simple lock %s%s", thread_name(curhart->thread),
                   list->entry[i].object->name, lock_places(list->entry[i].object));
}

void lock_check_waits_for_harts(void)
{
    uint32_t masked = csr_read_clear(mstatus, MSTATUS_MIE) & MSTATUS_MIE;
    const struct lock_held_list *list = lock_held_by_hart();
    if (list->count)
        BREACH("a call waits for other harts, but the hart holds simple lock %s%s", list->entry[0].object->name,
               lock_places(list->entry[0].object));
    csr_set(mstatus, masked);
}

void lock_check_exit(void)
{
    const struct lock_held_list *list = lock_held_by_thread();
    if (list->count)
        BREACH("thread %s ends, but holds lock %s%s", thread_name(curhart->thread), list->entry[0].object->name,
               lock_places(list->entry[0].object));
}
#endif
