/*
 * The page-out daemon: 4.3BSD's clock over all pages of main RAM, with two hands (page.h). It runs while fewer than
 * vm_page_low pages are free: the first hand makes pages inactive, the second, at a fixed distance behind the first,
 * frees those that are still inactive; dirty ones are given to their object's pager; an object of zeroed pages gets the
 * default one (swap.c) for that.
 *
 * A thread that finds no free page waits for a turn of the daemon. If a full turn has freed none, there is no more
 * memory: the waiter is told so, and gives up with -ENOMEM.
 *
 * Locking: at the top of internal.h. From a page its object is found under vm_families_lock, and the family's lock is
 * only tried; after that the page is checked again.
 */
#include <errno.h>

#include "lib/panic.h"
#include "sched/sched.h"
#include "vm/internal.h"

#define DISTANCE 4 /* the distance between the hands is this fraction of all pages */
#define PATIENCE 3 /* turns without success, after which a waiter gives up */

DEFINE_SIMPLE_LOCK(pageout_lock, "pageout", SPL_SOFTPREEMPT);

DEFINE_MUTEX(turn_lock, "pageout turn"); /* held by one turn at a time */

static bool pageout_wanted, pageout_runs; /* the daemon has work to do; it has been created */
static uint32_t pageout_turns, failures;  /* turns that have ended; turns in a row that freed no page */
static uint32_t hand;                     /* the first hand */
static uint32_t next_memory = 1;          /* the default pager's name for the next object */

/* The object of `page`, its family locked; or 0, if it has none or one that is ending, or the family's lock is held. */
static struct vm_object *pageout_object_of(struct vm_page *page)
{
    crit_t s = simple_lock_enter(&vm_families_lock);
    struct vm_object *o = *(struct vm_object *volatile *)&page->object;
    if (o && !lock_try_write(&o->family->lock))
        o = 0;
    if (o && *(struct vm_object *volatile *)&page->object != o) {
        /* it moved to another of the family, or the object is about to go: its end waits for this lock */
        struct vm_object *now = *(struct vm_object *volatile *)&page->object;
        if (!now || now->family != o->family) {
            lock_done(&o->family->lock);
            o = 0;
        } else {
            o = now;
        }
    }
    if (o && o->dying) { /* its pager is told so without the lock: none of its pages may become busy */
        lock_done(&o->family->lock);
        o = 0;
    }
    simple_lock_leave(&vm_families_lock, s);
    return o;
}

/* Another node has the rights to it, or is about to give them; or the page is lost. */
static bool is_kept(const struct vm_object *o, const struct vm_page *page)
{
    return (page->locked && (o->shared == VM_SHARED_HOME || !o->external)) ||
           (o->shared && (page->unlocking || page->granted));
}

static void deactivate(struct vm_page *page)
{
    struct vm_object *o = page->object ? pageout_object_of(page) : 0;
    if (!o)
        return;
    /* a page that cannot go stays active: to remove its translations would only cost faults */
    bool could_go = !page->dirty || (o->external ? o->pager->data_return != 0 : page->backed || vm_swap_free() != 0);
    if (could_go && !is_kept(o, page) && !page->busy && !page->wired && !page->inactive) {
        page->inactive = true;
        if (page->place.pmap)
            pmap_page_protect(page, 0);
    }
    vm_object_unlock(o);
}

/*
 * Gives an object without a pager the default one. Releases the family's lock meanwhile; a busy page keeps the object.
 */
static void give_pager(struct vm_object *o)
{
    vm_object_unlock(o);
    vm_control_add(o);
    vm_object_lock(o);
    o->memory = next_memory++;
    o->pager = &vm_swap;
}

