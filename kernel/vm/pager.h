/*
 * Pagers supply the pages of an object, and take back dirty ones that have to leave memory. The interface is Mach's
 * external memory management (Young and others, 1987), by calls now and by messages over a network later (paper
 * `crtc`, sections 3 to 5): so neither side sees a pointer of the other. The kernel names an object by `control`, its
 * pager names the same by `memory`; the callee copies data before it returns. Pages are numbers from the object's
 * beginning.
 *
 * The kernel calls (vm_pager's members), from any thread, holding no lock that the pager may need, with the page busy:
 *   init           the object has begun to be used; vm_pager_ready may be called at once or later
 *   data_request   supply `count` pages from `page` on, with at least `rights`
 *   data_unlock    give more rights to pages that were supplied with less
 *   data_return    pages that were changed; they have left the kernel's memory unless `kept`
 *   lock_completed a lock_request is done
 *   copy           pages from `page` on have been copied (asymmetrically): the copy will request them as they
 *                  are now
 *   data_unwanted  these pages will not be requested any more; called with locks held, so it must not call back
 *                  (for the default pager only, which has the only copy of its pages)
 *   terminate      the object is not used any more; `control` is invalid from here on
 *
 * The pager calls, from any thread, within one of the calls above or later:
 *   vm_pager_data_supply        the data of pages; `locked`: rights that user mode must not have yet (0: none is
 *                               withheld)
 *   vm_pager_data_unavailable   pages of 0, or of what the object shadows
 *   vm_pager_data_error         threads that wait for them get -EIO
 *   vm_pager_lock_request       takes rights away from pages that are in memory, writes them back, flushes them
 *   vm_pager_destroy            the object is gone: a request for a page that is not in memory gets -EIO
 *
 * A pager that does not answer blocks only the threads that wait for its pages. A call with an invalid number is
 * -ENOENT, and does no harm.
 */
#ifndef VM_PAGER_H
#define VM_PAGER_H

#include "vm/types.h"

typedef uint32_t vm_control_t; /* never 0, not reused before 2^16 others */

struct vm_pager {
    const char *name;
    void (*init)(uint32_t memory, vm_control_t control, uint32_t pages);
    void (*data_request)(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights);
    void (*data_unlock)(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights);
    /* 0, or -ENOMEM, -EIO: the page stays in memory, dirty. */
    int (*data_return)(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                       bool kept);
    void (*lock_completed)(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count);
    void (*copy)(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count);
    void (*data_unwanted)(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count);
    void (*terminate)(uint32_t memory, vm_control_t control);
};

int vm_pager_data_supply(vm_control_t control, uint32_t page, const void *data, uint32_t count, unsigned locked);
int vm_pager_data_unavailable(vm_control_t control, uint32_t page, uint32_t count);
int vm_pager_data_error(vm_control_t control, uint32_t page, uint32_t count);

enum vm_return { VM_RETURN_NONE, VM_RETURN_DIRTY, VM_RETURN_ALL };

/*
 * `locked`: rights withheld from now on. `flush`: the pages leave memory. Done when lock_completed is called.
 */
int vm_pager_lock_request(vm_control_t control, uint32_t page, uint32_t count, enum vm_return what, bool flush,
                          unsigned locked);
/* Zeroes the bytes of a page from `within` on, as its pager has them; does nothing if it is not in memory. */
int vm_pager_clear(vm_control_t control, uint32_t page, uint32_t within);
int vm_pager_destroy(vm_control_t control);

/*
 * Bytes of the kernel's memory that never change, such as a file of the image's archive, as an object of `pages`; the
 * rest of the last page is 0, and there is no further page. With one reference; 0: memory is out.
 */
struct vm_object *vm_object_of_bytes(const void *bytes, uint32_t size, uint32_t pages);
#endif
