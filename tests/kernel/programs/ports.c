/*
 * Ports of one task (kernel/ipc/port.h, space.h): rights of each kind, made and moved; queues; data out of line; wrong
 * arguments give errors. Exits with 0, or prints what is wrong. With run=remote.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define CHECK(what, is, should)                                                             \
    do {                                                                                    \
        int is_ = (int)(is);                                                                \
        if (is_ != (int)(should)) {                                                         \
            printf("ports: line %d: %s: %d, not %d\n", __LINE__, what, is_, (int)(should)); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#define LIMIT 5 /* messages that a queue holds */
#define BYTES 9000

static struct user_message message_to(int name, unsigned how, unsigned id)
{
    struct user_message m = {.id = id, .size = 4, .to = {(unsigned)name, how}};
    memcpy(m.body, &id, 4);
    return m;
}

static int send(int name, unsigned how, unsigned id, uint32_t ms)
{
    struct user_message m = message_to(name, how, id);
    return message_send(&m, ms);
}

static struct user_message receive(int name)
{
    struct user_message m;
    CHECK("a message", message_receive(&m, (uint32_t)name, 100), 0);
    return m;
}

/* Returns a name for a right to `port`, made in that way: it goes through `port` itself. */
static unsigned right_to(int port, unsigned how)
{
    struct user_message m = message_to(port, USER_RIGHT_MAKE_SEND, 9);
    m.rights = 1;
    m.right[0] = (struct user_right){(unsigned)port, how};
    CHECK("a right is sent", message_send(&m, 0), 0);
    m = receive(port);
    CHECK("rights", m.rights, 1);
    return m.right[0].name;
}

static void queues(int port)
{
    struct user_message m;
    CHECK("nothing comes", message_receive(&m, (uint32_t)port, 3), -ETIMEDOUT);
    CHECK("nothing is there", message_receive(&m, (uint32_t)port, 0), -ETIMEDOUT);
    for (unsigned i = 0; i < LIMIT; i++)
        CHECK("there is room", send(port, USER_RIGHT_MAKE_SEND, i, 0), 0);
    CHECK("there is none", send(port, USER_RIGHT_MAKE_SEND, LIMIT, 0), -ETIMEDOUT);
    CHECK("in a while, either", send(port, USER_RIGHT_MAKE_SEND, LIMIT, 3), -ETIMEDOUT);
    CHECK("an answer has room", send(port, USER_RIGHT_MAKE_SEND_ONCE, LIMIT, 0), 0);
    for (unsigned i = 0; i <= LIMIT; i++)
        CHECK("in order", receive(port).id, i);
}

static void rights(int port)
{
    unsigned send_right = right_to(port, USER_RIGHT_MAKE_SEND);
    CHECK("send and receive rights have one name", send_right, port);
    CHECK("a copy", send(port, USER_RIGHT_COPY_SEND, 1, 0), 0);
    CHECK("it moves", send(port, USER_RIGHT_MOVE_SEND, 2, 0), 0);
    CHECK("it is gone", send(port, USER_RIGHT_COPY_SEND, 3, 0), -EINVAL);
    receive(port), receive(port);
    unsigned once = right_to(port, USER_RIGHT_MAKE_SEND_ONCE);
    CHECK("a name of its own", once != (unsigned)port, 1);
    CHECK("it sends", send((int)once, USER_RIGHT_MOVE_SEND_ONCE, 4, 0), 0);
    CHECK("once", send((int)once, USER_RIGHT_MOVE_SEND_ONCE, 5, 0), -EINVAL);
    CHECK("that came", receive(port).id, 4);
    once = right_to(port, USER_RIGHT_MAKE_SEND_ONCE);
    CHECK("it goes unused", port_deallocate(once), 0);
    CHECK("which is told", receive(port).id, USER_MESSAGE_SEND_ONCE);
    CHECK("not a send-once right", send(port, USER_RIGHT_MOVE_SEND_ONCE, 6, 0), -EINVAL);
    CHECK("no such way", send(port, 77, 6, 0), -EINVAL);
    CHECK("no such name", send(12345, USER_RIGHT_COPY_SEND, 6, 0), -EINVAL);
    CHECK("nor to be given back", port_deallocate(12345), -EINVAL);
}

