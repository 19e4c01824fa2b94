/*
 * A task's memory as one message (task.h): regions, memory objects and the objects that these shadow, in a table that
 * regions and objects refer to by number. The size of every element divides a page's, so none crosses a page of the
 * message.
 */
#include <errno.h>
#include <string.h>

#include "ipc/transport.h"
#include "task/task.h"
#include "vm/inherited.h"
#include "xmm/xmm.h"

#define ELEMENT 32u
#define STEPS_OF_MEMORY (STEP_EAGER_STATE | STEP_EAGER_CHAIN | STEP_NO_SYNC)
#define NEEDS_COPY 1u
#define CHARGED 2u

struct vector_head {
    uint32_t regions, objects, steps;
    struct vm_form form;
    uint32_t unused[8];
};

struct vector_region {
    uint32_t begin, end, offset;
    uint32_t object; /* its number + 1; 0: none */
    uint8_t rights, maximum, inherit, flags;
    uint32_t unused[3];
};

/*
 * Instead of a right's type: the right's number is the address of a local port, to which the vector has a send right.
 */
#define PAGER_HERE 0xffff

struct vector_object {
    struct wire_right pager;
    struct xmm_state state;
    uint32_t below; /* the number + 1 of the object that it shadows; 0: not in the vector */
    uint32_t here; /* the object on the receiving node */
};

_Static_assert(sizeof(struct vector_head) == 2 * ELEMENT && sizeof(struct vector_region) == ELEMENT &&
                   sizeof(struct vector_object) == ELEMENT,
               "elements divide a page");

static void *element(const struct message *m, uint32_t n)
{
    uint32_t at = n * ELEMENT;
    return (char *)page_pointer(m->page[at / PAGE_SIZE]) + at % PAGE_SIZE;
}

static struct vector_head *vector_head_of(const struct message *m)
{
    return element(m, 0);
}

static struct vector_region *region_of(const struct message *m, uint32_t n)
{
    return element(m, 2 + n);
}

static struct vector_object *object_of(const struct message *m, uint32_t n)
{
    return element(m, 2 + vector_head_of(m)->regions + n);
}

static struct port *port_at(uint32_t address)
{
    return (struct port *)(uintptr_t)address;
}

/* ---- Making a vector. */

/* How an object is exported. */
enum kind { KIND_READ, KIND_SHARED, KIND_COPY };

/* Returns the object's number + 1; 0: memory is out. *fresh: it is new in the vector. */
static uint32_t add_object(struct message *m, struct vm_object *object, unsigned steps, enum kind kind, bool *fresh)
{
    struct vector_head *h = vector_head_of(m);
    struct port *p = kind == KIND_SHARED ? xmm_export_shared(object)
                     : kind == KIND_COPY ? xmm_export_copy(object)
                                         : xmm_export(object, steps & STEP_HIERARCHICAL);
    if (!p)
        return 0;
    *fresh = false;
    for (uint32_t n = 0; n < h->objects; n++)
        if (port_at(object_of(m, n)->pager.uid) == p) {
            port_drop(p, RIGHT_SEND);
            return n + 1;
        }
    if (!message_make_room(m, (2 + h->regions + h->objects + 1) * ELEMENT)) {
        port_drop(p, RIGHT_SEND);
        return 0;
    }
    struct vector_object *o = object_of(m, h->objects++);
    *o = (struct vector_object){.pager = {.uid = (uint32_t)(uintptr_t)p, .type = PAGER_HERE}};
    xmm_state_of(object, &o->state);
    *fresh = true;
    return h->objects;
}

/* Adds an asymmetric copy and its source, which is shared, as in the original. Returns the number of the copy + 1. */
static uint32_t add_copy(struct message *m, struct vm_object *copy, struct vm_object *source, uint32_t offset,
                         unsigned steps)
{
    bool fresh;
    uint32_t above = add_object(m, copy, steps, KIND_COPY, &fresh),
             below = above ? add_object(m, source, steps, KIND_SHARED, &fresh) : 0;
    if (!below)
        return 0;
    struct vector_object *o = object_of(m, above - 1);
    o->below = below;
    o->state.shadowed = 1;
    o->state.shadow_offset = offset;
    return above;
}

