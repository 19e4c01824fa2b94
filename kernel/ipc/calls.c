/* System calls on ports and messages (user/abi.h). */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dev/node.h"
#include "ipc/space.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "user/abi.h"
#include "vm/map.h"

#define HEADER offsetof(struct user_message, body)
#define SENT_PAGES 1 /* of data for another node; more are fetched by faults */

_Static_assert(USER_MESSAGE_RIGHTS <= MESSAGE_RIGHTS && USER_MESSAGE_BODY <= MESSAGE_BODY, "user/abi.h");

static int sys_port_allocate(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    struct ipc_space *s = space_of_caller(p);
    struct port *port = s ? port_create(0, 0) : 0;
    uint32_t name = port ? space_add_receive(s, port) : 0;
    if (port && !name)
        port_destroy(port);
    return name ? (int)name : -ENOMEM;
}
SYSCALL(SYS_PORT_ALLOCATE, sys_port_allocate);

static int sys_port_deallocate(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct ipc_space *s = space_of_caller(p);
    return s ? space_remove(s, a[0]) : -ENOMEM;
}
SYSCALL(SYS_PORT_DEALLOCATE, sys_port_deallocate);

static int sys_port_set_allocate(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    struct ipc_space *s = space_of_caller(p);
    struct port *set = s ? port_set_create() : 0;
    uint32_t name = set ? space_add_receive(s, set) : 0;
    if (set && !name)
        port_destroy(set);
    return name ? (int)name : -ENOMEM;
}
SYSCALL(SYS_PORT_SET_ALLOCATE, sys_port_set_allocate);

static int sys_port_member(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct ipc_space *s = space_of_caller(p);
    if (!s)
        return -ENOMEM;
    struct port *port = space_receiver(s, a[0]), *set = a[1] ? space_receiver(s, a[1]) : 0;
    int error = !port || port->is_set || (a[1] && !(set && set->is_set)) ? -EINVAL : 0;
    if (!error)
        port_join(port, set);
    if (port)
        port_release(port);
    if (set)
        port_release(set);
    return error;
}
SYSCALL(SYS_PORT_MEMBER, sys_port_member);

static int sys_port_notify(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct ipc_space *s = space_of_caller(p);
    if (!s)
        return -ENOMEM;
    uint32_t id = a[1];
    struct port *port = id == MESSAGE_NO_SENDERS ? space_receiver(s, a[0]) : space_port(s, a[0]);
    struct right to = {0};
    bool once = a[3] == USER_RIGHT_MAKE_SEND_ONCE || a[3] == USER_RIGHT_MOVE_SEND_ONCE;
    int error = !port || port->is_set || !once || (id != MESSAGE_NO_SENDERS && id != MESSAGE_DEAD_NAME)
                    ? -EINVAL
                    : space_right(s, a[2], a[3], &to);
    if (!error)
        error = port_watch(port, id, to.port, a[0], s);
    if (error && to.port)
        port_drop(to.port, to.type);
    if (port)
        port_release(port);
    return error;
}
SYSCALL(SYS_PORT_NOTIFY, sys_port_notify);

static int sys_node(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return (int)(node_number() | node_count() << 16);
}
SYSCALL(SYS_NODE, sys_node);

/* Whether so many bytes of data for a port of that name are copied on write: a task receives them. */
static bool is_by_reference(struct ipc_space *s, uint32_t name, uint32_t size)
{
    struct port *p = space_port(s, name);
    bool is = p && !port_is_of_kernel(p) && (port_is_here(p) || size > SENT_PAGES * PAGE_SIZE);
    if (p)
        port_release(p);
    return is;
}

/* Whole pages out of line, of one region, are copied on write; -EOPNOTSUPP: they are not such pages. */
static int pages_in(struct vm_map *map, struct message *m, uint32_t address, uint32_t size)
{
    if (!size || (address | size) & PAGE_MASK)
        return -EOPNOTSUPP;
    int error = vm_map_copy_in(map, address, size, &m->object, &m->object_page);
    if (!error)
        m->data_size = size;
    return error;
}

/* Copies out-of-line data into the message's pages. */
static int data_in(struct vm_map *map, struct message *m, uint32_t address, uint32_t size)
{
    if (size > MESSAGE_PAGES * PAGE_SIZE)
        return -E2BIG;
    if (!message_make_room(m, size))
        return -ENOMEM;
    int error = 0;
    for (uint32_t at = 0; at < size && !error; at += PAGE_SIZE)
        error = copyin(map, page_pointer(m->page[at / PAGE_SIZE]), address + at, MIN(size - at, PAGE_SIZE));
    return error;
}

/* Whether a right made this way allows sending; receive rights can only be moved. */
static bool sends(uint32_t how)
{
    return how != USER_RIGHT_MOVE_RECEIVE;
}