/* Its receiver is destroyed with messages in the queue, and with rights in these. */
static void ends(int port)
{
    int other = port_allocate();
    struct user_message m = message_to(other, USER_RIGHT_MAKE_SEND, 1);
    m.rights = 1;
    m.right[0] = (struct user_right){(unsigned)port, USER_RIGHT_MAKE_SEND_ONCE};
    CHECK("sent", message_send(&m, 0), 0);
    m = message_to(port, USER_RIGHT_MAKE_SEND, 2);
    m.rights = 1;
    m.right[0] = (struct user_right){(unsigned)other, USER_RIGHT_MAKE_SEND_ONCE};
    CHECK("sent", message_send(&m, 0), 0);
    CHECK("gone", port_deallocate((uint32_t)other), 0);
    m = receive(port);
    CHECK("the first one", m.id, 2);
    CHECK("nobody receives", send((int)m.right[0].name, USER_RIGHT_MOVE_SEND_ONCE, 3, 0), -EPIPE);
    CHECK("the right in its queue went unused", receive(port).id, USER_MESSAGE_SEND_ONCE);
}

static void data(int port)
{
    uint8_t *bytes = malloc(BYTES);
    struct user_message m = message_to(port, USER_RIGHT_MAKE_SEND, 1);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7);
    m.data = (unsigned)bytes;
    m.data_size = BYTES;
    CHECK("sent", message_send(&m, 0), 0);
    memset(bytes, 0, BYTES);
    m = receive(port);
    CHECK("bytes", m.data_size, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        CHECK("as they were", ((uint8_t *)m.data)[i], (uint8_t)(i * 7));
    m = message_to(port, USER_RIGHT_MAKE_SEND, 1);
    m.data = 16;
    m.data_size = 100;
    CHECK("no such memory", message_send(&m, 0), -EFAULT);
    m.data_size = 1u << 20;
    CHECK("too much", message_send(&m, 0), -E2BIG);
    CHECK("no message", message_send((struct user_message *)16, 0), -EFAULT);
    m = (struct user_message){.size = USER_MESSAGE_BODY + 1, .to = {(unsigned)port, USER_RIGHT_MAKE_SEND}};
    CHECK("too long", message_send(&m, 0), -EINVAL);
    m = (struct user_message){.rights = USER_MESSAGE_RIGHTS + 1, .to = {(unsigned)port, USER_RIGHT_MAKE_SEND}};
    CHECK("too many rights", message_send(&m, 0), -EINVAL);
    free(bytes);
}