/* Adds the object and the objects below it, as deep as the steps say. Returns its number + 1; 0: memory is out. */
static uint32_t add_chain(struct message *m, struct vm_object *object, unsigned steps, bool shared)
{
    bool fresh, through;
    uint32_t offset;
    struct vm_object *source = steps & STEP_DISTRIBUTED && !shared ? vm_object_source(object, &offset) : 0;
    if (source && offset) { /* it is read through, as without that step */
        vm_object_release(source);
        source = 0;
    }
    if (source) {
        uint32_t n = add_copy(m, object, source, offset, steps);
        vm_object_release(source);
        return n;
    }
    uint32_t first = add_object(m, object, steps, shared ? KIND_SHARED : KIND_READ, &fresh), above = first;
    vm_object_reference(object);
    for (unsigned depth = 0; above && !shared && (depth < 1 || steps & STEP_EAGER_CHAIN); depth++) {
        struct vm_object *below = vm_object_below(object, &offset, &through);
        vm_object_release(object);
        object = below;
        if (!below)
            break;
        uint32_t n = add_object(m, below, steps, KIND_READ, &fresh);
        object_of(m, above - 1)->below = n;
        above = n;
    }
    if (object)
        vm_object_release(object);
    return above ? first : 0;
}

/* Exports all its rights to that node; until that has succeeded for all, `here` has the ports. */
static bool vector_export(struct message *m, unsigned node)
{
    uint32_t done = 0, all = vector_head_of(m)->objects;
    for (bool exported = true; done < all && exported; done += exported) {
        struct vector_object *o = object_of(m, done);
        o->here = o->pager.uid;
        exported = port_export(port_at(o->here), RIGHT_SEND, node, &o->pager);
    }
    for (uint32_t n = 0; n < done; n++) {
        struct vector_object *o = object_of(m, n);
        if (done == all) {
            port_release(port_at(o->here));
        } else {
            port_unexport(port_at(o->here), RIGHT_SEND, node);
            o->pager = (struct wire_right){.uid = o->here, .type = PAGER_HERE};
        }
        o->here = 0;
    }
    if (done < all)
        object_of(m, done)->here = 0;
    return done == all;
}

/* Gives the right to the object's port to the caller; 0: memory is out, or it has been taken. */
static struct port *take_pager(struct message *m, struct vector_object *o)
{
    struct wire_right w = o->pager;
    o->pager.type = RIGHT_NONE;
    return w.type == PAGER_HERE ? port_at(w.uid) : w.type ? port_import(&w, m->node) : 0;
}

/* Discards a vector: drops the rights that are left in it. */
static void vector_discard(struct message *m)
{
    if (m->data_size < sizeof(struct vector_head))
        return;
    for (uint32_t n = 0; n < vector_head_of(m)->objects; n++) {
        struct port *p = take_pager(m, object_of(m, n));
        if (p)
            port_drop(p, RIGHT_SEND);
    }
}

int task_make_vector(struct vm_map *snapshot, unsigned steps, struct message *m, struct task_report *report)
{
    struct vm_inherited r;
    uint32_t regions = 0, n = 0;
    for (uint32_t at = 0; vm_map_next(snapshot, at, &r); at = r.end, regions++)
        if (r.object)
            vm_object_release(r.object);
    if (!message_make_room(m, (2 + regions) * ELEMENT))
        return -ENOMEM;
    *vector_head_of(m) = (struct vector_head){.regions = regions, .steps = steps, .form = vm_map_form(snapshot)};
    m->export_data = vector_export;
    m->discard = vector_discard;
    int error = 0;
    for (uint32_t at = 0; !error && vm_map_next(snapshot, at, &r); at = r.end, n++) {
        struct vector_region *v = region_of(m, n);
        *v = (struct vector_region){.begin = r.begin,
                                    .end = r.end,
                                    .offset = r.offset,
                                    .rights = (uint8_t)r.rights,
                                    .maximum = (uint8_t)r.maximum,
                                    .inherit = (uint8_t)r.inherit,
                                    .flags = (r.needs_copy ? NEEDS_COPY : 0) | (r.charged ? CHARGED : 0)};
        if (r.object) {
            v->object = add_chain(m, r.object, steps, r.inherit == VM_INHERIT_SHARE);
            if (!v->object && !error)
                error = -ENOMEM;
            vm_object_release(r.object);
        }
    }
    report->regions = regions;
    report->objects = vector_head_of(m)->objects;
    return error;
}

