/* Tasks and their ports (task.h). */
#include "task/task.h"

#include <errno.h>
#include <string.h>

#include "arch/csr.h"
#include "dev/node.h"
#include "ipc/space.h"
#include "ipc/transport.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "user/abi.h"

#define PATIENCE_MS 20000 /* for an answer that takes the other node an exchange of messages */

void (*task_host_shutdown)(struct message *m);

DEFINE_ZONE(tasks, "tasks", sizeof(struct task), 8, SPL_SOFTPREEMPT, 0);
static MUTEX_CLASS(task_class, "task");
DEFINE_MUTEX(tasks_lock, "tasks"); /* the first thread that needs a process's task or space makes it */

static void task_message(void *object, struct message *m);
static void task_no_senders(void *object);

static void task_freed(void *object)
{
    struct task *t = object;
    lock_destroy(&t->lock);
    zone_free(&tasks, t);
}

static const struct port_ops task_ops = {
    .name = "task", .message = task_message, .no_senders = task_no_senders, .freed = task_freed};

uint32_t tasks_in_use(void)
{
    return zone_counts(&tasks).in_use;
}

static struct task *task_new(struct process *p)
{
    struct task *t = zone_alloc(&tasks);
    if (!t)
        return 0;
    *t = (struct task){.process = p};
    lock_init(&t->lock, &task_class, "task");
    t->port = port_create(&task_ops, t);
    if (!t->port) {
        task_freed(t);
        return 0;
    }
    return t;
}

struct task *task_of(struct process *p)
{
    mutex_lock(&tasks_lock);
    if (!p->task && (p->task = task_new(p)))
        p->task->begun = true;
    mutex_unlock(&tasks_lock);
    return p->task;
}

static struct ipc_space *space_of(struct process *p)
{
    mutex_lock(&tasks_lock);
    if (!p->ports)
        p->ports = space_new();
    mutex_unlock(&tasks_lock);
    return p->ports;
}

/* The process ends: releases its names and its port. */
static void ends(struct process *p)
{
    struct task *t = p->task;
    if (p->ports)
        space_free(p->ports);
    p->ports = 0;
    p->task = 0;
    if (!t)
        return;
    mutex_lock(&t->lock);
    struct port *bootstrap = t->bootstrap;
    t->process = 0;
    t->bootstrap = 0;
    mutex_unlock(&t->lock);
    if (bootstrap)
        port_drop(bootstrap, RIGHT_SEND);
    port_destroy(t->port);
}

/* No right is left by which it could be started. */
static void task_no_senders(void *object)
{
    struct task *t = object;
    mutex_lock(&t->lock);
    struct process *p = t->begun ? 0 : t->process;
    mutex_unlock(&t->lock);
    if (p)
        process_shell_drop(p);
}

struct port *task_allocate(const char *name, const struct user_break *brk, struct port *bootstrap)
{
    struct space *space = space_create();
    struct process *p = space ? process_shell(name, space) : 0;
    struct task *t = p ? task_new(p) : 0;
    if (!t) {
        if (p)
            process_shell_drop(p);
        else if (space)
            space_release(space);
        if (bootstrap)
            port_drop(bootstrap, RIGHT_SEND);
        return 0;
    }
    space->brk = *brk;
    p->task = t;
    t->bootstrap = bootstrap;
    port_make(t->port, RIGHT_SEND);
    return t->port;
}

/* ---- Creating a task on another node. */

/* The body of HOST_TASK_ALLOCATE. */
struct allocate {
    char name[USER_NAME_SIZE];
    struct user_break brk;
};

static struct message *message_for(struct port *to, uint32_t id)
{
    struct message *m = message_alloc(id);
    if (m) {
        port_make(to, RIGHT_SEND);
        m->to = (struct right){to, RIGHT_SEND};
    }
    return m;
}

/* What a child of the task inherits. */
static int snapshot_of(struct task *parent, struct vm_map **map, struct allocate *a, struct port **bootstrap)
{
    mutex_lock(&parent->lock);
    struct process *p = parent->process;
    *map = 0;
    if (p) {
        mutex_lock(&p->space->memory);
        *map = vm_map_fork(p->map);
        a->brk = p->space->brk;
        mutex_unlock(&p->space->memory);
        memcpy(a->name, p->name, sizeof a->name);
        *bootstrap = parent->bootstrap;
        if (*bootstrap)
            port_make(*bootstrap, RIGHT_SEND);
    }
    mutex_unlock(&parent->lock);
    return *map ? 0 : p ? -ENOMEM : -ESRCH;
}