/* Whole pages are copied on write, as many as there are; what either side writes, the other does not see. */
static void pages_of_data(int port)
{
    enum { MANY = 40 };
    uint8_t *bytes = mmap(0, MANY * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    for (unsigned p = 0; p < MANY; p++)
        bytes[4096 * p] = (uint8_t)(p + 1);
    struct user_message m = message_to(port, USER_RIGHT_MAKE_SEND, 1);
    m.data = (unsigned)bytes;
    m.data_size = MANY * 4096;
    for (unsigned i = 0; i < 2; i++)
        CHECK("sent", message_send(&m, 0), 0);
    bytes[4096] = 99;
    m = receive(port);
    struct user_message other = receive(port);
    CHECK("bytes", m.data_size, MANY * 4096);
    uint8_t *first = (uint8_t *)m.data, *second = (uint8_t *)other.data;
    for (unsigned p = 0; p < MANY; p++)
        CHECK("as they were", first[4096 * p], p + 1);
    first[0] = 77;
    CHECK("the other one", second[0], 1);
    CHECK("the sender's", bytes[0], 1);
    CHECK("is its own", bytes[4096], 99);
    CHECK("given back", munmap(first, MANY * 4096) | munmap(second, MANY * 4096) | munmap(bytes, MANY * 4096), 0);
    m = message_to(port, USER_RIGHT_MAKE_SEND, 1);
    m.data = (unsigned)bytes;
    m.data_size = 4096;
    CHECK("no such pages", message_send(&m, 0), -EFAULT);
}

/* Messages to any member go to the set, from each in turn, and to no other receiver. */
static void port_sets(void)
{
    int set = port_set_allocate(), member[3];
    struct user_message m;
    CHECK("a set", set > 0, 1);
    for (unsigned i = 0; i < 3; i++) {
        member[i] = port_allocate();
        send(member[i], USER_RIGHT_MAKE_SEND, i, 0);
        CHECK("a member", port_member((unsigned)member[i], (unsigned)set), 0);
    }
    send(member[0], USER_RIGHT_MAKE_SEND, 3, 0);
    CHECK("by its set alone", message_receive(&m, (unsigned)member[0], 0), -EBUSY);
    for (unsigned i = 0; i < 4; i++) {
        m = receive(set);
        CHECK("in turn", m.id, i);
        CHECK("to which", m.to.name, member[i % 3]);
    }
    CHECK("nothing else", message_receive(&m, (unsigned)set, 3), -ETIMEDOUT);
    CHECK("nobody sends to a set", send(set, USER_RIGHT_MAKE_SEND, 1, 0), -EINVAL);
    CHECK("it leaves", port_member((unsigned)member[1], 0), 0);
    send(member[1], USER_RIGHT_MAKE_SEND, 5, 0);
    CHECK("it is not the set's", message_receive(&m, (unsigned)set, 0), -ETIMEDOUT);
    CHECK("but its own", receive(member[1]).id, 5);
    CHECK("no set", port_member((unsigned)member[1], (unsigned)member[2]), -EINVAL);
    CHECK("nor a set in a set", port_member((unsigned)set, (unsigned)set), -EINVAL);
    CHECK("a member goes", port_deallocate((unsigned)member[0]), 0);
    send(member[2], USER_RIGHT_MAKE_SEND, 6, 0);
    CHECK("of the others", receive(set).id, 6);
    CHECK("the set goes", port_deallocate((unsigned)set), 0);
    send(member[2], USER_RIGHT_MAKE_SEND, 7, 0);
    CHECK("and leaves its members", receive(member[2]).id, 7);
    CHECK("given back", port_deallocate((unsigned)member[1]) | port_deallocate((unsigned)member[2]), 0);
}

static unsigned name_in(const struct user_message *m)
{
    unsigned name;
    memcpy(&name, m->body, sizeof name);
    return name;
}

static void notifications(int port)
{
    int other = port_allocate();
    struct user_message m;
    unsigned right = right_to(other, USER_RIGHT_MAKE_SEND_ONCE);
    CHECK("when it is dead", port_notify(right, USER_NOTIFY_DEAD_NAME, (unsigned)port), 0);
    CHECK("not yet", message_receive(&m, (unsigned)port, 0), -ETIMEDOUT);
    CHECK("gone", port_deallocate((unsigned)other), 0);
    m = receive(port);
    CHECK("dead", m.id, USER_NOTIFY_DEAD_NAME);
    CHECK("which", name_in(&m), right);
    CHECK("at once, if it is", port_notify(right, USER_NOTIFY_DEAD_NAME, (unsigned)port), 0);
    CHECK("dead", receive(port).id, USER_NOTIFY_DEAD_NAME);
    CHECK("given back", port_deallocate(right), 0);
    other = port_allocate();
    right_to(other, USER_RIGHT_MAKE_SEND);
    CHECK("no senders", port_notify((unsigned)other, USER_NOTIFY_NO_SENDERS, (unsigned)port), 0);
    CHECK("there is one", message_receive(&m, (unsigned)port, 0), -ETIMEDOUT);
    send(other, USER_RIGHT_MOVE_SEND, 1, 0);
    receive(other);
    m = receive(port);
    CHECK("none", m.id, USER_NOTIFY_NO_SENDERS);
    CHECK("which", name_in(&m), other);
    right = right_to(other, USER_RIGHT_MAKE_SEND_ONCE);
    CHECK("asked for", port_notify(right, USER_NOTIFY_DEAD_NAME, (unsigned)port), 0);
    CHECK("and the name goes", port_deallocate(right), 0);
    CHECK("so the right goes unused", receive(port).id, USER_MESSAGE_SEND_ONCE);
    CHECK("the other right, too", receive(other).id, USER_MESSAGE_SEND_ONCE);
    CHECK("of no name", port_notify(12345, USER_NOTIFY_DEAD_NAME, (unsigned)port), -EINVAL);
    CHECK("of nothing else", port_notify((unsigned)other, 9, (unsigned)port), -EINVAL);
    CHECK("given back", port_deallocate((unsigned)other), 0);
}

/* The queue moves with it; senders do not notice. */
static void receive_rights(int port)
{
    int moved = port_allocate();
    unsigned right = right_to(moved, USER_RIGHT_MAKE_SEND);
    CHECK("one name", right, moved);
    send(moved, USER_RIGHT_COPY_SEND, 1, 0);
    unsigned name = right_to(port, USER_RIGHT_MAKE_SEND_ONCE);
    struct user_message m = message_to((int)name, USER_RIGHT_MOVE_SEND_ONCE, 2);
    m.rights = 1;
    m.right[0] = (struct user_right){(unsigned)moved, USER_RIGHT_MOVE_RECEIVE};
    CHECK("sent", message_send(&m, 0), 0);
    CHECK("it is not here", message_receive(&m, (unsigned)moved, 0), -EINVAL);
    CHECK("it can be sent to", send(moved, USER_RIGHT_COPY_SEND, 3, 0), 0);
    m = receive(port);
    CHECK("it comes", m.right[0].how, USER_RIGHT_MOVE_RECEIVE);
    CHECK("by the name of the send right", m.right[0].name, moved);
    CHECK("with its queue", receive(moved).id, 1);
    CHECK("in order", receive(moved).id, 3);
    m = message_to(port, USER_RIGHT_MAKE_SEND, 4);
    m.rights = 1;
    m.right[0] = (struct user_right){(unsigned)moved, USER_RIGHT_MOVE_RECEIVE};
    CHECK("sent", message_send(&m, 0), 0);
    int queue = port_allocate();
    CHECK("another one", port_notify((unsigned)moved, USER_NOTIFY_DEAD_NAME, (unsigned)queue), 0);
    CHECK("in a queue that goes", port_deallocate((unsigned)port), 0);
    CHECK("it goes, too", receive(queue).id, USER_NOTIFY_DEAD_NAME);
    CHECK("given back", port_deallocate((unsigned)moved) | port_deallocate((unsigned)queue), 0);
}

/* A receive right that would lie in its own queue, or in a ring of queues, could never be received: it is refused. */
static void rings(int port)
{
    int ring[3];
    for (unsigned length = 1; length <= 3; length++) {
        struct user_message m;
        for (unsigned i = 0; i < length; i++) {
            ring[i] = port_allocate();
            CHECK("a right that stays", right_to(ring[i], USER_RIGHT_MAKE_SEND), ring[i]);
        }
        for (unsigned i = 0; i < length; i++) {
            m = message_to(ring[(i + 1) % length], USER_RIGHT_COPY_SEND, 1);
            m.rights = 1;
            m.right[0] = (struct user_right){(unsigned)ring[i], USER_RIGHT_MOVE_RECEIVE};
            CHECK("but for the last one", message_send(&m, 0), i + 1 < length ? 0 : -ELOOP);
        }
        for (unsigned i = 0; i < length; i++) {
            CHECK("with which all end", send(ring[i], USER_RIGHT_COPY_SEND, 1, 0), -EPIPE);
            CHECK("given back", port_deallocate((unsigned)ring[i]), 0);
        }
    }
    CHECK("not to send by", send(port, USER_RIGHT_MOVE_RECEIVE, 1, 0), -EINVAL);
    struct user_message m = message_to(port, USER_RIGHT_MAKE_SEND, 1);
    m.reply = (struct user_right){(unsigned)port, USER_RIGHT_MOVE_RECEIVE};
    CHECK("nor to answer", message_send(&m, 0), -EINVAL);
    CHECK("it is here still", send(port, USER_RIGHT_MAKE_SEND, 2, 0), 0);
    CHECK("and receives", receive(port).id, 2);
}

static int call(int to, unsigned id)
{
    struct user_message m = {.id = id};
    return message_call(&m, (uint32_t)to, USER_FOREVER);
}

/* A child on this node: it has a port before it has a thread. */
static void tasks(void)
{
    CHECK("no such call of a task", call(task_self(), 0x3ff), -ENOSYS);
    CHECK("USER_TASK_CREATE of nowhere", call(task_self(), USER_TASK_CREATE), -EINVAL);
    CHECK("USER_TASK_SPREAD of nowhere", call(task_self(), USER_TASK_SPREAD), -EINVAL);
    for (unsigned node = node_total(); node < 1u << 17; node = 2 * node + 1)
        CHECK("no such node", task_create((uint32_t)task_self(), node, 0, 0), -EINVAL);
    CHECK("nor by its number's end", task_create((uint32_t)task_self(), node_self() + (1u << 16), 0, 0), -EINVAL);
    for (unsigned id = 0x380; id < 0x390; id++)
        CHECK("what kernels say to each other", call(task_self(), id), -EINVAL);
    int child = task_create((uint32_t)task_self(), node_self(), 0, 0);
    CHECK("a child", child > 0, 1);
    CHECK("USER_THREAD_CREATE without a place", call(child, USER_THREAD_CREATE), -EINVAL);
    CHECK("it ends", call(child, USER_TASK_TERMINATE), 0);
    CHECK("once", call(child, USER_TASK_TERMINATE), -EPIPE);
    CHECK("given back", port_deallocate((uint32_t)child), 0);
    child = task_create((uint32_t)task_self(), node_self(), 0, 0);
    CHECK("one that nobody starts", port_deallocate((uint32_t)child), 0);
}

#define PAGE 4096u
#define PAGES 12u
#define STEPS 150

static uint32_t chance_state = 1;

static uint32_t below(uint32_t n)
{
    chance_state = chance_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)chance_state * n >> 32);
}

