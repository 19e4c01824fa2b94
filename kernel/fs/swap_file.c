/* Page-out to a file (swap_file.h). */
#include "fs/swap_file.h"

#include <errno.h>

#include "fs/buf.h"
#include "fs/vfs.h"
#include "mem/page.h"
#include "vm/swap.h"

#define BLOCKS_MOST 262144u /* 256 MiB of blocks of 1 KiB: more than a disk here has; their table is 1 KiB */
#define PER_CHUNK (PAGE_SIZE / sizeof(uint32_t))

DEFINE_MUTEX(swap_file_lock, "swap file"); /* held while it is switched on or off */
static struct vnode *swap_file_vnode; /* with a reference, or 0 */
static struct blockdev *swap_file_device;
static uint32_t swap_file_block_size;
static uint32_t *chunks[BLOCKS_MOST / PER_CHUNK]; /* pages that hold the first sector of each block */

static uint32_t *sector_of(uint32_t block)
{
    return &chunks[block / PER_CHUNK][block % PER_CHUNK];
}

/* Consecutive blocks on the device are one request. */
static int swap_file_move(uint32_t n, void *data, bool write)
{
    uint32_t per_page = PAGE_SIZE / swap_file_block_size, per_block = swap_file_block_size / SECTOR_SIZE,
             first = n * per_page;
    int error = 0;
    for (uint32_t i = 0, run; i < per_page && !error; i += run) {
        uint32_t sector = *sector_of(first + i);
        for (run = 1; i + run < per_page && *sector_of(first + i + run) == sector + run * per_block;)
            run++;
        error = swap_file_device->transfer(swap_file_device, write, sector, run * per_block,
                                           (char *)data + i * swap_file_block_size);
    }
    return error ? -EIO : 0;
}

static struct vm_swap_store swap_file_store = {.move = swap_file_move};

static void forget_blocks(void)
{
    for (unsigned i = 0; i < BLOCKS_MOST / PER_CHUNK; i++) {
        if (chunks[i])
            page_free(page_address(chunks[i]));
        chunks[i] = 0;
    }
}

/* With the vnode locked. */
static int look_up_blocks(struct vnode *vp)
{
    struct vattr attr;
    int error = vp->ops->getattr(vp, &attr);
    if (error)
        return error;
    swap_file_block_size = attr.block_size;
    if (swap_file_block_size > PAGE_SIZE || attr.size < PAGE_SIZE || attr.size / swap_file_block_size > BLOCKS_MOST)
        return -EINVAL;
    swap_file_store.pages = (uint32_t)(attr.size / PAGE_SIZE);
    uint32_t blocks = swap_file_store.pages * (PAGE_SIZE / swap_file_block_size);
    for (uint32_t i = 0; i < blocks && !error; i++) {
        uint32_t *chunk = chunks[i / PER_CHUNK];
        if (!chunk) {
            uint32_t page = page_alloc();
            if (!page)
                return -ENOMEM;
            chunks[i / PER_CHUNK] = chunk = page_pointer(page);
        }
        error = vp->ops->place(vp, i, &swap_file_device, &chunk[i % PER_CHUNK]);
    }
    return error;
}

static int swap_file_begin(struct vnode *vp)
{
    if (swap_file_vnode)
        return -EBUSY;
    if (vp->type != VREG || !vp->ops->place)
        return -EINVAL;
    if (vp->mount->read_only)
        return -EROFS;
    lock_write(&vp->lock);
    int error = vp->mapped ? -EBUSY : look_up_blocks(vp);
    vp->swapped = !error;
    lock_done(&vp->lock);
    if (!error)
        /* Older buffers must not be written later. */
        error = swap_file_device->transfer ? vfs_fsync(vp) : -EINVAL;
    if (!error)
        error = vm_swap_on(&swap_file_store);
    if (!error) {
        swap_file_vnode = vp;
        return 0;
    }
    lock_write(&vp->lock);
    vp->swapped = false;
    lock_done(&vp->lock);
    forget_blocks();
    return error;
}

int swap_file_on(const char *path)
{
    struct vnode *vp;
    int error = namei(0, path, true, &vp);
    if (error)
        return error;
    mutex_lock(&swap_file_lock);
    error = swap_file_begin(vp);
    mutex_unlock(&swap_file_lock);
    if (error)
        vrele(vp);
    return error;
}

int swap_file_off(void)
{
    struct vnode *vp = 0;
    mutex_lock(&swap_file_lock);
    int error = swap_file_vnode ? vm_swap_off() : 0;
    if (!error && swap_file_vnode) {
        vp = swap_file_vnode;
        swap_file_vnode = 0;
        forget_blocks();
        lock_write(&vp->lock);
        vp->swapped = false;
        lock_done(&vp->lock);
    }
    mutex_unlock(&swap_file_lock);
    if (vp)
        vrele(vp);
    return error;
}
