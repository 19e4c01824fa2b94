/* Address spaces (space.h), by maps. */
#include "vm/space.h"

#include <errno.h>

#include "lib/panic.h"

bool space_init(struct space *space)
{
    space->map = vm_map_create();
    return space->map;
}

void space_destroy(struct space *space)
{
    vm_map_release(space->map);
    space->map = 0;
}

int space_grow(struct space *space, uint32_t begin, uint32_t end, unsigned rights)
{
    if (begin < SPACE_BEGIN || end > SPACE_END || rights & ~PAGE_RIGHTS || !(rights & PAGE_READ))
        panic("space_grow: [%#lx, %#lx) with rights %#x", (unsigned long)begin, (unsigned long)end, rights);
    return vm_map_object(space->map, &begin, end - begin, VM_FIXED, 0, 0, false, rights, rights, VM_INHERIT_COPY);
}

uint32_t space_lookup(const struct space *space, uint32_t address, unsigned rights)
{
    uint32_t physical;
    while (!(physical = pmap_lookup(vm_map_pmap(space->map), address, rights)))
        if (vm_fault(space->map, address, rights))
            return 0;
    return physical;
}

int space_copy_in(const struct space *space, void *to, uint32_t from, uint32_t n)
{
    return copyin(space->map, to, from, n);
}

int space_copy_out(const struct space *space, uint32_t to, const void *from, uint32_t n)
{
    return copyout(space->map, to, from, n);
}

int space_copy_in_string(const struct space *space, char *to, uint32_t from, uint32_t size)
{
    return copyinstr(space->map, to, from, size);
}

int space_fill(const struct space *space, uint32_t to, const void *from, uint32_t n)
{
    return vm_fill(space->map, to, from, n);
}
