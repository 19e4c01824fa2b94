/*
 * Pagers (pager.h): maps numbers to objects, and carries out a pager's calls.
 *
 * Locking: controls_lock guards the table, and is held while the object's family is locked, so that the object stays;
 * an object leaves the table before it goes.
 */
#include "vm/pager.h"

#include <errno.h>
#include <string.h>

#include "lib/panic.h"
#include "mem/zone.h"
#include "vm/internal.h"

#define BUCKETS 64

DEFINE_MUTEX(controls_lock, "vm controls");
static SLIST_HEAD(, vm_object) controls[BUCKETS];
static vm_control_t pager_last;

static struct vm_object *pager_controlled_by(vm_control_t control)
{
    struct vm_object *object;
    SLIST_FOREACH(object, &controls[control % BUCKETS], controls)
        if (object->control == control)
            break;
    return object;
}

/* The caller owns the object, or holds its family's lock: then it has had no number until now. */
void vm_control_add(struct vm_object *object)
{
    mutex_lock(&controls_lock);
    do
        pager_last++;
    while (!pager_last || pager_controlled_by(pager_last));
    object->control = pager_last;
    SLIST_INSERT_HEAD(&controls[pager_last % BUCKETS], object, controls);
    mutex_unlock(&controls_lock);
}

void vm_control_remove(struct vm_object *object)
{
    mutex_lock(&controls_lock);
    if (pager_controlled_by(object->control) != object)
        panic("vm_control_remove: control %lu belongs to another object", (unsigned long)object->control);
    SLIST_REMOVE(&controls[object->control % BUCKETS], object, vm_object, controls);
    mutex_unlock(&controls_lock);
}

/* The object with its family's lock held, or 0. */
struct vm_object *vm_control_object(vm_control_t control)
{
    mutex_lock(&controls_lock);
    struct vm_object *o = pager_controlled_by(control);
    if (o)
        vm_object_lock(o);
    mutex_unlock(&controls_lock);
    if (o && o->dying) {
        vm_object_unlock(o);
        o = 0;
    }
    return o;
}

static bool is_within(const struct vm_object *o, uint32_t page, uint32_t count)
{
    return page <= o->size && count <= o->size - page;
}

/* A page that waits for its data, or 0. */
static struct vm_page *expected(struct vm_object *o, uint32_t page)
{
    struct vm_page *p = radix_get(&o->pages, page);
    return vm_is_page(p) && p->absent ? p : 0;
}

/*
 * Fills one page from `data` (0: with 0). Called and returns with the family locked; no other thread touches a busy
 * page meanwhile.
 */
static void supply(struct vm_object *o, struct vm_page *p, const void *data, unsigned locked)
{
    p->absent = false;
    vm_object_unlock(o);
    if (data)
        memcpy(vm_page_bytes(p), data, PAGE_SIZE);
    else
        vm_page_zero(p);
    vm_object_lock(o);
    p->locked = (uint8_t)(locked & PAGE_RIGHTS);
    p->backed = true;
    if (o->shared == VM_SHARED_AWAY) {
        p->dirty = !(locked & PAGE_WRITE); /* no other node has it */
        p->granted = true;
    }
    VM_COUNT(pageins);
    vm_page_unbusy(p);
}

/* The pager does not have the page: its waiters go on with what the object shadows. */
static void look_below(struct vm_object *o, struct vm_page *p)
{
    p->absent = false;
    radix_set(&o->pages, p->index, VM_BELOW); /* needs no memory: the slot is in use */
    o->resident--;
    o->busy--;
    p->object = 0;
    vm_page_wake(p);
    vm_page_free(p);
}

static int provide(vm_control_t control, uint32_t page, const uint8_t *data, uint32_t count, unsigned locked)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    int error = is_within(o, page, count) ? 0 : -EINVAL;
    for (uint32_t i = 0; i < count && !error; i++) {
        struct vm_page *p = expected(o, page + i);
        if (p && !data && o->shadow)
            look_below(o, p);
        else if (p)
            supply(o, p, data ? data + i * PAGE_SIZE : 0, locked);
        else if (count == 1)
            error = -ENOENT; /* no thread waits for it; of several, only the expected ones count */
    }
    vm_object_unlock(o);
    return error;
}

int vm_pager_data_supply(vm_control_t control, uint32_t page, const void *data, uint32_t count, unsigned locked)
{
    return provide(control, page, data, count, locked);
}

int vm_pager_data_unavailable(vm_control_t control, uint32_t page, uint32_t count)
{
    return provide(control, page, 0, count, 0);
}

int vm_pager_data_error(vm_control_t control, uint32_t page, uint32_t count)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    int error = is_within(o, page, count) ? 0 : -EINVAL;
    for (uint32_t i = 0; i < count && !error; i++) {
        struct vm_page *p = radix_get(&o->pages, page + i);
        if (vm_is_page(p) && p->unlocking) { /* the thread that needs more rights asks again */
            p->unlocking = false;
            vm_page_wake(p);
        }
        if (!vm_is_page(p) || !p->absent)
            continue;
        p->absent = false;
        p->error = true; /* a waiter removes it (fault.c) */
        vm_page_unbusy(p);
    }
    vm_object_unlock(o);
    return error;
}

/*
 * Gives the page to the pager. Called and returns with the family locked; the page is busy meanwhile, and not mapped
 * for writing.
 */