static int rights_in(struct ipc_space *s, const struct user_message *u, struct message *m)
{
    int error = space_right(s, u->to.name, u->to.how, &m->to);
    if (!error && u->reply.name)
        error = space_right(s, u->reply.name, u->reply.how, &m->reply);
    for (; !error && m->rights < u->rights; m->rights++)
        if (u->right[m->rights].name)
            error = space_right(s, u->right[m->rights].name, u->right[m->rights].how, &m->right[m->rights]);
    return error;
}

static int message_out(struct ipc_space *s, struct vm_map *map, uint32_t address, uint32_t ms)
{
    struct user_message u;
    if (copyin(map, &u, address, HEADER))
        return -EFAULT;
    if (u.size > USER_MESSAGE_BODY || u.rights > USER_MESSAGE_RIGHTS || u.id - IPC_OF_KERNELS < IPC_OF_KERNELS_COUNT ||
        !sends(u.to.how) || (u.reply.name && !sends(u.reply.how)))
        return -EINVAL;
    struct message *m = message_alloc(u.id);
    if (!m)
        return -ENOMEM;
    m->size = u.size;
    int error = copyin(map, m->body, address + HEADER, u.size) ? -EFAULT : -EOPNOTSUPP;
    if (error == -EOPNOTSUPP && is_by_reference(s, u.to.name, u.data_size))
        error = pages_in(map, m, u.data, u.data_size);
    if (error == -EOPNOTSUPP)
        error = data_in(map, m, u.data, u.data_size);
    if (!error)
        error = rights_in(s, &u, m);
    if (!error && m->object && port_is_of_kernel(m->to.port))
        error = -EINVAL; /* another thread has given the name to another port meanwhile */
    if (!error)
        error = message_send(m, ms);
    if (error)
        message_free(m);
    return error;
}

/* A name for a received right; the space takes it over, or it is dropped. */
static struct user_right right_out(struct ipc_space *s, struct right *r)
{
    struct user_right u = {0, r->type == RIGHT_SEND_ONCE ? USER_RIGHT_MOVE_SEND_ONCE
                              : r->type == RIGHT_RECEIVE ? USER_RIGHT_MOVE_RECEIVE
                                                         : USER_RIGHT_COPY_SEND};
    if (r->port && r->type == RIGHT_RECEIVE)
        u.name = space_add_receive(s, r->port);
    else if (r->port)
        u.name = space_add(s, r->port, r->type);
    if (u.name)
        r->port = 0;
    return u;
}

static int data_out(struct vm_map *map, struct message *m, uint32_t *address)
{
    *address = 0;
    int error = m->memory ? ipc_memory_arrived(m) : 0;
    if (error)
        return error;
    if (m->object) {
        error = vm_map_copy_out(map, address, m->data_size, m->object, m->object_page);
        if (!error)
            m->object = 0; /* the map owns it */
        return error;
    }
    if (m->data_size)
        error = vm_allocate(map, address, m->data_size, VM_ANYWHERE);
    if (error)
        return error;
    for (uint32_t at = 0; at < m->data_size && !error; at += PAGE_SIZE)
        error = copyout(map, *address + at, page_pointer(m->page[at / PAGE_SIZE]), MIN(m->data_size - at, PAGE_SIZE));
    if (error)
        vm_deallocate(map, *address, m->data_size);
    return error;
}

static int message_in(struct ipc_space *s, struct vm_map *map, uint32_t address, uint32_t ms, uint32_t name)
{
    struct port *p = space_receiver(s, name);
    struct message *m;
    if (!p)
        return -EINVAL;
    struct port *from = p;
    int error = p->is_set ? port_receive_any(p, ms, &m, &from) : p->set ? -EBUSY : port_receive(p, ms, &m);
    uint32_t to = error ? 0 : space_name_of_receiver(s, from);
    if (from != p && !error)
        port_release(from);
    port_release(p);
    if (error)
        return error;
    struct user_message u = {.to = {to, 0},
                             .id = m->id,
                             .size = MIN(m->size, USER_MESSAGE_BODY),
                             .rights = MIN(m->rights, USER_MESSAGE_RIGHTS)};
    uint32_t data;
    error = data_out(map, m, &data);
    u.data = data;
    u.data_size = m->data_size;
    if (!error) /* else they are dropped with the message */
        u.reply = right_out(s, &m->reply);
    for (unsigned i = 0; !error && i < u.rights; i++)
        u.right[i] = right_out(s, &m->right[i]);
    if (!error && (copyout(map, address, &u, HEADER) || copyout(map, address + HEADER, m->body, u.size)))
        error = -EFAULT;
    message_free(m);
    return error;
}

static int sys_message(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct ipc_space *s = space_of_caller(p);
    if (!s)
        return -ENOMEM;
    if (!a[1] || a[1] & ~(uint32_t)(USER_MESSAGE_SEND | USER_MESSAGE_RECEIVE))
        return -EINVAL;
    int error = a[1] & USER_MESSAGE_SEND ? message_out(s, map, a[0], a[2]) : 0;
    if (!error && a[1] & USER_MESSAGE_RECEIVE)
        error = message_in(s, map, a[0], a[2], a[3]);
    return error;
}
SYSCALL(SYS_MESSAGE, sys_message);
