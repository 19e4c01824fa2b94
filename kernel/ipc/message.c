/* Messages (message.h). */
#include "ipc/message.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "ipc/port.h"
#include "mem/zone.h"
#include "vm/object.h"

DEFINE_ZONE(messages, "ipc-messages", sizeof(struct message), 8, SPL_SOFTCLOCK, 0);

struct message *message_alloc(uint32_t id)
{
    struct message *m = zone_alloc(&messages);
    if (!m)
        return 0;
    memset(m, 0, offsetof(struct message, body));
    m->id = id;
    return m;
}

static void drop_rights(struct message *m)
{
    if (m->to.port)
        port_drop(m->to.port, m->to.type);
    if (m->reply.port)
        port_drop(m->reply.port, m->reply.type);
    for (unsigned i = 0; i < m->rights; i++)
        if (m->right[i].port)
            port_drop(m->right[i].port, m->right[i].type);
}

void message_redirect(struct message *m, struct port *to, enum right_type type, uint32_t id)
{
    drop_rights(m);
    m->to = (struct right){to, type};
    m->reply = (struct right){0};
    m->rights = 0;
    m->id = id;
    m->export_data = 0;
    m->discard = 0;
    m->wire_reply = (struct wire_right){0};
}

/* Turns the message into the report that its reply right goes unused: that needs no new memory. */
static void message_says_unused(struct message *m, struct right answer)
{
    memset(m, 0, offsetof(struct message, body));
    m->id = MESSAGE_SEND_ONCE;
    m->to = answer;
    message_post(m);
}

void message_free(struct message *m)
{
    struct right answer = {0};
    if (m->discard)
        m->discard(m);
    if (m->reply.port && m->reply.type == RIGHT_SEND_ONCE && !m->reply.port->dead) {
        answer = m->reply;
        m->reply.port = 0;
    }
    drop_rights(m);
    for (unsigned i = 0; i < MESSAGE_PAGES; i++)
        if (m->page[i])
            page_free(m->page[i]);
    if (m->object)
        vm_object_release(m->object);
    if (answer.port)
        message_says_unused(m, answer);
    else
        zone_free(&messages, m);
}

uint32_t messages_in_use(void)
{
    return zone_counts(&messages).in_use;
}

bool message_make_room(struct message *m, uint32_t bytes)
{
    if (bytes > MESSAGE_PAGES * PAGE_SIZE)
        return false;
    for (uint32_t i = 0; i * PAGE_SIZE < bytes; i++)
        if (!m->page[i] && !(m->page[i] = page_alloc_raw()))
            return false;
    m->data_size = bytes;
    return true;
}

struct message *message_reply_to(struct message *request)
{
    struct message *m = request->reply.port ? message_alloc(request->id + MESSAGE_REPLY) : 0;
    if (m) {
        m->to = request->reply;
        request->reply.port = 0;
    }
    return m;
}

void message_answer(struct message *request, int error)
{
    struct message *m = message_reply_to(request);
    message_free(request);
    if (!m)
        return;
    memcpy(m->body, &error, sizeof error);
    m->size = sizeof error;
    message_post(m);
}