static int allocate_there(unsigned node, const struct allocate *a, struct port *bootstrap, struct port **child)
{
    struct port *host = port_known(node, UID_HOST);
    struct message *reply, *m = host ? message_for(host, HOST_TASK_ALLOCATE) : 0;
    if (host)
        port_drop(host, RIGHT_SEND);
    if (!m) {
        if (bootstrap)
            port_drop(bootstrap, RIGHT_SEND);
        return -ENOMEM;
    }
    memcpy(m->body, a, sizeof *a);
    m->size = sizeof *a;
    if (bootstrap)
        message_add_right(m, bootstrap, RIGHT_SEND);
    int error = message_call(m, PATIENCE_MS, &reply);
    if (error)
        return error;
    *child = message_take_right(reply, 0);
    message_free(reply);
    return *child ? 0 : -ENOMEM;
}

static int map_there(struct port *child, struct vm_map *snapshot, unsigned steps, struct task_report *report)
{
    struct message *reply, *m = message_for(child, TASK_MAP_VECTOR);
    if (!m)
        return -ENOMEM;
    int error = task_make_vector(snapshot, steps, m, report);
    if (error) {
        message_free(m);
        return error;
    }
    error = message_call(m, PATIENCE_MS, &reply);
    if (!error) {
        memcpy(&error, reply->body, sizeof error);
        message_free(reply);
    }
    return error;
}

int task_create(struct task *parent, unsigned node, unsigned steps, struct port **child, struct task_report *report)
{
    struct vm_map *snapshot;
    struct port *bootstrap;
    struct allocate a;
    uint32_t begin = cycles32();
    int error = snapshot_of(parent, &snapshot, &a, &bootstrap);
    if (error)
        return error;
    error = allocate_there(node, &a, bootstrap, child);
    report->allocate = cycles32() - begin;
    if (!error) {
        error = map_there(*child, snapshot, steps, report);
        if (error)
            port_drop(*child, RIGHT_SEND);
    }
    vm_map_release(snapshot);
    report->cycles = cycles32() - begin;
    report->vector = report->cycles - report->allocate;
    return error;
}

int task_create_of(struct vm_map *memory, unsigned node, unsigned steps, struct port **child,
                   struct task_report *report)
{
    const struct allocate a = {0};
    struct vm_map *snapshot = vm_map_fork(memory);
    if (!snapshot)
        return -ENOMEM;
    int error = allocate_there(node, &a, 0, child);
    if (!error && (error = map_there(*child, snapshot, steps, report)))
        port_drop(*child, RIGHT_SEND);
    vm_map_release(snapshot);
    return error;
}

/* ---- Creating many tasks. */

/* The body of HOST_TASK_SPREAD; `spread` describes the further children that this node is to create. */
struct spread_body {
    struct allocate allocate;
    struct spread spread;
};

/* Creates a child on `node`, which creates those of `below`: sends the message; the answer goes to `answers`. */
static int spread_to(unsigned node, const struct spread_body *below, struct port *bootstrap, struct vm_map *snapshot,
                     struct port *answers, struct task_report *report)
{
    struct port *host = port_known(node, UID_HOST);
    struct message *m = host ? message_for(host, HOST_TASK_SPREAD) : 0;
    if (host)
        port_drop(host, RIGHT_SEND);
    if (!m)
        return -ENOMEM;
    memcpy(m->body, below, sizeof *below);
    m->size = sizeof *below;
    if (bootstrap) {
        port_make(bootstrap, RIGHT_SEND);
        message_add_right(m, bootstrap, RIGHT_SEND);
    }
    port_make(answers, RIGHT_SEND_ONCE);
    m->reply = (struct right){answers, RIGHT_SEND_ONCE};
    int error = task_make_vector(snapshot, below->spread.steps, m, report);
    if (!error)
        error = message_send(m, PATIENCE_MS);
    if (error) {
        m->reply.type = RIGHT_NONE; /* no answer is sent */
        message_free(m);
    }
    return error;
}

/* Sends all messages, and counts them: spread_await waits for their answers. */
static int spread_send(struct task *parent, const struct spread *s, struct port *answers, unsigned *sent,
                       struct task_report *report)
{
    struct vm_map *snapshot;
    struct port *bootstrap;
    struct spread_body body;
    int error = snapshot_of(parent, &snapshot, &body.allocate, &bootstrap);
    if (error)
        return error;
    uint32_t parts = s->fanout ? MIN(s->fanout, s->count) : s->count;
    for (uint32_t i = 0, at = 0; i < parts && !error; i++) {
        uint32_t size = (s->count - at) / (parts - i);
        body.spread = *s;
        body.spread.first = s->first + at + 1;
        body.spread.count = size - 1;
        error = spread_to(s->first + at, &body, bootstrap, snapshot, answers, report);
        *sent += !error;
        at += size;
    }
    if (bootstrap)
        port_drop(bootstrap, RIGHT_SEND);
    vm_map_release(snapshot);
    return error;
}