/* Called with the family locked; returns without. Returns whether the page is free now. */
static bool launder(struct vm_object *o, struct vm_page *page)
{
    bool free = false;
    page->busy = true;
    o->busy++;
    if (page->place.pmap)
        pmap_page_protect(page, 0);
    if (!o->pager && vm_swap_free())
        give_pager(o);
    if (o->pager && o->pager->data_return) {
        page->dirty = false;
        vm_object_unlock(o);
        int error = o->pager->data_return(o->memory, o->control, page->index, vm_page_bytes(page), 1, false);
        vm_object_lock(o);
        free = !error;
        if (error)
            page->dirty = true;
    }
    if (!free) {
        vm_page_unbusy(page);
    } else {
        VM_COUNT(pageouts);
        if (o->external)
            vm_page_discard(page);
        else
            vm_page_to_pager(page);
    }
    vm_object_unlock(o);
    return free;
}

static bool pageout_reclaim(struct vm_page *page)
{
    if (!page->inactive)
        return false;
    struct vm_object *o = pageout_object_of(page);
    if (!o)
        return false;
    if (page->busy || page->wired || !page->inactive || is_kept(o, page)) {
        vm_object_unlock(o);
        return false;
    }
    if (page->dirty)
        return launder(o, page);
    if (page->backed && !o->external)
        vm_page_to_pager(page);
    else
        vm_page_discard(page);
    vm_object_unlock(o);
    return true;
}

/* Moves both hands once round, or until enough is free. Returns how many pages were freed. */
static uint32_t pageout_turn(void)
{
    uint32_t freed = 0, distance = vm_page_count / DISTANCE;
    hand %= vm_page_count; /* on the host there may be fewer than before */
    for (uint32_t n = 0; n < vm_page_count + distance && pages_in_common() < 2 * vm_page_low; n++) {
        deactivate(&vm_pages[hand]);
        freed += pageout_reclaim(&vm_pages[(hand + vm_page_count - distance) % vm_page_count]);
        hand = (hand + 1) % vm_page_count;
    }
    return freed;
}

/* One turn. Called and returns with pageout_lock held, in the section that *s ends. */
static void pageout_work(crit_t *s)
{
    simple_lock_leave(&pageout_lock, *s);
    mutex_lock(&turn_lock);
    uint32_t freed = pageout_turn();
    mutex_unlock(&turn_lock);
    *s = simple_lock_enter(&pageout_lock);
    failures = freed || pages_free() > vm_page_low ? 0 : failures + 1;
    pageout_turns++;
    thread_wakeup(&pageout_turns);
}

static void daemon(void *arg)
{
    (void)arg;
    crit_t s = simple_lock_enter(&pageout_lock);
    for (;;) {
        while (!pageout_wanted)
            thread_sleep(&pageout_wanted, &pageout_lock);
        pageout_work(&s);
        pageout_wanted = false;
        vm_page_scarce = pages_in_common() < 2 * vm_page_low;
    }
}

/* The daemon's thread is created only when memory is first short: until then others can have one more. */
static void pageout_wake(void)
{
    pageout_wanted = vm_page_scarce = true;
    if (!pageout_runs)
        pageout_runs = thread_create(daemon, 0, PRI_NORMAL - 1, ANY_HART, "pageout");
    thread_wakeup(&pageout_wanted);
}

/* If the last turn freed nothing, the next is started only by a thread that cannot go on without it (vm_page_wait). */
void vm_pageout_wake(void)
{
    if (*(volatile bool *)&pageout_wanted || *(volatile uint32_t *)&failures)
        return;
    crit_t s = simple_lock_enter(&pageout_lock);
    pageout_wake();
    simple_lock_leave(&pageout_lock, s);
}

bool vm_page_wait(void)
{
    crit_t s = simple_lock_enter(&pageout_lock);
    uint32_t begin = pageout_turns;
    do {
        pageout_wake();
        uint32_t now = pageout_turns;
        if (pageout_runs)
            while (now == pageout_turns)
                thread_sleep(&pageout_turns, &pageout_lock);
        else
            pageout_work(&s); /* no thread is left for a daemon */
    } while (failures && failures < PATIENCE && pageout_turns - begin < 2 * PATIENCE);
    bool there = !failures;
    simple_lock_leave(&pageout_lock, s);
    return there;
}
