/* The pager of files (vnode_pager.h). */
#include "fs/vnode_pager.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "fs/vfs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "mem/page.h"
#include "mem/zone.h"
#include "sched/master.h"
#include "vm/object.h"

#define PAGES_MOST (0x80000000u / PAGE_SIZE) /* off_t has 32 bits */

struct mapped {
    LIST_ENTRY(mapped) link;
    struct vnode *vp; /* with a reference */
    struct vm_object *object;
    vm_control_t control;
    int error; /* from a page that could not be written during `vnode_pager_flush`; guarded by the vnode's lock */
};

DEFINE_MUTEX(mapped_lock, "mapped files");
DEFINE_ZONE(mapped_zone, "mapped-files", sizeof(struct mapped), _Alignof(struct mapped), SPL_SOFTPREEMPT, 0);
static LIST_HEAD(, mapped) vnode_pager_files; /* the pager's number for an object is its file's address */

static struct mapped *mapped_of(uint32_t memory)
{
    return page_pointer(memory);
}

static uint32_t pages_of(uint64_t size)
{
    uint64_t pages = size / PAGE_SIZE + (size % PAGE_SIZE != 0);
    return pages < PAGES_MOST ? (uint32_t)pages : PAGES_MOST;
}

/* Call with the vnode's lock held. */
static uint64_t vnode_pager_size_of(struct vnode *vp)
{
    struct vattr attr;
    return vp->ops->getattr(vp, &attr) ? 0 : attr.size;
}

/* The vnode's lock is held exclusively: it keeps vp->mapped. */
static int vnode_pager_flush(struct vnode *vp, uint64_t from, uint64_t to, bool discard)
{
    struct mapped *f = vp->mapped;
    uint32_t first = (uint32_t)(from / PAGE_SIZE), end = pages_of(vnode_pager_size_of(vp));
    if (pages_of(to) < end)
        end = pages_of(to);
    f->error = 0; /* a page that page-out could not write is still there, and is tried again */
    if (first < end)
        vm_pager_lock_request(f->control, first, end - first, VM_RETURN_DIRTY, discard, 0);
    return f->error;
}

/* Under the same lock: drops all pages behind the new end, and clears the rest of the last one. */
static void vnode_pager_end(struct vnode *vp, uint64_t size, uint64_t before)
{
    struct mapped *f = vp->mapped;
    uint32_t first = pages_of(size), behind = pages_of(before);
    if (first < behind)
        vm_pager_lock_request(f->control, first, behind - first, VM_RETURN_NONE, true, 0);
    if (size % PAGE_SIZE && first)
        vm_pager_clear(f->control, (uint32_t)(size / PAGE_SIZE), (uint32_t)(size % PAGE_SIZE));
}

static void request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    struct vnode *vp = mapped_of(memory)->vp; /* the object keeps it, and the waiting page keeps the object */
    (void)rights;
    uint32_t room = page_alloc_raw();
    uint8_t *data = room ? page_pointer(room) : 0;
    unix_enter();
    for (; count; page++, count--) {
        struct uio uio;
        int error = room ? 0 : -ENOMEM;
        lock_read(&vp->lock);
        uint64_t size = vnode_pager_size_of(vp), at = (uint64_t)page * PAGE_SIZE;
        if (!error && at >= size)
            error = -EIO;
        if (!error) {
            uio_kernel(&uio, data, size - at < PAGE_SIZE ? (uint32_t)(size - at) : PAGE_SIZE, at, false);
            error = vp->ops->read(vp, &uio);
        }
        if (error) {
            vm_pager_data_error(control, page, 1);
        } else {
            memset(uio.with, 0, PAGE_SIZE - (uint32_t)(uio.offset - at));
            vm_pager_data_supply(control, page, data, 1, 0);
        }
        lock_done(&vp->lock);
    }
    unix_leave();
    if (room)
        page_free(room);
}

