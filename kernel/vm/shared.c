/* Pages that other nodes have, too (shared.h). */
#include "vm/shared.h"

#include <errno.h>
#include <string.h>

#include "sched/sched.h"
#include "vm/inherited.h"
#include "vm/internal.h"

#define UNUSED_TICKS 3 /* how long an unused page stays where its rights were given */

const struct vm_sharing *vm_sharing;

void vm_object_set_shared(struct vm_object *object, unsigned how)
{
    vm_object_lock(object);
    object->shared = (uint8_t)how;
    object->strategy = VM_COPY_ASYMMETRIC;
    vm_object_unlock(object);
}

unsigned vm_object_shared(const struct vm_object *object)
{
    return object->shared;
}

/* Called and returns with the family locked; the page may be another one then. */
static void await_page(struct vm_object *o, struct vm_page *p)
{
    vm_page_sleep(p, o, 0);
    vm_object_lock(o);
}

int vm_shared_want(struct vm_object *o, uint32_t page, unsigned rights)
{
    int error = vm_sharing->want(o, page, rights);
    if (!error)
        return 0;
    vm_object_lock(o);
    struct vm_page *p = radix_get(&o->pages, page);
    if (vm_is_page(p) && p->unlocking) { /* other waiters ask for themselves */
        p->unlocking = false;
        vm_page_wake(p);
    }
    vm_object_unlock(o);
    return error;
}

int vm_shared_await(struct vm_object *o, struct vm_page *p, unsigned rights)
{
    uint32_t page = p->index;
    if (o->destroyed)
        return -EIO;
    if (p->unlocking) {
        await_page(o, p);
        return 0;
    }
    p->unlocking = true;
    vm_object_unlock(o);
    int error = vm_shared_want(o, page, rights);
    bool again = error == -ENOMEM && vm_page_wait();
    vm_object_lock(o);
    return again ? 0 : error;
}

struct vm_object *vm_shared_copy(struct vm_object *o, uint32_t *shoot)
{
    o->references++;
    vm_object_unlock(o);
    struct vm_object *copy;
    if (o->shared == VM_SHARED_AWAY) {
        copy = vm_sharing->copy(o);
    } else {
        vm_sharing->freeze(o);
        vm_object_lock(o);
        copy = vm_object_copy(o, shoot);
        vm_object_unlock(o);
        pmap_shootdown(*shoot);
        *shoot = 0;
        vm_sharing->thaw(o);
    }
    vm_object_lock(o);
    o->references--; /* the caller has another reference */
    return copy;
}

struct vm_object *vm_object_shared_copy(struct vm_object *o)
{
    uint32_t shoot = 0;
    vm_object_lock(o);
    struct vm_object *copy = vm_shared_copy(o, &shoot);
    vm_object_unlock(o);
    return copy;
}

/*
 * The page at `index` once it is not busy, and its granted rights have been used, or the time for that has passed; with
 * the family locked. 0: it is not in memory, or on its way in.
 */
static struct vm_page *vm_shared_settled(struct vm_object *o, uint32_t index)
{
    for (unsigned ticks = 0;;) {
        struct vm_page *p = radix_get(&o->pages, index);
        if (!vm_is_page(p) || p->absent)
            return 0;
        if (p->busy) {
            await_page(o, p);
        } else if (p->granted && !p->place.pmap && ticks++ < UNUSED_TICKS) {
            vm_object_unlock(o);
            thread_delay(1);
            vm_object_lock(o);
        } else {
            p->granted = false;
            return p;
        }
    }
}

/*
 * Copies its bytes in one direction. Called and returns with the family locked; no other thread uses the page
 * meanwhile.
 */
static void shared_bytes(struct vm_object *o, struct vm_page *p, const void *from, void *to)
{
    p->busy = true;
    o->busy++;
    vm_object_unlock(o);
    memcpy(to ? to : vm_page_bytes(p), from ? from : vm_page_bytes(p), PAGE_SIZE);
    vm_object_lock(o);
    vm_page_unbusy(p);
}

/* The page's index in the newest copy, which must get it before it is written; false: the copy needs no page. */
static bool is_owed(const struct vm_object *o, uint32_t page, uint32_t *index)
{
    const struct vm_object *copy = o->copy;
    *index = copy ? page - copy->shadow_offset : 0;
    return copy && page >= copy->shadow_offset && *index < copy->size && !radix_get(&copy->pages, *index);
}

int vm_shared_take(struct vm_object *o, uint32_t page, unsigned withheld, void *to)
{
    uint32_t index;
    int result = 1;
    vm_object_lock(o);
    struct vm_page *p = vm_shared_settled(o, page);
    if (p && p->error) {
        result = -EIO;
    } else if (p && !(withheld & PAGE_READ && is_owed(o, page, &index))) {
        p->locked = (uint8_t)withheld;
        p->inactive = false;
        if (p->place.pmap)
            pmap_page_protect(p, PAGE_RIGHTS & ~withheld);
        if (to)
            shared_bytes(o, p, 0, to);
        result = 0;
    }
    vm_object_unlock(o);
    return result;
}

