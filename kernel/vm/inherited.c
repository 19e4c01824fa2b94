/* Reads objects for other nodes (inherited.h); regions are in map.c. */
#include "vm/inherited.h"

#include <errno.h>
#include <string.h>

#include "vm/internal.h"

bool vm_object_try_reference(struct vm_object *object)
{
    vm_object_lock(object);
    bool alive = object->references && !object->dying;
    object->references += alive;
    vm_object_unlock(object);
    return alive;
}

uint32_t vm_object_size(const struct vm_object *object)
{
    return object->size;
}

uint32_t vm_object_kin(struct vm_object *object, uint32_t own)
{
    vm_object_lock(object);
    if (!object->family->kin)
        object->family->kin = own;
    uint32_t kin = object->family->kin;
    vm_object_unlock(object);
    return kin;
}

struct vm_object *vm_object_below(struct vm_object *object, uint32_t *offset, bool *through)
{
    vm_object_lock(object);
    struct vm_object *below = object->shadow;
    *through = below && below->strategy == VM_COPY_ASYMMETRIC;
    if (*through)
        below = 0;
    if (below) {
        below->references++;
        *offset = object->shadow_offset;
    }
    vm_object_unlock(object);
    return below;
}

struct vm_object *vm_object_next(struct vm_object *object)
{
    vm_object_lock(object);
    struct vm_object *next = object->shadow;
    if (next)
        next->references++;
    vm_object_unlock(object);
    return next;
}

/* Asks the pager of `at` for a page. Called and returns with the family locked. */
static int ask(struct vm_object *at, uint32_t index)
{
    if (at->destroyed)
        return -EIO;
    struct vm_page *p = vm_page_alloc();
    if (p && !vm_page_insert(at, index, p)) {
        vm_page_free(p);
        p = 0;
    }
    if (!p) {
        vm_object_unlock(at);
        bool again = vm_page_wait();
        vm_object_lock(at);
        return again ? 0 : -ENOMEM;
    }
    p->absent = true;
    const struct vm_pager *pager = at->pager;
    vm_object_unlock(at);
    pager->data_request(at->memory, at->control, index, 1, PAGE_READ); /* the busy page keeps the object */
    vm_object_lock(at);
    return 0;
}

/* As a fault does with a page that its pager could not supply. */
static int failed(struct vm_page *p)
{
    if (p->object->external)
        vm_page_discard(p);
    else
        vm_page_to_pager(p);
    return -EIO;
}

/* The object alone; those above the source of an asymmetric copy; or all that lies below. */
enum read { READ_ALONE, READ_ABOVE, READ_THROUGH };

/* Finds the page: *at, *index. Returns a page, a mark, or 0. The family is locked. */
static struct vm_page *object_find(struct vm_object *object, uint32_t wanted, enum read how, struct vm_object **at,
                                   uint32_t *index)
{
    struct vm_page *p = 0;
    *at = object;
    *index = wanted;
    while (*index < (*at)->size) {
        p = radix_get(&(*at)->pages, *index);
        if (vm_is_page(p) || p == VM_PAGED || (!p && (*at)->external) || how == READ_ALONE || !(*at)->shadow)
            return p;
        if (how == READ_ABOVE && (*at)->shadow->strategy == VM_COPY_ASYMMETRIC)
            break;
        *index += (*at)->shadow_offset;
        *at = (*at)->shadow;
    }
    return VM_BELOW;
}

static int object_read(struct vm_object *object, uint32_t wanted, enum read how, void *to)
{
    struct vm_object *at;
    uint32_t index;
    int result = 0;
    vm_object_lock(object);
    while (!result) {
        struct vm_page *p = object_find(object, wanted, how, &at, &index);
        if (!vm_is_page(p)) {
            result = p == VM_BELOW || (!p && !at->external) ? 1 : ask(at, index);
        } else if (p->busy) {
            vm_page_sleep(p, object, 0);
            vm_object_lock(object);
        } else if (p->error) {
            result = failed(p);
        } else if (p->locked & PAGE_READ) {
            result = at->shared == VM_SHARED_HOME ? vm_shared_await(at, p, PAGE_READ) : -EIO;
        } else {
            p->busy = true;
            at->busy++;
            vm_object_unlock(object);
            memcpy(to, vm_page_bytes(p), PAGE_SIZE);
            vm_object_lock(object);
            p->inactive = false;
            vm_page_unbusy(p);
            break;
        }
    }
    vm_object_unlock(object);
    return result;
}

int vm_object_read(struct vm_object *object, uint32_t wanted, bool through, void *to)
{
    return object_read(object, wanted, through ? READ_THROUGH : READ_ALONE, to);
}

int vm_object_read_above(struct vm_object *object, uint32_t wanted, void *to)
{
    return object_read(object, wanted, READ_ABOVE, to);
}

bool vm_object_has_above(struct vm_object *object, uint32_t wanted)
{
    struct vm_object *at;
    uint32_t index;
    vm_object_lock(object);
    struct vm_page *p = object_find(object, wanted, READ_ABOVE, &at, &index);
    vm_object_unlock(object);
    return vm_is_page(p) || p == VM_PAGED || (!p && at->external);
}

struct vm_object *vm_object_source(struct vm_object *object, uint32_t *offset)
{
    *offset = 0;
    vm_object_lock(object);
    struct vm_object *o = object;
    do {
        *offset += o->shadow_offset;
        o = o->shadow;
    } while (o && o->strategy != VM_COPY_ASYMMETRIC);
    if (o && o->external) /* a file stays where it is */
        o = 0;
    if (o)
        o->references++;
    vm_object_unlock(object);
    return o;
}