/* Bytes of a task's memory, written, copied and freed by its port, beside a model of them. */
static void memory_by_steps(uint32_t task, uint32_t at)
{
    static uint8_t model[PAGES * PAGE], bytes[3 * PAGE];
    static int there[PAGES];
    for (unsigned i = 0; i < PAGES; i++)
        there[i] = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t from = below(PAGES * PAGE), size = below(2 * PAGE), page = below(PAGES), to = below(PAGES), all = 1;
        if (size > PAGES * PAGE - from)
            size = PAGES * PAGE - from;
        for (uint32_t i = from / PAGE; size && i <= (from + size - 1) / PAGE; i++)
            all &= (uint32_t)there[i];
        switch (below(6)) {
        case 0:
        case 1:
            memset(bytes, (int)step, size);
            CHECK("USER_VM_WRITE", task_vm_write(task, at + from, bytes, size), all ? 0 : -EFAULT);
            if (all)
                memset(model + from, (int)step, size);
            else /* bytes before the hole are written */
                for (uint32_t i = from; i < from + size && there[i / PAGE]; i++)
                    model[i] = (uint8_t)step;
            break;
        case 2:
        case 3:
            CHECK("USER_VM_READ", task_vm_read(task, at + from, size, bytes), all ? 0 : -EFAULT);
            if (all)
                CHECK("its bytes", memcmp(bytes, model + from, size), 0);
            break;
        case 4:
            if (page != to && there[page] && there[to]) {
                CHECK("USER_VM_COPY", task_vm_copy(task, at + page * PAGE, PAGE, at + to * PAGE), 0);
                memcpy(model + to * PAGE, model + page * PAGE, PAGE);
            }
            break;
        default: {
            uint32_t where = at + page * PAGE;
            if (there[page])
                CHECK("USER_VM_DEALLOCATE", task_vm_deallocate(task, where, PAGE), 0);
            else
                CHECK("USER_VM_ALLOCATE", task_vm_allocate(task, &where, PAGE, 0), 0);
            there[page] = !there[page];
            memset(model + page * PAGE, 0, PAGE);
        }
        }
    }
}

