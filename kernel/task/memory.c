/*
 * Calls on a task's memory by its port (task.h): Mach's vm_read, vm_write, vm_region and so on, from any node. They may
 * wait for pages, also from other nodes, so they hold only a reference to the map.
 */
#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "task/task.h"
#include "user/abi.h"
#include "vm/map.h"

#define WORDS 4

#define USER_RIGHTS (USER_PROT_READ | USER_PROT_WRITE | USER_PROT_EXEC)
_Static_assert(PAGE_READ == USER_PROT_READ << 1 && PAGE_RIGHTS == USER_RIGHTS << 1, "they differ by a place");

/* With a reference; 0: the task has ended. */
static struct vm_map *map_of(struct task *t)
{
    mutex_lock(&t->lock);
    struct vm_map *map = t->process ? t->process->map : 0;
    if (map)
        vm_map_reference(map);
    mutex_unlock(&t->lock);
    return map;
}

static int task_vm_read(struct vm_map *map, uint32_t address, uint32_t size, struct message *reply)
{
    int error = 0;
    if (size > MESSAGE_PAGES * PAGE_SIZE)
        return -E2BIG;
    if (!message_make_room(reply, size))
        return -ENOMEM;
    for (uint32_t at = 0; at < size && !error; at += PAGE_SIZE)
        error = vm_read(map, address + at, MIN(size - at, PAGE_SIZE), page_pointer(reply->page[at / PAGE_SIZE]));
    return error;
}

static int task_vm_write(struct vm_map *map, uint32_t address, const struct message *m)
{
    int error = 0;
    for (uint32_t at = 0; at < m->data_size && !error; at += PAGE_SIZE)
        error = vm_write(map, address + at, page_pointer(m->page[at / PAGE_SIZE]), MIN(m->data_size - at, PAGE_SIZE));
    return error;
}

static int task_vm_region(struct vm_map *map, uint32_t address, struct message *reply)
{
    struct vm_region r;
    int error = vm_region(map, address, &r);
    if (error)
        return error;
    struct user_region said = {r.begin, r.end - r.begin, r.rights >> 1, r.maximum >> 1, r.inherit};
    memcpy(reply->body + sizeof error, &said, sizeof said);
    reply->size += sizeof said;
    return 0;
}

static int task_vm_allocate(struct vm_map *map, uint32_t address, uint32_t size, bool anywhere, struct message *reply)
{
    int error = vm_allocate(map, &address, size, anywhere ? VM_ANYWHERE : VM_FIXED);
    memcpy(reply->body + sizeof error, &address, sizeof address);
    reply->size += sizeof address;
    return error;
}

static int task_vm_call(struct vm_map *map, const struct message *m, const uint32_t *word, struct message *reply)
{
    switch (m->id) {
    case USER_VM_READ: return task_vm_read(map, word[0], word[1], reply);
    case USER_VM_WRITE: return task_vm_write(map, word[0], m);
    case USER_VM_REGION: return task_vm_region(map, word[0], reply);
    case USER_VM_ALLOCATE: return task_vm_allocate(map, word[0], word[1], word[2], reply);
    case USER_VM_DEALLOCATE: return vm_deallocate(map, word[0], word[1]);
    case USER_VM_PROTECT:
        return word[3] > USER_RIGHTS ? -EINVAL : vm_protect(map, word[0], word[1], word[2], word[3] << 1);
    case USER_VM_INHERIT:
        return word[2] > VM_INHERIT_NONE ? -EINVAL : vm_inherit(map, word[0], word[1], (enum vm_inherit)word[2]);
    default: return vm_copy(map, word[0], word[1], word[2]);
    }
}

bool task_memory_message(struct task *task, struct message *m)
{
    static const uint8_t words[] = {2, 1, 1, 3, 2, 4, 3, 3}; /* in the calls, in order of their numbers */
    uint32_t word[WORDS] = {0}, call = m->id - USER_VM_READ;
    if (call >= sizeof words)
        return false;
    memcpy(word, m->body, MIN(m->size, sizeof word));
    struct vm_map *map = map_of(task);
    struct message *reply = message_reply_to(m);
    if (reply) {
        reply->size = sizeof(int);
        int error = !map                                     ? -ESRCH
                    : m->size < words[call] * sizeof word[0] ? -EINVAL
                                                             : task_vm_call(map, m, word, reply);
        if (error) {
            reply->size = sizeof error;
            reply->data_size = 0;
        }
        memcpy(reply->body, &error, sizeof error);
    }
    if (map)
        vm_map_release(map);
    message_free(m);
    if (reply)
        message_post(reply);
    return true;
}