static int vnode_pager_give_back(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                                 bool kept)
{
    struct mapped *f = mapped_of(memory);
    struct vnode *vp = f->vp;
    (void)control, (void)kept;
    bool mine = lock_write_held(&vp->lock);
    if (!mine && !lock_try_write(&vp->lock))
        return -ENOMEM; /* it stays in memory: tried again later */
    unix_enter();
    uint64_t size = vnode_pager_size_of(vp), at = (uint64_t)page * PAGE_SIZE;
    int error = 0;
    if (at < size) {
        struct uio uio;
        uint32_t n = count * PAGE_SIZE;
        uio_kernel(&uio, (void *)data, size - at < n ? (uint32_t)(size - at) : n, at, true);
        error = vp->ops->write(vp, &uio, false);
        f->error = error ? error : f->error;
    }
    unix_leave();
    if (!mine)
        lock_done(&vp->lock);
    return error ? -EIO : 0;
}

static const struct vm_pager pager = {.name = "vnode", .data_request = request, .data_return = vnode_pager_give_back};

/* Releases files that are not mapped, with the list locked. */
static void vnode_pager_sweep_locked(void)
{
    struct mapped *f, *next;
    LIST_FOREACH_SAFE(f, &vnode_pager_files, link, next) {
        if (!vm_object_is_only(f->object))
            continue;
        struct vnode *vp = f->vp;
        lock_write(&vp->lock);
        int error = vnode_pager_flush(vp, 0, UINT64_MAX, false);
        vp->mapped = 0;
        vp->flush = 0;
        vp->end = 0;
        vp->map_error = error ? error : vp->map_error;
        lock_done(&vp->lock);
        if (error)
            kprintf("a page of a mapped file is lost: %s\n", strerror(-error));
        LIST_REMOVE(f, link);
        vm_object_release(f->object); /* its contents have been written, or are lost */
        zone_free(&mapped_zone, f);
        vrele(vp);
    }
}

void vnode_pager_sweep(void)
{
    if (!*(struct mapped *volatile *)&LIST_FIRST(&vnode_pager_files))
        return;
    unix_enter();
    mutex_lock(&mapped_lock);
    vnode_pager_sweep_locked();
    mutex_unlock(&mapped_lock);
    unix_leave();
}

/* Call with the list locked. 0, or an error. */
static int vnode_pager_enter(struct vnode *vp)
{
    struct mapped *f = zone_alloc(&mapped_zone);
    struct vm_object *object = f ? vm_object_create_paged(&pager, page_address(f), PAGES_MOST) : 0;
    if (!object) {
        if (f)
            zone_free(&mapped_zone, f);
        return -ENOMEM;
    }
    *f = (struct mapped){.vp = vp, .object = object, .control = vm_object_control(object)};
    vhold(vp);
    lock_write(&vp->lock);
    bool swapped = vp->swapped; /* stores to its pages could not be written */
    if (!swapped) {
        vp->mapped = f;
        vp->flush = vnode_pager_flush;
        vp->end = vnode_pager_end;
        LIST_INSERT_HEAD(&vnode_pager_files, f, link);
    }
    lock_done(&vp->lock);
    if (swapped) {
        vm_object_release(object);
        zone_free(&mapped_zone, f);
        vrele(vp);
    }
    return swapped ? -ETXTBSY : 0;
}

struct vm_object *vnode_pager_object(struct vnode *vp, int *error)
{
    struct vm_object *object = 0;
    mutex_lock(&mapped_lock);
    *error = vp->mapped ? 0 : vnode_pager_enter(vp); /* changes only with the list locked */
    if (!*error) {
        object = vp->mapped->object;
        vm_object_reference(object);
    }
    mutex_unlock(&mapped_lock);
    return object;
}

int vnode_pager_sync(void)
{
    int error = 0;
    mutex_lock(&mapped_lock);
    struct mapped *f;
    LIST_FOREACH(f, &vnode_pager_files, link) {
        int e = vfs_fsync(f->vp);
        error = error ? error : e;
    }
    mutex_unlock(&mapped_lock);
    return error;
}
