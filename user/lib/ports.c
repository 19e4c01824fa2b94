/* Ports, messages and tasks on other nodes (ports.h). */
#include "user/lib/ports.h"

#include <string.h>
#include <sys/mman.h>

#include "user/lib/system.h"

#define CALL_MS 30000

int port_allocate(void)
{
    return system_call(SYS_PORT_ALLOCATE, 0, 0, 0);
}

int port_deallocate(uint32_t name)
{
    return system_call(SYS_PORT_DEALLOCATE, name, 0, 0);
}

int port_set_allocate(void)
{
    return system_call(SYS_PORT_SET_ALLOCATE, 0, 0, 0);
}

int port_member(uint32_t name, uint32_t set)
{
    return system_call(SYS_PORT_MEMBER, name, set, 0);
}

int port_notify(uint32_t name, uint32_t what, uint32_t notify)
{
    return system_call6(SYS_PORT_NOTIFY, name, what, notify, USER_RIGHT_MAKE_SEND_ONCE, 0, 0);
}

int task_self(void)
{
    return system_call(SYS_TASK_SELF, 0, 0, 0);
}

int bootstrap_port(void)
{
    return system_call(SYS_BOOTSTRAP, 0, 0, 0);
}

int set_bootstrap_port(uint32_t name)
{
    return system_call(SYS_SET_BOOTSTRAP, name, 0, 0);
}

uint32_t node_self(void)
{
    return (uint32_t)system_call(SYS_NODE, 0, 0, 0) & 0xffff;
}

uint32_t node_total(void)
{
    return (uint32_t)system_call(SYS_NODE, 0, 0, 0) >> 16;
}

int message_send(struct user_message *m, uint32_t ms)
{
    return system_call6(SYS_MESSAGE, (uint32_t)m, USER_MESSAGE_SEND, ms, 0, 0, 0);
}

int message_receive(struct user_message *m, uint32_t from, uint32_t ms)
{
    return system_call6(SYS_MESSAGE, (uint32_t)m, USER_MESSAGE_RECEIVE, ms, from, 0, 0);
}

int message_call(struct user_message *m, uint32_t to, uint32_t ms)
{
    int port = port_allocate();
    if (port < 0)
        return port;
    m->to = (struct user_right){to, USER_RIGHT_COPY_SEND};
    m->reply = (struct user_right){(uint32_t)port, USER_RIGHT_MAKE_SEND_ONCE};
    int error =
        system_call6(SYS_MESSAGE, (uint32_t)m, USER_MESSAGE_SEND | USER_MESSAGE_RECEIVE, ms, (uint32_t)port, 0, 0);
    port_deallocate((uint32_t)port);
    if (!error && m->size >= sizeof error)
        memcpy(&error, m->body, sizeof error);
    return error;
}

int task_create(uint32_t task, uint32_t node, uint32_t steps, struct created *what)
{
    struct user_message m = {.id = USER_TASK_CREATE, .size = 2 * sizeof node};
    memcpy(m.body, &node, sizeof node);
    memcpy(m.body + sizeof node, &steps, sizeof steps);
    int error = message_call(&m, task, CALL_MS);
    if (error)
        return error;
    if (what)
        memcpy(what, m.body + sizeof error, sizeof *what);
    return (int)m.right[0].name;
}

int task_run(uint32_t task, void (*fn)(uint32_t), uint32_t arg, void *stack)
{
    struct user_message m = {.id = USER_THREAD_CREATE, .size = 3 * sizeof arg};
    uint32_t words[3] = {(uint32_t)fn, (uint32_t)stack & ~15u, arg};
    memcpy(m.body, words, sizeof words);
    return message_call(&m, task, CALL_MS);
}

int task_spread(uint32_t task, uint32_t first, uint32_t count, uint32_t steps, uint32_t fanout, void (*fn)(uint32_t),
                void *stack, struct created *what)
{
    uint32_t words[6] = {first, count, steps, fanout, (uint32_t)fn, (uint32_t)stack & ~15u};
    struct user_message m = {.id = USER_TASK_SPREAD, .size = sizeof words};
    memcpy(m.body, words, sizeof words);
    int error = message_call(&m, task, CALL_MS);
    if (!error && what)
        memcpy(what, m.body + sizeof error, sizeof *what);
    return error;
}

static int memory_call(struct user_message *m, uint32_t task, uint32_t id, uint32_t a, uint32_t b, uint32_t c,
                       uint32_t d)
{
    uint32_t words[4] = {a, b, c, d};
    m->id = id;
    m->size = sizeof words;
    memcpy(m->body, words, sizeof words);
    return message_call(m, task, CALL_MS);
}

int task_vm_read(uint32_t task, uint32_t address, uint32_t size, void *to)
{
    struct user_message m = {0};
    int error = memory_call(&m, task, USER_VM_READ, address, size, 0, 0);
    if (error || !m.data_size)
        return error;
    memcpy(to, (const void *)m.data, m.data_size);
    munmap((void *)m.data, m.data_size);
    return 0;
}

int task_vm_write(uint32_t task, uint32_t address, const void *from, uint32_t size)
{
    struct user_message m = {.data = (uint32_t)from, .data_size = size};
    return memory_call(&m, task, USER_VM_WRITE, address, 0, 0, 0);
}

int task_vm_region(uint32_t task, uint32_t address, struct user_region *region)
{
    struct user_message m = {0};
    int error = memory_call(&m, task, USER_VM_REGION, address, 0, 0, 0);
    if (!error)
        memcpy(region, m.body + sizeof error, sizeof *region);
    return error;
}

int task_vm_allocate(uint32_t task, uint32_t *address, uint32_t size, int anywhere)
{
    struct user_message m = {0};
    int error = memory_call(&m, task, USER_VM_ALLOCATE, *address, size, (uint32_t)anywhere, 0);
    if (!error)
        memcpy(address, m.body + sizeof error, sizeof *address);
    return error;
}

int task_vm_deallocate(uint32_t task, uint32_t address, uint32_t size)
{
    struct user_message m = {0};
    return memory_call(&m, task, USER_VM_DEALLOCATE, address, size, 0, 0);
}

int task_vm_protect(uint32_t task, uint32_t address, uint32_t size, int maximum, uint32_t rights)
{
    struct user_message m = {0};
    return memory_call(&m, task, USER_VM_PROTECT, address, size, (uint32_t)maximum, rights);
}

int task_vm_inherit(uint32_t task, uint32_t address, uint32_t size, uint32_t inherit)
{
    struct user_message m = {0};
    return memory_call(&m, task, USER_VM_INHERIT, address, size, inherit, 0);
}

int task_vm_copy(uint32_t task, uint32_t from, uint32_t size, uint32_t to)
{
    struct user_message m = {0};
    return memory_call(&m, task, USER_VM_COPY, from, size, to, 0);
}