/* Returns the first error in `sent` answers. */
static int spread_await(struct port *answers, unsigned sent)
{
    int error = 0;
    for (; sent; sent--) {
        struct message *reply;
        int its = port_receive(answers, PATIENCE_MS, &reply);
        if (!its) {
            memcpy(&its, reply->body, sizeof its);
            if (reply->id == MESSAGE_SEND_ONCE)
                its = -EPIPE;
            message_free(reply);
        }
        if (!error)
            error = its;
    }
    return error;
}

int task_spread(struct task *parent, const struct spread *s, struct task_report *report)
{
    uint32_t begin = cycles32();
    unsigned sent = 0;
    if (s->first + s->count < s->first || s->first + s->count > node_count())
        return -EINVAL;
    struct port *answers = port_create(0, 0);
    if (!answers)
        return -ENOMEM;
    int error = spread_send(parent, s, answers, &sent, report);
    report->allocate = cycles32() - begin;
    int theirs = spread_await(answers, sent);
    port_destroy(answers);
    report->cycles = cycles32() - begin;
    report->vector = report->cycles - report->allocate;
    return error ? error : theirs;
}

static int task_start(struct task *t, const struct user_start *start)
{
    mutex_lock(&t->lock);
    int error = !t->process ? -ESRCH
                : t->begun  ? process_add_thread(t->process, start->pc, start->sp, start->a0)
                            : process_shell_begin(t->process, start);
    t->begun |= error >= 0;
    mutex_unlock(&t->lock);
    return MIN(error, 0);
}

/* Joins the last thread that has ended, or is about to. */
static void spread_join(struct thread *self)
{
    static struct thread *last;
    mutex_lock(&tasks_lock);
    struct thread *before = last;
    last = self;
    mutex_unlock(&tasks_lock);
    if (before)
        thread_join(before);
}

void tasks_end(void)
{
    spread_join(0);
}

/* In a thread of its own, as it waits for other nodes, which may need this node's servers meanwhile. */
static void spread_thread(void *arg)
{
    struct message *m = arg;
    struct spread_body body;
    struct task_report report;
    unsigned sent = 0;
    memcpy(&body, m->body, sizeof body);
    body.allocate.name[sizeof body.allocate.name - 1] = 0;
    struct port *p = task_allocate(body.allocate.name, &body.allocate.brk, message_take_right(m, 0));
    struct port *answers = p ? port_create(0, 0) : 0;
    int error = answers ? task_take_vector(p->object, m) : -ENOMEM;
    if (!error && body.spread.count)
        error = spread_send(p->object, &body.spread, answers, &sent, &report);
    if (!error) {
        struct user_start start = {.pc = body.spread.pc, .sp = body.spread.sp, .a0 = ipc_node};
        error = task_start(p->object, &start);
    }
    int theirs = answers ? spread_await(answers, sent) : 0;
    if (answers)
        port_destroy(answers);
    if (p)
        port_drop(p, RIGHT_SEND);
    message_answer(m, error ? error : theirs);
    spread_join(curhart->thread);
}

static void spread_asked(struct message *m)
{
    if (m->size != sizeof(struct spread_body))
        message_answer(m, -EINVAL);
    else if (!thread_create(spread_thread, m, PRI_NORMAL, ANY_HART, "spread"))
        message_answer(m, -EAGAIN);
}

/* ---- Messages. */

static void task_host_message(struct message *m)
{
    if (m->id == HOST_TASK_ALLOCATE && m->size == sizeof(struct allocate)) {
        struct allocate a;
        struct port *bootstrap = message_take_right(m, 0);
        memcpy(&a, m->body, sizeof a);
        a.name[sizeof a.name - 1] = 0;
        struct port *p = task_allocate(a.name, &a.brk, bootstrap);
        struct message *reply = message_reply_to(m);
        message_free(m);
        if (reply && p)
            message_add_right(reply, p, RIGHT_SEND);
        else if (p)
            port_drop(p, RIGHT_SEND);
        if (reply)
            message_post(reply);
    } else if (m->id == HOST_TASK_SPREAD) {
        spread_asked(m);
    } else if (m->id == HOST_SHUTDOWN && task_host_shutdown) {
        task_host_shutdown(m);
    } else {
        message_answer(m, -ENOSYS);
    }
}

