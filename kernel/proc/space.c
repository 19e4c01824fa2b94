/* Address spaces (space.h). */
#include "proc/space.h"

#include "mem/zone.h"
#include "proc/process.h"

static MUTEX_CLASS(memory_class, "process memory");
DEFINE_ZONE(spaces, "spaces", sizeof(struct space), _Alignof(struct space), SPL_SOFTPREEMPT, 0);

struct space *space_of_map(struct vm_map *map)
{
    struct space *s = map ? zone_alloc(&spaces) : 0;
    if (!s) {
        if (map)
            vm_map_release(map);
        return 0;
    }
    *s = (struct space){.map = map, .references = 1};
    lock_init(&s->memory, &memory_class, "process memory");
    return s;
}

struct space *space_create(void)
{
    return space_of_map(vm_map_create());
}

struct space *space_fork(struct space *from)
{
    mutex_lock(&from->memory);
    struct space *s = space_of_map(vm_map_fork(from->map));
    if (s)
        s->brk = from->brk;
    mutex_unlock(&from->memory);
    return s;
}

void space_reference(struct space *s)
{
    crit_t c = simple_lock_enter(&user_lock);
    s->references++;
    simple_lock_leave(&user_lock, c);
}

void space_release(struct space *s)
{
    crit_t c = simple_lock_enter(&user_lock);
    bool last = !--s->references;
    simple_lock_leave(&user_lock, c);
    if (!last)
        return;
    vm_map_release(s->map);
    lock_destroy(&s->memory);
    zone_free(&spaces, s);
}

int space_move_break(struct space *s, int32_t bytes)
{
    mutex_lock(&s->memory);
    int result = program_move_break(s->map, &s->brk, bytes);
    mutex_unlock(&s->memory);
    return result;
}