/* Out-of-line memory that leaves the node: a vector of one region, from address 0 on. */
static int vector_of_memory(struct message *m)
{
    uint32_t first = 0, bytes = m->data_size;
    struct vm_object *object = m->object;
    m->object = 0;
    m->data_size = 0;
    m->memory = bytes;
    if (message_make_room(m, 3 * ELEMENT)) {
        *vector_head_of(m) = (struct vector_head){.regions = 1, .steps = STEPS_OF_MEMORY};
        *region_of(m, 0) = (struct vector_region){.end = bytes, .offset = m->object_page};
        m->export_data = vector_export;
        m->discard = vector_discard;
        first = add_chain(m, object, STEPS_OF_MEMORY, false);
        region_of(m, 0)->object = first;
    }
    vm_object_release(object);
    return first ? 0 : -ENOMEM;
}

/* ---- Reading a vector. */

/* Whether no object lies below itself. Marks each object with its chain's number, and clears the marks at the end. */
static bool chains_end(const struct message *m)
{
    uint32_t objects = vector_head_of(m)->objects;
    bool end = true;
    for (uint32_t n = 0; n < objects && end; n++) {
        uint32_t at = n + 1;
        for (; at && !object_of(m, at - 1)->here; at = object_of(m, at - 1)->below)
            object_of(m, at - 1)->here = n + 1;
        end = !at || object_of(m, at - 1)->here != n + 1;
    }
    for (uint32_t n = 0; n < objects; n++)
        object_of(m, n)->here = 0;
    return end;
}

/*
 * Whether the vector's numbers lie within it, so that nothing beyond it is read, and make sense. A vector from another
 * node may hold no addresses.
 */
static bool is_sound(const struct message *m)
{
    if (m->data_size < sizeof(struct vector_head))
        return false;
    const struct vector_head *h = vector_head_of(m);
    uint32_t all = m->data_size / ELEMENT - 2;
    if (h->regions > all || h->objects > all - h->regions)
        return false;
    for (uint32_t n = 0; n < h->regions; n++)
        if (region_of(m, n)->object > h->objects)
            return false;
    for (uint32_t n = 0; n < h->objects; n++) {
        struct vector_object *o = object_of(m, n);
        if (o->below > h->objects || (o->pager.type == PAGER_HERE && m->node != ipc_node))
            return false;
        o->here = 0;
    }
    return chains_end(m);
}

/* Whether a vector describes out-of-line memory. */
static bool is_of_memory(const struct message *m)
{
    const struct vector_region *r = vector_head_of(m)->regions == 1 ? region_of(m, 0) : 0;
    return r && r->object && !r->begin && r->end && !(r->end & PAGE_MASK);
}

void task_data_arrived(struct message *m)
{
    bool vector = m->id == TASK_MAP_VECTOR || m->id == HOST_TASK_SPREAD || m->memory, sound = vector && is_sound(m);
    if (sound)
        m->discard = vector_discard;
    else if (vector)
        m->data_size = 0; /* it is no vector */
    m->memory = m->memory && sound && is_of_memory(m) ? region_of(m, 0)->end : 0;
}

/* An object that is being imported: the right to it, and its description. */
struct import {
    struct port *pager;
    struct xmm_state state;
    uint32_t below;
};

static int of_vector(struct message *m, uint32_t n, struct import *i)
{
    struct vector_object *o = object_of(m, n);
    *i = (struct import){.pager = take_pager(m, o), .state = o->state, .below = o->below};
    return i->pager ? 0 : -ENOMEM;
}

/* Asks the manager for what the object shadows, if that is not in the vector. */
static int of_manager(struct port *above, unsigned steps, struct import *i)
{
    *i = (struct import){0};
    int error = xmm_get_shadow(above, steps & STEP_HIERARCHICAL, &i->pager);
    return error ? error : i->pager ? 0 : -EIO;
}

/*
 * Imports the object `first` with all objects below it. The vector keeps a reference to each object in it (`here`); an
 * object not in it is kept by the one above. Goes down to the first object that this node already has, with its chain.
 */