/* Creates a child, and replies with what that took. */
static void create_message(struct task *t, struct message *m)
{
    uint32_t words[2];
    struct task_report report = {0};
    struct port *child = 0;
    memcpy(words, m->body, sizeof words);
    bool sound = m->size >= sizeof words && words[0] < node_count() && words[1] <= STEPS_ALL;
    int error = sound ? task_create(t, words[0], words[1], &child, &report) : -EINVAL;
    struct message *reply = message_reply_to(m);
    message_free(m);
    if (!reply) {
        if (!error)
            port_drop(child, RIGHT_SEND);
        return;
    }
    memcpy(reply->body, &error, sizeof error);
    memcpy(reply->body + sizeof error, &report, sizeof report);
    reply->size = sizeof error + sizeof report;
    if (!error)
        message_add_right(reply, child, RIGHT_SEND);
    message_post(reply);
}

static void spread_message(struct task *t, struct message *m)
{
    struct spread s;
    struct task_report report = {0};
    memcpy(&s, m->body, sizeof s);
    int error = m->size < sizeof s || s.steps > STEPS_ALL ? -EINVAL : task_spread(t, &s, &report);
    struct message *reply = message_reply_to(m);
    message_free(m);
    if (!reply)
        return;
    memcpy(reply->body, &error, sizeof error);
    memcpy(reply->body + sizeof error, &report, sizeof report);
    reply->size = sizeof error + sizeof report;
    message_post(reply);
}

static int thread_of(struct task *t, const struct message *m)
{
    struct user_start start = {0};
    uint32_t words[3];
    if (m->size < sizeof words)
        return -EINVAL;
    memcpy(words, m->body, sizeof words);
    start.pc = words[0];
    start.sp = words[1];
    start.a0 = words[2];
    return task_start(t, &start);
}

static int terminate(struct task *t)
{
    mutex_lock(&t->lock);
    struct process *p = t->process;
    bool begun = t->begun;
    if (p && begun)
        process_end(p, USER_SIGKILL);
    mutex_unlock(&t->lock);
    if (p && !begun)
        process_shell_drop(p);
    return p ? 0 : -ESRCH;
}

static void task_message(void *object, struct message *m)
{
    struct task *t = object;
    switch (m->id) {
    case USER_TASK_CREATE: create_message(t, m); break;
    case USER_THREAD_CREATE: message_answer(m, thread_of(t, m)); break;
    case USER_TASK_SPREAD: spread_message(t, m); break;
    case USER_TASK_TERMINATE: message_answer(m, terminate(t)); break;
    case TASK_MAP_VECTOR: task_map_vector(t, m); break;
    default:
        if (!task_memory_message(t, m))
            message_answer(m, -ENOSYS);
    }
}

void tasks_init(void)
{
    ipc_host_message = task_host_message;
    space_of_caller = space_of;
    transport_data_arrived = task_data_arrived;
    task_memory_init();
    process_ends = ends;
}

/* ---- System calls. */

static int add_send(struct process *p, struct port *port)
{
    struct ipc_space *s = space_of(p);
    port_make(port, RIGHT_SEND);
    uint32_t name = s ? space_add(s, port, RIGHT_SEND) : 0;
    if (!name)
        port_drop(port, RIGHT_SEND);
    return name ? (int)name : -ENOMEM;
}

static int sys_task_self(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    struct task *t = task_of(p);
    return t ? add_send(p, t->port) : -ENOMEM;
}
SYSCALL(SYS_TASK_SELF, sys_task_self);

static int sys_bootstrap(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    struct task *t = task_of(p);
    if (!t)
        return -ENOMEM;
    mutex_lock(&t->lock);
    int name = t->bootstrap ? add_send(p, t->bootstrap) : 0;
    mutex_unlock(&t->lock);
    return name;
}
SYSCALL(SYS_BOOTSTRAP, sys_bootstrap);

static int sys_set_bootstrap(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct task *t = task_of(p);
    struct ipc_space *s = space_of(p);
    struct right r;
    if (!t || !s)
        return -ENOMEM;
    int error = space_right(s, a[0], USER_RIGHT_COPY_SEND, &r);
    if (error)
        error = space_right(s, a[0], USER_RIGHT_MAKE_SEND, &r);
    if (error)
        return error;
    mutex_lock(&t->lock);
    struct port *old = t->bootstrap;
    t->bootstrap = r.port;
    mutex_unlock(&t->lock);
    if (old)
        port_drop(old, RIGHT_SEND);
    return 0;
}
SYSCALL(SYS_SET_BOOTSTRAP, sys_set_bootstrap);