static int pager_give_back(struct vm_object *o, struct vm_page *p, bool kept)
{
    const struct vm_pager *pager = o->pager;
    p->busy = true;
    o->busy++;
    pmap_page_protect(p, kept ? PAGE_RIGHTS & ~PAGE_WRITE : 0);
    p->dirty = false;
    vm_object_unlock(o);
    int error =
        pager->data_return ? pager->data_return(o->memory, o->control, p->index, vm_page_bytes(p), 1, kept) : -EIO;
    vm_object_lock(o);
    if (error)
        p->dirty = true;
    vm_page_unbusy(p);
    return error;
}

static void request_of(struct vm_object *o, struct vm_page *p, enum vm_return what, bool flush, unsigned locked)
{
    int error = 0;
    p->locked = (uint8_t)(locked & PAGE_RIGHTS);
    p->unlocking = false;
    if (p->place.pmap)
        pmap_page_protect(p, PAGE_RIGHTS & ~p->locked);
    if (what == VM_RETURN_ALL || (what == VM_RETURN_DIRTY && p->dirty))
        error = pager_give_back(o, p, !flush);
    if (flush && !error && !p->wired)
        vm_page_discard(p);
    else
        vm_page_wake(p); /* a thread may wait for rights */
}

int vm_pager_lock_request(vm_control_t control, uint32_t page, uint32_t count, enum vm_return what, bool flush,
                          unsigned locked)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    if (!is_within(o, page, count)) {
        vm_object_unlock(o);
        return -EINVAL;
    }
    const struct vm_pager *pager = o->pager;
    uint32_t memory = o->memory;
    o->references++;
    for (uint32_t i = page; i < page + count; i++) {
        struct vm_page *p = radix_get(&o->pages, i);
        if (!vm_is_page(p))
            continue;
        if (!p->busy) {
            request_of(o, p, what, flush, locked);
        } else if (!p->absent) { /* a page on its way in has nothing to return */
            vm_page_sleep(p, o, 0);
            vm_object_lock(o);
            i--;
        }
    }
    vm_object_release_locked(o);
    if (pager->lock_completed)
        pager->lock_completed(memory, control, page, count);
    return 0;
}

int vm_pager_clear(vm_control_t control, uint32_t page, uint32_t within)
{
    struct vm_object *o = vm_control_object(control);
    struct vm_page *p;
    if (!o)
        return -ENOENT;
    o->references++;
    while (vm_is_page(p = radix_get(&o->pages, page)) && p->busy && !p->absent) {
        vm_page_sleep(p, o, 0);
        vm_object_lock(o);
    }
    if (vm_is_page(p) && !p->absent) {
        p->busy = true;
        o->busy++;
        vm_object_unlock(o);
        memset(vm_page_bytes(p) + within, 0, PAGE_SIZE - within);
        vm_object_lock(o);
        vm_page_unbusy(p);
    }
    vm_object_release_locked(o);
    return 0;
}

int vm_pager_destroy(vm_control_t control)
{
    struct vm_object *o = vm_control_object(control);
    if (!o)
        return -ENOENT;
    struct vm_page *p;
    o->destroyed = true;
    for (uint32_t i = 0; (p = radix_next(&o->pages, &i)); i++)
        if (vm_is_page(p) && p->absent) {
            p->absent = false;
            p->error = true;
            vm_page_unbusy(p);
        } else if (vm_is_page(p) && p->unlocking) {
            p->unlocking = false;
            vm_page_wake(p);
        }
    vm_object_unlock(o);
    return 0;
}

/* ---- Bytes of the kernel that never change. */

struct bytes {
    const uint8_t *at;
    uint32_t size;
};

DEFINE_ZONE(bytes_zone, "vm-bytes", sizeof(struct bytes), _Alignof(struct bytes), SPL_SOFTPREEMPT, 0);

/* `memory` is the number of a struct bytes; these are the kernel's own, so it may be an address. */
static struct bytes *bytes_of(uint32_t memory)
{
    return (struct bytes *)((char *)page_pointer(memory & ~PAGE_MASK) + (memory & PAGE_MASK));
}

static void bytes_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    (void)rights;
    const struct bytes *b = bytes_of(memory);
    for (; count; page++, count--) {
        uint32_t at = page * PAGE_SIZE;
        if (at + PAGE_SIZE <= b->size) {
            vm_pager_data_supply(control, page, b->at + at, 1, 0);
        } else if (at >= b->size) {
            vm_pager_data_error(control, page, 1); /* as behind the end of any file */
        } else {
            uint32_t part = page_alloc();
            if (!part) {
                vm_pager_data_error(control, page, 1);
                continue;
            }
            memcpy(page_pointer(part), b->at + at, b->size - at);
            vm_pager_data_supply(control, page, page_pointer(part), 1, 0);
            page_free(part);
        }
    }
}

static int bytes_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                        bool kept)
{
    (void)memory, (void)control, (void)page, (void)data, (void)count, (void)kept;
    return -EIO; /* they never change: pages that are mapped for writing stay in memory */
}

static void bytes_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    zone_free(&bytes_zone, bytes_of(memory));
}

static const struct vm_pager bytes_pager = {
    .name = "bytes", .data_request = bytes_request, .data_return = bytes_return, .terminate = bytes_terminate};

struct vm_object *vm_object_of_bytes(const void *bytes, uint32_t size, uint32_t pages)
{
    struct bytes *b = zone_alloc(&bytes_zone);
    if (!b)
        return 0;
    *b = (struct bytes){bytes, size};
    struct vm_object *o = vm_object_create_paged(&bytes_pager, page_address(b), pages);
    if (!o)
        zone_free(&bytes_zone, b);
    return o;
}
