/* Memory objects (object.h): references, shadows, copies, and the shortening of chains. */
#include "vm/object.h"

#include "lib/panic.h"
#include "mem/zone.h"
#include "vm/inherited.h"
#include "vm/internal.h"

DEFINE_ZONE(families, "vm-families", sizeof(struct vm_family), LINE, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(objects, "vm-objects", sizeof(struct vm_object), LINE, SPL_SOFTPREEMPT, 0);
static MUTEX_CLASS(family_class, "vm family");
static SIMPLE_LOCK_CLASS(families_lock_class, "vm families", SPL_SOFTPREEMPT);

struct simple_lock vm_families_lock = SIMPLE_LOCK("vm families", families_lock_class);
bool vm_object_collapses = true;
static volatile uint32_t object_count;

uint32_t vm_objects(void)
{
    return object_count;
}

/* In `family`, whose lock the caller holds unless no other thread knows it. */
static struct vm_object *object_in(struct vm_family *family, uint32_t pages)
{
    struct vm_object *o = zone_alloc(&objects);
    if (!o)
        return 0;
    *o = (struct vm_object){.family = family, .size = pages, .references = 1};
    family->objects++;
    __atomic_fetch_add(&object_count, 1, __ATOMIC_RELAXED);
    return o;
}

struct vm_object *vm_object_create(uint32_t pages)
{
    struct vm_family *f = zone_alloc(&families);
    if (!f)
        return 0;
    f->objects = f->kin = 0;
    lock_init(&f->lock, &family_class, "vm family");
    struct vm_object *o = object_in(f, pages);
    if (!o) {
        lock_destroy(&f->lock);
        zone_free(&families, f);
    }
    return o;
}

struct vm_object *vm_object_create_paged(const struct vm_pager *pager, uint32_t memory, uint32_t pages)
{
    struct vm_object *o = vm_object_create(pages);
    if (!o)
        return 0;
    o->strategy = VM_COPY_ASYMMETRIC;
    o->external = true;
    o->pager = pager;
    o->memory = memory;
    vm_control_add(o);
    if (pager->init)
        pager->init(memory, o->control, pages);
    return o;
}

struct vm_object *vm_object_create_relative(const struct vm_pager *pager, uint32_t memory, uint32_t pages,
                                            struct vm_object *relative, uint32_t kin)
{
    struct vm_object *o;
    if (relative) {
        vm_object_lock(relative);
        o = object_in(relative->family, pages);
        vm_object_unlock(relative);
    } else {
        o = vm_object_create(pages);
        if (o)
            o->family->kin = kin;
    }
    if (!o)
        return 0;
    o->external = true;
    o->pager = pager;
    o->memory = memory;
    vm_control_add(o);
    return o;
}

bool vm_object_set_shadow(struct vm_object *object, struct vm_object *below, uint32_t offset)
{
    vm_object_lock(object);
    bool sound = !object->shadow && below->family == object->family;
    for (const struct vm_object *o = below; o && sound; o = o->shadow)
        sound = o != object;
    if (sound) {
        below->references++;
        object->shadow = below;
        object->shadow_offset = offset;
        if (below->shared && !below->copy)
            below->copy = object;
    }
    vm_object_unlock(object);
    return sound;
}

vm_control_t vm_object_control(const struct vm_object *object)
{
    return object->control;
}

bool vm_object_is_only(struct vm_object *object)
{
    vm_object_lock(object);
    bool only = object->references == 1;
    vm_object_unlock(object);
    return only;
}

void vm_object_reference(struct vm_object *object)
{
    vm_object_lock(object);
    object->references++;
    vm_object_unlock(object);
}

void vm_object_release(struct vm_object *object)
{
    vm_object_lock(object);
    vm_object_release_locked(object);
}

/* Frees all its pages. None is busy: a thread that makes one busy keeps a reference, by way of a region. */
static void discard_pages(struct vm_object *o)
{
    struct vm_page *p;
    for (uint32_t i = 0; (p = radix_next(&o->pages, &i)); i++)
        if (!vm_is_page(p)) {
            radix_clear(&o->pages, i);
            o->paged -= p == VM_PAGED;
        } else if (p->busy) {
            panic("object %p is released with its page %lu busy", (void *)o, (unsigned long)i);
        } else {
            vm_page_discard(p);
        }
}

/*
 * Ends paging of an object without references; its pager frees its pages, too. Releases the family's lock meanwhile, if
 * there is one.
 */
static void end_paging(struct vm_object *o)
{
    o->dying = true;
    vm_object_unlock(o);
    vm_control_remove(o);
    if (o->pager->terminate)
        o->pager->terminate(o->memory, o->control);
    vm_object_lock(o);
}

/* After this call no thread still looks at an object by way of one of its pages (pageout.c). */
static void let_lookers_leave(void)
{
    crit_t s = simple_lock_enter(&vm_families_lock);
    simple_lock_leave(&vm_families_lock, s);
}

/* Frees its memory; the caller updates the family's count. */
static void free_object(struct vm_object *o)
{
    let_lookers_leave();
    zone_free(&objects, o);
    __atomic_fetch_sub(&object_count, 1, __ATOMIC_RELAXED);
}

void vm_object_release_locked(struct vm_object *object)
{
    struct vm_family *f = object->family;
    while (object && !--object->references) {
        /* a page on its way out or in keeps it until it is done */
        while (object->busy) {
            object->references++;
            uint32_t i = 0;
            struct vm_page *p;
            while ((p = radix_next(&object->pages, &i)) && (!vm_is_page(p) || !p->busy))
                i++;
            vm_page_sleep(p, object, 0);
            vm_object_lock(object);
            object->references--;
        }
        if (object->references) /* its pager has taken a reference meanwhile (inherited.h) */
            break;
        if (object->shadow && object->shadow->copy == object)
            object->shadow->copy = 0;
        if (object->pager)
            end_paging(object);
        discard_pages(object);
        struct vm_object *below = object->shadow;
        f->objects--;
        free_object(object);
        object = below;
    }
    bool last = !f->objects;
    if (!last && object)
        vm_object_shorten(object);
    mutex_unlock(&f->lock);
    if (last) {
        let_lookers_leave();
        lock_destroy(&f->lock);
        zone_free(&families, f);
    }
}

/*
 * A new object through which `pages` of `object` from `offset` on are seen; takes over the caller's reference. 0: no
 * memory.
 */
struct vm_object *vm_object_shadow(struct vm_object *object, uint32_t offset, uint32_t pages)
{
    struct vm_object *o = object_in(object->family, pages);
    if (!o)
        return 0;
    o->shadow = object;
    o->shadow_offset = offset;
    VM_COUNT(shadows);
    return o;
}

/*
 * An asymmetric copy of the whole object, as it is now, with a reference for the caller: the last copy if neither was
 * written since, or a new one between the object and that copy. From now on a page is pushed before user mode writes
 * it, so no page of the object may be written without a fault: *shoot says which harts must be called for that
 * (pmap.h).
 */
struct vm_object *vm_object_copy(struct vm_object *object, uint32_t *shoot)
{
    struct vm_object *old = object->copy, *copy;
    if (old && !old->resident && !old->paged && !old->written && old->size == object->size && !old->shadow_offset) {
        copy = old;
        copy->references++;
    } else {
        copy = vm_object_shadow(object, 0, object->size);
        if (!copy)
            return 0;
        object->references++;
        if (old) { /* it showed this object's pages: it shows them through the new copy now */
            old->shadow = copy;
            copy->references++;
            object->references--;
        }
        object->copy = copy;
    }
    struct vm_page *p;
    for (uint32_t i = 0; (p = radix_next(&object->pages, &i)); i++)
        if (vm_is_page(p) && p->place.pmap)
            *shoot |= pmap_page_protect_later(p, PAGE_RIGHTS & ~PAGE_WRITE);
    return copy;
}

/* Tells its pager that it has been copied so. Not locked; the caller has a reference. */
void vm_object_was_copied(struct vm_object *object)
{
    if (object->external && object->pager->copy)
        object->pager->copy(object->memory, object->control, 0, object->size);
}

/* Moves the pages of `below`, which only `object` shadows, to `object`, where that has none. */
static void collapse(struct vm_object *object, struct vm_object *below)
{
    struct vm_page *p;
    uint32_t from = object->shadow_offset;
    for (uint32_t i = 0; (p = radix_next(&below->pages, &i)); i++) {
        if (i < from || i - from >= object->size || radix_get(&object->pages, i - from)) {
            vm_page_discard(p);
            continue;
        }
        if (!radix_set(&object->pages, i - from, p)) /* memory is out: tried again later */
            return;
        radix_clear(&below->pages, i);
        below->resident--;
        p->object = object;
        p->index = i - from;
        object->resident++;
    }
    object->shadow = below->shadow;
    object->shadow_offset = from + below->shadow_offset;
    if (object->shadow && object->shadow->copy == below)
        object->shadow->copy = object;
    object->family->objects--;
    free_object(below);
    VM_COUNT(collapses);
}

/* Whether no page of `below` is seen through `object`. */
static bool is_hidden(const struct vm_object *object, const struct vm_object *below)
{
    struct vm_page *p;
    if (below->paged || below->resident > object->resident + object->paged)
        return false;
    uint32_t i = object->shadow_offset;
    for (; (p = radix_next(&below->pages, &i)) && i - object->shadow_offset < object->size; i++)
        if (!radix_get(&object->pages, i - object->shadow_offset))
            return false;
    return true;
}

/*
 * Collapses the object that `object` shadows, if nothing else refers to it, or bypasses it, if nothing of it is seen;
 * and so on down the chain. Not while a page of either is busy: if it does not arrive, the search would go on below.
 */
void vm_object_shorten(struct vm_object *object)
{
    struct vm_object *below;
    while (vm_object_collapses && !object->busy && (below = object->shadow) && !below->busy && !below->pager &&
           !below->shared) {
        if (below->references == 1) {
            uint32_t collapsed = object->family->objects;
            collapse(object, below);
            if (object->family->objects == collapsed)
                return;
        } else if (below->copy != object && !(below->shadow && below->shadow->copy == below) &&
                   is_hidden(object, below)) {
            if (below->shadow)
                below->shadow->references++;
            object->shadow = below->shadow;
            object->shadow_offset += below->shadow_offset;
            below->references--;
            VM_COUNT(bypasses);
        } else {
            return;
        }
    }
}