static void memory(void)
{
    struct user_region r;
    int child = task_create((uint32_t)task_self(), node_self(), 0, 0);
    uint32_t task = (uint32_t)child, at = 0, word = 77;
    CHECK("a child", child > 0, 1);
    CHECK("USER_VM_ALLOCATE", task_vm_allocate(task, &at, PAGES * PAGE, 1), 0);
    CHECK("USER_VM_REGION", task_vm_region(task, at, &r), 0);
    CHECK("where", r.begin, at);
    CHECK("how much", r.bytes, PAGES * PAGE);
    CHECK("a copy is inherited", r.inherit, 1);
    memory_by_steps(task, at);
    task_vm_deallocate(task, at, PAGES * PAGE);
    CHECK("vm_allocate at", task_vm_allocate(task, &at, PAGES * PAGE, 0), 0);
    CHECK("USER_VM_PROTECT", task_vm_protect(task, at + PAGE, PAGE, 0, USER_PROT_READ), 0);
    CHECK("not to be written", task_vm_write(task, at + PAGE, &word, sizeof word), -EFAULT);
    CHECK("USER_VM_REGION", task_vm_region(task, at + PAGE, &r), 0);
    CHECK("rights", r.rights, USER_PROT_READ);
    CHECK("one page", r.bytes, PAGE);
    CHECK("no such rights", task_vm_protect(task, at, PAGE, 0, 8), -EINVAL);
    CHECK("for good", task_vm_protect(task, at + PAGE, PAGE, 1, USER_PROT_READ), 0);
    CHECK("no more", task_vm_protect(task, at + PAGE, PAGE, 0, USER_PROT_READ | USER_PROT_WRITE), -EACCES);
    CHECK("USER_VM_INHERIT", task_vm_inherit(task, at, PAGE, 2), 0);
    CHECK("nothing else", task_vm_inherit(task, at, PAGE, 3), -EINVAL);
    CHECK("USER_VM_REGION", task_vm_region(task, at, &r), 0);
    CHECK("inherit", r.inherit, 2);
    CHECK("no region", task_vm_region(task, 0xfffff000, &r), -EFAULT);
    CHECK("too much", task_vm_read(task, at, 1u << 20, &word), -E2BIG);
    CHECK("its own, too", task_vm_write((uint32_t)task_self(), (uint32_t)&word, &(uint32_t){5}, sizeof word), 0);
    CHECK("written", word, 5);
    for (unsigned id = USER_VM_READ; id <= USER_VM_COPY; id++)
        CHECK("without words", call(child, id), -EINVAL);
    CHECK("none of them", call(child, USER_VM_COPY + 1), -ENOSYS);
    CHECK("it ends", call(child, USER_TASK_TERMINATE), 0);
    CHECK("it has no memory", task_vm_read(task, at, 4, &word), -EPIPE);
    CHECK("given back", port_deallocate(task), 0);
}

int main(void)
{
    int port = port_allocate();
    CHECK("a port", port > 0, 1);
    rings(port);
    queues(port);
    rights(port);
    ends(port);
    data(port);
    pages_of_data(port);
    port_sets();
    notifications(port);
    receive_rights(port_allocate());
    CHECK("no bootstrap port", bootstrap_port(), 0);
    CHECK("SYS_SET_BOOTSTRAP", set_bootstrap_port((uint32_t)port), 0);
    CHECK("it is that", bootstrap_port(), port);
    CHECK("neither USER_MESSAGE_SEND nor USER_MESSAGE_RECEIVE", system_call6(SYS_MESSAGE, 0, 0, 0, 0, 0, 0), -EINVAL);
    tasks();
    memory();
    return 0;
}
