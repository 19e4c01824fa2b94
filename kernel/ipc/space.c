/* Names of rights (space.h). */
#include "ipc/space.h"

#include <errno.h>

#include "lock/lock.h"
#include "mem/zone.h"
#include "user/abi.h"
#include "vm/radix.h"

struct name {
    struct port *port;
    uint32_t senders; /* send rights */
    bool receive, once;
};

struct ipc_space {
    struct lock lock;
    struct radix names;
    uint32_t last;
};

DEFINE_ZONE(spaces, "ipc-spaces", sizeof(struct ipc_space), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(names, "ipc-names", sizeof(struct name), 8, SPL_SOFTPREEMPT, 0);
static MUTEX_CLASS(space_class, "ipc space");
struct ipc_space *(*space_of_caller)(struct process *p);

struct ipc_space *space_new(void)
{
    struct ipc_space *s = zone_alloc(&spaces);
    if (s) {
        *s = (struct ipc_space){0};
        lock_init(&s->lock, &space_class, "ipc space");
    }
    return s;
}

/* Drops its rights; it is in no space any more. Cancels notifications by that name. */
static void end_name(struct ipc_space *s, struct name *n, uint32_t number)
{
    port_unwatch(n->port, s, number);
    for (; n->senders; n->senders--)
        port_drop(n->port, RIGHT_SEND);
    if (n->once)
        port_drop(n->port, RIGHT_SEND_ONCE);
    if (n->receive)
        port_destroy(n->port);
    zone_free(&names, n);
}

void space_free(struct ipc_space *s)
{
    struct name *n;
    for (uint32_t i = 0; (n = radix_next(&s->names, &i)); i++) {
        radix_clear(&s->names, i);
        end_name(s, n, i);
    }
    lock_destroy(&s->lock);
    zone_free(&spaces, s);
}

/* The name that has rights to `p` but no send-once right, and its number; or 0. */
static struct name *space_name_of(struct ipc_space *s, const struct port *p, uint32_t *number)
{
    struct name *n;
    for (*number = 0; (n = radix_next(&s->names, number)); ++*number)
        if (n->port == p && !n->once)
            return n;
    return 0;
}

static uint32_t new_name(struct ipc_space *s, struct name with)
{
    struct name *n = zone_alloc(&names);
    if (!n)
        return 0;
    *n = with;
    uint32_t number = s->last + 1;
    while (!number || radix_get(&s->names, number))
        number++;
    if (!radix_set(&s->names, number, n)) {
        zone_free(&names, n);
        return 0;
    }
    s->last = number;
    return number;
}

uint32_t space_add(struct ipc_space *s, struct port *p, enum right_type type)
{
    uint32_t number;
    mutex_lock(&s->lock);
    struct name *n = type == RIGHT_SEND ? space_name_of(s, p, &number) : 0;
    if (n)
        n->senders++;
    else
        number = new_name(s, (struct name){p, type == RIGHT_SEND, false, type == RIGHT_SEND_ONCE});
    mutex_unlock(&s->lock);
    return number;
}

uint32_t space_add_receive(struct ipc_space *s, struct port *p)
{
    uint32_t number;
    mutex_lock(&s->lock);
    struct name *n = space_name_of(s, p, &number); /* with send rights, if those came by a message */
    if (n)
        n->receive = true;
    else
        number = new_name(s, (struct name){.port = p, .receive = true});
    mutex_unlock(&s->lock);
    return number;
}

int space_remove(struct ipc_space *s, uint32_t number)
{
    mutex_lock(&s->lock);
    struct name *n = radix_get(&s->names, number);
    if (n)
        radix_clear(&s->names, number);
    mutex_unlock(&s->lock);
    if (!n)
        return -EINVAL;
    end_name(s, n, number);
    return 0;
}

int space_right(struct ipc_space *s, uint32_t number, uint32_t how, struct right *to)
{
    bool ends = false;
    mutex_lock(&s->lock);
    struct name *n = radix_get(&s->names, number);
    bool there =
        n && (how == USER_RIGHT_COPY_SEND || how == USER_RIGHT_MOVE_SEND ? n->senders
              : how == USER_RIGHT_MOVE_SEND_ONCE                         ? n->once
              : how == USER_RIGHT_MAKE_SEND || how == USER_RIGHT_MAKE_SEND_ONCE || how == USER_RIGHT_MOVE_RECEIVE
                  ? n->receive && !n->port->is_set
                  : false);
    if (there && how == USER_RIGHT_MOVE_RECEIVE) {
        *to = (struct right){n->port, RIGHT_RECEIVE};
        n->receive = false;
        port_join(n->port, 0);
    } else if (there) {
        to->port = n->port;
        to->type = how == USER_RIGHT_MAKE_SEND_ONCE || how == USER_RIGHT_MOVE_SEND_ONCE ? RIGHT_SEND_ONCE : RIGHT_SEND;
        if (how == USER_RIGHT_MOVE_SEND)
            n->senders--;
        else if (how == USER_RIGHT_MOVE_SEND_ONCE)
            n->once = false;
        else
            port_make(n->port, to->type);
    }
    if (there) {
        ends = !n->senders && !n->once && !n->receive;
        if (ends)
            radix_clear(&s->names, number);
    }
    mutex_unlock(&s->lock);
    if (ends) {
        port_unwatch(to->port, s, number);
        zone_free(&names, n);
    }
    return there ? 0 : -EINVAL;
}

struct port *space_receiver(struct ipc_space *s, uint32_t number)
{
    mutex_lock(&s->lock);
    struct name *n = radix_get(&s->names, number);
    struct port *p = n && n->receive ? n->port : 0;
    if (p)
        port_reference(p);
    mutex_unlock(&s->lock);
    return p;
}

struct port *space_port(struct ipc_space *s, uint32_t number)
{
    mutex_lock(&s->lock);
    struct name *n = radix_get(&s->names, number);
    struct port *p = n ? n->port : 0;
    if (p)
        port_reference(p);
    mutex_unlock(&s->lock);
    return p;
}

uint32_t space_name_of_receiver(struct ipc_space *s, const struct port *p)
{
    uint32_t number;
    mutex_lock(&s->lock);
    struct name *n = space_name_of(s, p, &number);
    bool receives = n && n->receive;
    mutex_unlock(&s->lock);
    return receives ? number : 0;
}