static int import_chain(struct message *m, uint32_t first)
{
    unsigned steps = vector_head_of(m)->steps;
    struct vm_object *above = 0, *o;
    struct port *asked = 0; /* the right to ask the manager what `above` shadows */
    struct import i = {0};
    int error = 0;
    for (uint32_t number = first + 1; !error; number = i.below) {
        struct vector_object *v = number ? object_of(m, number - 1) : 0;
        uint32_t offset = i.state.shadow_offset;
        bool fresh = false;
        if (v && v->here) {
            o = (struct vm_object *)(uintptr_t)v->here;
        } else {
            error = v ? of_vector(m, number - 1, &i) : of_manager(asked, steps, &i);
            if (!error && !(v && steps & STEP_EAGER_STATE))
                error = xmm_get_state(i.pager, &i.state);
            o = error ? 0 : xmm_import(i.pager, &i.state, &fresh);
            if (!o && i.pager)
                port_drop(i.pager, RIGHT_SEND);
            error = error || o ? error : -ENOMEM;
        }
        if (error)
            break;
        if (above) {
            if (!vm_object_set_shadow(above, o, offset))
                error = -EINVAL; /* the other node's description is wrong */
            else if (!xmm_set_source(above, o))
                error = -EOPNOTSUPP; /* it would not learn what is pushed into that one */
        }
        if (v)
            v->here = (uint32_t)(uintptr_t)o;
        else
            vm_object_release(o);
        if (fresh && !error)
            error = xmm_init(o, !(steps & STEP_NO_SYNC));
        if (fresh && error)
            xmm_complete(o, error); /* it may not be in the chain, and other threads may wait for it */
        else if (!fresh && !error)
            xmm_await(o);
        if (!fresh || !i.state.shadowed)
            break;
        above = o;
        asked = i.pager; /* the object's proxy keeps it */
    }
    if (object_of(m, first)->here)
        xmm_complete((struct vm_object *)(uintptr_t)object_of(m, first)->here, error);
    return error;
}

static int enter(struct task *task, struct message *m)
{
    int error = 0;
    for (uint32_t n = 0; n < vector_head_of(m)->regions && !error; n++) {
        const struct vector_region *v = region_of(m, n);
        struct vm_inherited r = {.begin = v->begin,
                                 .end = v->end,
                                 .offset = v->offset,
                                 .rights = v->rights,
                                 .maximum = v->maximum,
                                 .inherit = (enum vm_inherit)v->inherit,
                                 .needs_copy = v->flags & NEEDS_COPY,
                                 .charged = v->flags & CHARGED};
        if (v->object) {
            if (!object_of(m, v->object - 1)->here)
                error = import_chain(m, v->object - 1);
            r.object = error ? 0 : (struct vm_object *)(uintptr_t)object_of(m, v->object - 1)->here;
            if (r.object)
                vm_object_reference(r.object);
        }
        if (!error)
            error = vm_map_enter(task->process->map, &r);
        if (error && r.object)
            vm_object_release(r.object);
    }
    return error;
}

/* Drops the references to imported objects. */
static void release_imported(struct message *m)
{
    for (uint32_t n = 0; n < vector_head_of(m)->objects; n++) {
        struct vector_object *o = object_of(m, n);
        if (o->here)
            vm_object_release((struct vm_object *)(uintptr_t)o->here);
        o->here = 0;
    }
}

/* Out-of-line memory has been received: the message has an object again. 0, or the error of the import. */
static int memory_of_vector(struct message *m)
{
    const struct vector_region *r = region_of(m, 0);
    uint32_t first = r->object - 1;
    int error = import_chain(m, first);
    if (!error) {
        m->object = (struct vm_object *)(uintptr_t)object_of(m, first)->here;
        vm_object_reference(m->object);
        m->object_page = r->offset;
        m->data_size = m->memory;
    }
    release_imported(m);
    vector_discard(m);
    m->discard = 0;
    m->memory = 0;
    return error;
}

int task_take_vector(struct task *task, struct message *m)
{
    if (!m->data_size)
        return -EINVAL;
    mutex_lock(&task->lock); /* it has no thread yet, and nothing else uses it */
    int error = !task->process || task->begun ? -ESRCH : 0;
    if (!error) {
        vm_map_set_form(task->process->map, &vector_head_of(m)->form);
        error = enter(task, m);
    }
    mutex_unlock(&task->lock);
    release_imported(m);
    return error;
}

void task_map_vector(struct task *task, struct message *m)
{
    message_answer(m, task_take_vector(task, m));
}

void task_memory_init(void)
{
    ipc_memory_leaves = vector_of_memory;
    ipc_memory_arrived = memory_of_vector;
}
