/* System calls on a process's memory (abi.h). */
#include <errno.h>

#include "file/descriptors.h"
#include "fs/vnode_pager.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "proc/limits.h"
#include "proc/process.h"
#include "vm/object.h"

static int sys_sbrk(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if ((int32_t)a[0] > 0 && !limits_allow_data(p, a[0]))
        return -ENOMEM;
    return space_move_break(p->space, (int32_t)a[0]);
}
SYSCALL(SYS_SBRK, sys_sbrk);

/* Sv32 has no page that is writable but not readable. */
static int mmap_rights_of(uint32_t protection, unsigned *rights)
{
    if (protection & ~(uint32_t)(USER_PROT_READ | USER_PROT_WRITE | USER_PROT_EXEC))
        return -EINVAL;
    *rights = (protection & (USER_PROT_READ | USER_PROT_WRITE) ? PAGE_READ : 0) |
              (protection & USER_PROT_WRITE ? PAGE_WRITE : 0) |
              (protection & USER_PROT_EXEC ? PAGE_READ | PAGE_EXECUTE : 0);
    return (*rights & (PAGE_WRITE | PAGE_EXECUTE)) == (PAGE_WRITE | PAGE_EXECUTE) ? -EACCES : 0;
}

static bool is_range(uint32_t address, uint32_t size)
{
    return size && address % PAGE_SIZE == 0 && address >= VM_BEGIN && address < VM_END && size <= VM_END - address;
}

/* A file's object for mmap, with a reference, and the most rights that it may get. */
static int mmap_object_of(struct process *p, uint32_t fd, bool shared, struct vm_object **object, unsigned *maximum)
{
    struct file *f = descriptor_file(p->descriptors, fd);
    if (!f)
        return -EBADF;
    int error = !(f->kind & FILE_READ) ? -EACCES : f->ops->object ? 0 : -ENODEV;
    if (!error)
        *object = f->ops->object(f, &error);
    if (shared && !(f->kind & FILE_WRITE))
        *maximum &= ~PAGE_WRITE;
    file_release(f);
    return error;
}

static int sys_mmap(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t address = a[0], size = a[1], flags = a[3], kind = flags & (USER_MAP_SHARED | USER_MAP_PRIVATE);
    bool shared = kind == USER_MAP_SHARED, fixed = flags & USER_MAP_FIXED;
    unsigned rights, maximum = PAGE_RIGHTS, how = fixed ? VM_REPLACE : VM_ANYWHERE;
    struct vm_object *object = 0;
    int error = mmap_rights_of(a[2], &rights);
    if (error)
        return error;
    if ((kind != USER_MAP_SHARED && kind != USER_MAP_PRIVATE) || !size || a[5] % PAGE_SIZE ||
        (fixed && !is_range(address, size)))
        return -EINVAL;
    if (size > VM_END)
        return -ENOMEM;
    if (!shared && rights & PAGE_WRITE && !limits_allow_data(p, (size + PAGE_MASK) & ~PAGE_MASK))
        return -ENOMEM;
    if (!fixed && address % PAGE_SIZE)
        address = 0;
    if (!(flags & USER_MAP_ANON))
        error = mmap_object_of(p, a[4], shared, &object, &maximum);
    if (!error && rights & ~maximum)
        error = -EACCES;
    if (!error)
        error = vm_map_object(map, &address, size, how, object, a[5] / PAGE_SIZE, object && !shared, rights, maximum,
                              shared ? VM_INHERIT_SHARE : VM_INHERIT_COPY);
    if (object)
        vm_object_release(object);
    return error ? error : (int)address;
}
SYSCALL(SYS_MMAP, sys_mmap);

static int sys_munmap(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    int error = is_range(a[0], a[1]) ? vm_deallocate(map, a[0], a[1]) : -EINVAL;
    vnode_pager_sweep();
    return error;
}
SYSCALL(SYS_MUNMAP, sys_munmap);

/* Without holes. */
static bool is_mapped(struct vm_map *map, uint32_t from, uint32_t size)
{
    struct vm_region r;
    uint32_t end = (from + size + PAGE_MASK) & ~PAGE_MASK;
    for (uint32_t at = from; at < end; at = r.end)
        if (vm_region(map, at, &r) || r.begin > at)
            return false;
    return true;
}

/*
 * Writes all mapped files: more than was asked for, but few are mapped. MS_INVALIDATE has no effect: read and write see
 * the pages.
 */
static int sys_msync(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    if (a[0] % PAGE_SIZE || a[2] & ~(uint32_t)(USER_MS_ASYNC | USER_MS_INVALIDATE | USER_MS_SYNC) ||
        (a[2] & USER_MS_ASYNC && a[2] & USER_MS_SYNC))
        return -EINVAL;
    if (!a[1])
        return 0;
    int error = a[2] & USER_MS_ASYNC ? 0 : vnode_pager_sync();
    return error || (is_range(a[0], a[1]) && is_mapped(map, a[0], a[1])) ? error : -ENOMEM;
}
SYSCALL(SYS_MSYNC, sys_msync);

static int sys_madvise(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vm_region r;
    uint32_t end = (a[0] + a[1] + PAGE_MASK) & ~PAGE_MASK;
    int error = 0, holes = 0;
    (void)p;
    if (a[0] % PAGE_SIZE || a[2] > USER_MADV_DONTNEED)
        return -EINVAL;
    if (a[1] && !is_range(a[0], a[1]))
        return -ENOMEM;
    for (uint32_t at = a[0]; at < end && !error; at = r.end) {
        int none = vm_region(map, at, &r);
        if (none || r.begin > at)
            holes = -ENOMEM;
        if (none || r.begin >= end)
            break;
        at = MAX(at, r.begin);
        if (a[2] == USER_MADV_DONTNEED)
            error = vm_discard(map, at, MIN(end, r.end) - at);
    }
    return error == -EFAULT ? -ENOMEM : error ? error : holes;
}
SYSCALL(SYS_MADVISE, sys_madvise);

/* As in 4.4BSD, an unmapped range gives ENOMEM here. */
static int as_mapped(int error)
{
    return error == -EFAULT ? -ENOMEM : error;
}

static int sys_mprotect(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    unsigned rights;
    int error = mmap_rights_of(a[2], &rights);
    if (error)
        return error;
    if (!a[1] || a[0] % PAGE_SIZE)
        return a[0] % PAGE_SIZE ? -EINVAL : 0;
    return is_range(a[0], a[1]) ? as_mapped(vm_protect(map, a[0], a[1], false, rights)) : -ENOMEM;
}
SYSCALL(SYS_MPROTECT, sys_mprotect);

static int sys_minherit(struct process *p, struct vm_map *map, const uint32_t *a)
{
    static const enum vm_inherit inherit[] = {[USER_INHERIT_SHARE] = VM_INHERIT_SHARE,
                                              [USER_INHERIT_COPY] = VM_INHERIT_COPY,
                                              [USER_INHERIT_NONE] = VM_INHERIT_NONE};
    (void)p;
    if (!is_range(a[0], a[1]) || a[2] > USER_INHERIT_NONE)
        return -EINVAL;
    return as_mapped(vm_inherit(map, a[0], a[1], inherit[a[2]]));
}
SYSCALL(SYS_MINHERIT, sys_minherit);