/* Puts the caller's page at that index, unless the slot is in use; the family is locked. */
static int shared_place(struct vm_object *o, uint32_t index, struct vm_page *fresh)
{
    struct vm_page *there = radix_get(&o->pages, index);
    if ((there && there != VM_BELOW) || !vm_page_insert(o, index, fresh)) {
        vm_page_free(fresh);
        return there && there != VM_BELOW ? 0 : -ENOMEM;
    }
    fresh->dirty = true;
    vm_page_unbusy(fresh);
    return 0;
}

/* Fills a page that the object lacks from what it shadows, or with 0. Not locked, and the caller has a reference. */
static int fill(struct vm_object *o, uint32_t index)
{
    struct vm_page *fresh = vm_page_alloc();
    if (!fresh)
        return vm_page_wait() ? 0 : -ENOMEM;
    int result = vm_object_read(o, index, true, vm_page_bytes(fresh));
    if (result < 0) {
        vm_page_free(fresh);
        return result;
    }
    if (result)
        vm_page_zero(fresh);
    vm_object_lock(o);
    result = shared_place(o, index, fresh);
    vm_object_unlock(o);
    return result;
}

/* Pushes a copy of the page to the newest copy. Called and returns with the family locked; the caller checks again. */
static int push(struct vm_object *o, struct vm_page *p)
{
    struct vm_page *fresh = vm_page_alloc();
    if (!fresh) {
        vm_object_unlock(o);
        bool again = vm_page_wait();
        vm_object_lock(o);
        return again ? 0 : -ENOMEM;
    }
    uint32_t index, page = p->index;
    shared_bytes(o, p, 0, vm_page_bytes(fresh));
    if (!is_owed(o, page, &index)) {
        vm_page_free(fresh);
        return 0;
    }
    VM_COUNT(pushes);
    int error = shared_place(o->copy, index, fresh);
    if (!error && p->place.pmap) /* threads that see it through the copy must see that one */
        pmap_page_protect(p, 0);
    return error;
}

int vm_shared_bring(struct vm_object *o, uint32_t page, bool written)
{
    int error = 0;
    for (bool done = false; !done && !error;) {
        uint32_t index;
        vm_object_lock(o);
        struct vm_page *p = radix_get(&o->pages, page);
        bool there = vm_is_page(p) && !p->busy && !p->error;
        if (there) {
            done = !written || !is_owed(o, page, &index);
            error = done ? 0 : push(o, p);
        }
        vm_object_unlock(o);
        if (!there)
            error = fill(o, page);
    }
    return error;
}

void vm_shared_put(struct vm_object *o, uint32_t page, const void *content)
{
    vm_object_lock(o);
    struct vm_page *p = vm_shared_settled(o, page);
    if (p) {
        p->dirty = true;
        p->clean = 0; /* instruction caches do not have this */
        shared_bytes(o, p, content, 0);
    }
    vm_object_unlock(o);
}

/* Gives rights that were withheld. Mappings are removed, so that a new one shows that the rights have been used. */
static void allow(struct vm_page *p, unsigned withheld)
{
    if (p->locked & ~withheld) {
        p->granted = p->wanted || p->unlocking;
        if (p->granted && p->place.pmap)
            pmap_page_protect(p, 0);
    }
    p->locked = (uint8_t)withheld;
    p->unlocking = false;
    vm_page_wake(p);
}

void vm_shared_allow(struct vm_object *o, uint32_t page, unsigned withheld)
{
    vm_object_lock(o);
    struct vm_page *p = radix_get(&o->pages, page);
    if (vm_is_page(p))
        allow(p, withheld);
    vm_object_unlock(o);
}

int vm_shared_grant(vm_control_t control, uint32_t page)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    struct vm_page *p = radix_get(&o->pages, page);
    bool there = vm_is_page(p) && !p->absent && !p->error;
    if (there) {
        p->dirty = true;
        allow(p, 0);
    }
    vm_object_unlock(o);
    return there ? 0 : -ENOENT;
}

int vm_shared_give(vm_control_t control, uint32_t page, bool kept, void *to)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    o->references++;
    struct vm_page *p = vm_shared_settled(o, page);
    int written = p && p->dirty;
    if (p && kept) {
        p->locked = PAGE_WRITE;
        if (p->place.pmap)
            pmap_page_protect(p, PAGE_RIGHTS & ~PAGE_WRITE);
    } else if (p && p->place.pmap) {
        pmap_page_protect(p, 0);
    }
    if (written) {
        shared_bytes(o, p, 0, to);
        p->dirty = false;
    }
    if (p && kept)
        vm_page_wake(p);
    else if (p)
        vm_page_discard(p);
    vm_object_release_locked(o);
    return written;
}

bool vm_shared_last(struct vm_object *o, uint32_t *page, void *to)
{
    struct vm_page *p;
    bool found = false;
    vm_object_lock(o);
    for (; !found && (p = radix_next(&o->pages, page)); ++*page)
        if (vm_is_page(p) && p->dirty && !p->absent) {
            memcpy(to, vm_page_bytes(p), PAGE_SIZE);
            found = true;
        }
    vm_object_unlock(o);
    *page -= found;
    return found;
}

void vm_pager_forget(vm_control_t control, uint32_t page)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return;
    if (radix_get(&o->pages, page) == VM_BELOW)
        radix_clear(&o->pages, page);
    vm_object_unlock(o);
}
