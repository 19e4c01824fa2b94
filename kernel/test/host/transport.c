/*
 * Messages between nodes, against a model of the other node with arithmetic of its own, over a wire that loses,
 * repeats, delays and reorders, by seed: each message arrives once, unchanged, in order, both ways; nothing is
 * left. Frames of any content do no harm. Sources: ipc/message.c net/mbuf.c mem/zone.c mem/page.c lock/simple_lock.c
 * lib/printf.c. Options: ZONE_DEBUG=0 TRANSPORT_FILE="ipc/transport/norma.h"
 */
#include "ipc/transport.c"

#include <stdio.h>
#include <stdlib.h>

#include "test/host/host.h"
#include "test/host/pools.h"

#define RAM_PAGES 600
#define MESSAGES 60
#define MOST_FRAMES 4000
#define PORTS 4
#define PEER 1
#define HEADER sizeof(struct wire_header)

#include "test/host/ram.h"

/* ---- The layer below the kernel. */

struct net_address net_own = {{2, 'I', 'L', 'K', 0, 2}, 0, 0};
uint16_t ipc_node;
uint32_t run_seed;

uint32_t bootargs_number(const char *key, uint32_t otherwise, uint32_t most)
{
    (void)key, (void)most;
    return otherwise;
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    (void)fn, (void)arg, (void)priority, (void)bound, (void)name;
    static struct thread one;
    return &one;
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    (void)channel, (void)interlock;
    host_failed(__FILE__, __LINE__, "a thread sleeps");
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

void vm_object_release(struct vm_object *object)
{
    (void)object;
    host_failed(__FILE__, __LINE__, "no message has an object here");
}

void thread_delay(uint32_t n)
{
    (void)n;
}

uint32_t clock_hz(void)
{
    return 1000;
}

static uint32_t cycles_now = 1;

uint32_t cycles32(void)
{
    return cycles_now;
}

uint64_t cycles64(void)
{
    return cycles_now;
}

void limit_begin(struct limit *l, uint32_t n, const void *channel, struct simple_lock *lock)
{
    (void)l, (void)n, (void)channel, (void)lock;
}

void limit_end(struct limit *l)
{
    (void)l;
}

int limit_sleep(const struct limit *l)
{
    (void)l;
    return 0;
}

void ether_register(struct ether_protocol *p)
{
    (void)p;
}

/* ---- Ports: a right is counted. */

static bool strange; /* not the model's messages arrive */

static struct port ports[PORTS];
static int rights_out, rights_in;

static unsigned exports_left = UINT32_MAX; /* until memory is out */

bool port_export(struct port *p, enum right_type type, unsigned node, struct wire_right *to)
{
    CHECK_EQUAL(node, PEER);
    if (!exports_left--)
        return false;
    rights_out++;
    *to = (struct wire_right){p->uid, 0, (uint16_t)type};
    return true;
}

void port_unexport(struct port *p, enum right_type type, unsigned node)
{
    CHECK(p && type && node == PEER);
    rights_out--;
}

static bool related;
static unsigned buried, settled;

bool ports_related(unsigned node)
{
    CHECK_EQUAL(node, PEER);
    return related;
}

void ports_settle(void)
{
    settled++;
}

void servers_look(void) {}

void port_node_died(unsigned node)
{
    CHECK_EQUAL(node, PEER);
    CHECK(peers[PEER]->dying && !peer_is_busy(peers[PEER]) && !host_locks_held);
    buried++;
}

static struct port host_there = {.uid = UID_HOST, .home = PEER};

struct port *port_known(unsigned node, uint32_t uid)
{
    CHECK(node == PEER && uid == UID_HOST);
    return &host_there;
}

struct port *port_import(const struct wire_right *from, unsigned node)
{
    CHECK_EQUAL(node, PEER);
    rights_in++;
    return &ports[from->uid % PORTS];
}

uint32_t port_leaves(struct right *by)
{
    by->type = RIGHT_NONE;
    return 7;
}

void port_home_release(uint32_t uid, uint16_t home, unsigned node, uint32_t count, bool once, uint32_t unused)
{
    CHECK(!unused);
    CHECK(node == PEER && (strange || (uid && home == ipc_node && count == 7 && !once)));
}

uint32_t ports_in_use(void)
{
    return 0;
}

void port_drop(struct port *p, enum right_type type)
{
    (void)p, (void)type;
}

int message_send(struct message *m, uint32_t ms)
{
    (void)m, (void)ms;
    host_failed(__FILE__, __LINE__, "an answer");
}

static unsigned probes;

void message_post(struct message *m)
{
    if (m->id == MESSAGE_SEND_ONCE) { /* of a message that was not sent, or was damaged */
        message_free(m);
        return;
    }
    CHECK(m->id == MESSAGE_PROBE && m->to.port == &host_there);
    probes++;
    message_free(m);
}

/* ---- Messages by number: the contents of number n are drawn from n alone. */

static struct content {
    uint32_t size, data_size, rights;
} content_of(uint32_t n)
{
    struct random r = random_from(n, 77);
    uint32_t kind = random_below(&r, 4);
    return (struct content){.size = random_below(&r, MESSAGE_BODY + 1),
                            .data_size = kind == 0   ? random_below(&r, MESSAGE_PAGES * PAGE_SIZE + 1)
                                         : kind == 1 ? PAGE_SIZE
                                                     : 0,
                            .rights = random_below(&r, 3)};
}

static uint8_t byte_of(uint32_t n, uint32_t at)
{
    return (uint8_t)((n * 2654435761u + at * 40503u) >> 11);
}

static uint32_t arrived, sent_to_peer;

void port_arrived(struct message *m, uint32_t uid)
{
    struct content c = content_of(1000 + arrived);
    if (strange) {
        message_free(m);
        return;
    }
    CHECK_EQUAL(uid, 16 + arrived % 5);
    CHECK_EQUAL(m->id, arrived);
    CHECK_EQUAL(m->size, c.size);
    CHECK_EQUAL(m->data_size, c.data_size);
    CHECK_EQUAL(m->rights, c.rights);
    for (uint32_t i = 0; i < c.rights; i++)
        CHECK(m->right[i].port == &ports[i + 1] && m->right[i].type == RIGHT_SEND);
    for (uint32_t i = 0; i < c.size; i++)
        CHECK_EQUAL(m->body[i], byte_of(1000 + arrived, i));
    for (uint32_t i = 0; i < c.data_size; i++)
        CHECK_EQUAL(((uint8_t *)page_pointer(m->page[i / PAGE_SIZE]))[i % PAGE_SIZE],
                    byte_of(1000 + arrived, 5000 + i));
    arrived++;
    message_free(m);
}

static bool kernel_sends(uint32_t n)
{
    struct content c = content_of(n);
    struct message *m = message_alloc(n);
    if (!m || !message_make_room(m, c.data_size)) {
        if (m)
            message_free(m);
        return false;
    }
    m->size = c.size;
    for (uint32_t i = 0; i < c.size; i++)
        m->body[i] = byte_of(n, i);
    for (uint32_t i = 0; i < c.data_size; i++)
        ((uint8_t *)page_pointer(m->page[i / PAGE_SIZE]))[i % PAGE_SIZE] = byte_of(n, 5000 + i);
    m->to = (struct right){&ports[n % PORTS], RIGHT_SEND};
    for (uint32_t i = 0; i < c.rights; i++)
        message_add_right(m, &ports[i], RIGHT_SEND);
    CHECK_EQUAL(transport_send(PEER, m), 0);
    return true;
}

/* ---- The wire: frames with their times of arrival. */

static struct flight {
    uint32_t at, length;
    bool to_kernel;
    uint8_t bytes[1500];
} flights[MOST_FRAMES];
static uint32_t now, in_flight;
static struct random luck;
static uint32_t loses, repeats, delays; /* of 1,000; at most */

/* Numbers of packets and frames are this much higher on the wire than in the model, both ways: they pass 2^32. */
static uint32_t number_base;

static void renumber(uint8_t *frame, uint32_t by)
{
    uint32_t sequence;
    memcpy(&sequence, frame + 4, sizeof sequence);
    sequence += by;
    memcpy(frame + 4, &sequence, sizeof sequence);
}

static void fly(const uint8_t *bytes, uint32_t length, bool to_kernel)
{
    for (uint32_t copies = random_below(&luck, 1000) < repeats ? 2 : 1; copies; copies--) {
        if (random_below(&luck, 1000) < loses)
            continue;
        CHECK(in_flight < MOST_FRAMES);
        struct flight *f = &flights[in_flight++];
        f->at = now + 1 + random_below(&luck, delays + 1);
        f->length = length;
        f->to_kernel = to_kernel;
        memcpy(f->bytes, bytes, length);
    }
}

void ether_output(struct mbuf *m, const uint8_t *to, uint32_t type)
{
    CHECK_EQUAL(to[5], 2 + PEER);
    CHECK_EQUAL(type, 0x88b5);
    CHECK(m->m_len <= 1500);
    fly(m->m_data, m->m_len, false);
    m_free(m);
}

/*
 * ---- The other node: what it receives. Whole messages are kept by their first number (window), or singly (norma).
 */

static bool is_window(void)
{
    return !strcmp(TRANSPORT_NAME, "window");
}

static uint32_t words_at(const uint8_t *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t pieces_of(uint32_t data_size)
{
    return 1 + (data_size + 4095) / 4096 * 3;
}

#define SPAN 4096
static struct {
    bool have[SPAN]; /* by frame, counted over all messages */
    uint32_t whole; /* messages before `first` are whole */
    uint32_t first; /* frame number of the first incomplete message */
    uint32_t packets;
} model_in;

static void model_says(uint32_t sequence, uint32_t index)
{
    uint8_t frame[24] = {2, 0, 1, 0, [20] = 1};
    memcpy(frame + 4, &sequence, 4);
    memcpy(frame + 8, &index, 4);
    fly(frame, sizeof frame, true);
}

static void check_piece(uint32_t n, uint32_t index, const uint8_t *bytes, uint32_t length)
{
    struct content c = content_of(n);
    if (!index) {
        CHECK_EQUAL(words_at(bytes), 100 + n % PORTS); /* the port's number */
        CHECK_EQUAL(words_at(bytes + 4), n);
        CHECK_EQUAL(words_at(bytes + 8), 7);
        uint32_t at = 24 + 8 * c.rights;
        CHECK_EQUAL(length, at + c.size);
        for (uint32_t i = 0; i < c.size; i++)
            CHECK_EQUAL(bytes[at + i], byte_of(n, i));
        return;
    }
    uint32_t from = (index - 1) / 3 * 4096 + (index - 1) % 3 * 1408;
    uint32_t end = (index - 1) % 3 == 2 ? ((index - 1) / 3 + 1) * 4096 : from + 1408;
    end = MIN(end, c.data_size);
    CHECK_EQUAL(length, end > from ? end - from : 0);
    for (uint32_t i = from; i < end; i++)
        CHECK_EQUAL(bytes[i - from], byte_of(n, 5000 + i));
}

/* Which of the messages passed to the kernel has frame number `number`, and which of its frames that is. */
static uint32_t message_of(uint32_t number, uint32_t *index)
{
    uint32_t n = 0;
    while (number >= pieces_of(content_of(n).data_size))
        number -= pieces_of(content_of(n++).data_size);
    *index = number;
    return n;
}

static void model_takes_frame(uint32_t number, const uint8_t *bytes, uint32_t length)
{
    uint32_t index, n = message_of(number, &index);
    CHECK(n < sent_to_peer);
    check_piece(n, index, bytes, length);
    model_in.have[number % SPAN] = true;
}

static void model_gets_window(uint32_t sequence, const uint8_t *bytes, uint32_t length)
{
    if (sequence - model_in.first < 32)
        model_takes_frame(sequence, bytes, length);
    uint32_t index, there = 0;
    while (model_in.have[model_in.first % SPAN])
        model_in.have[model_in.first++ % SPAN] = false;
    model_in.whole = message_of(model_in.first, &index);
    for (uint32_t i = 1; i < 32; i++)
        there |= (uint32_t)model_in.have[(model_in.first + i) % SPAN] << i;
    model_says(model_in.first, there);
}

/* A packet is a header with a page, or a page. */
static void model_gets_norma(uint32_t sequence, uint32_t index, const uint8_t *bytes, uint32_t length)
{
    if (sequence < model_in.packets)
        model_says(sequence, 0);
    if (sequence != model_in.packets)
        return;
    uint32_t n = model_in.whole, frames = pieces_of(content_of(n).data_size);
    CHECK(n < sent_to_peer && index < frames);
    check_piece(n, index, bytes, length);
    model_in.have[index] = true;
    uint32_t end = model_in.first ? model_in.first + 3 : MIN(4, frames);
    for (uint32_t i = model_in.first; i < end; i++)
        if (!model_in.have[i])
            return;
    model_says(sequence, 0);
    model_in.packets++;
    model_in.first = end;
    if (end < frames)
        return;
    memset(model_in.have, 0, sizeof model_in.have);
    model_in.first = 0;
    model_in.whole++;
}

/* ---- What it sends. */

static struct {
    uint32_t there; /* frames, or packets, that the kernel has */
    uint32_t in_message, message; /* norma: what is sent now */
    uint32_t quiet; /* time of its last frame */
    uint32_t more; /* window: bits from `there` on */
} model_out;
static uint32_t from_peer; /* messages in all */

static void model_frame(uint32_t sequence, uint32_t n, uint32_t index)
{
    struct content c = content_of(1000 + n);
    uint8_t frame[1500] = {1, 0, PEER, 0, [20] = 1};
    uint32_t length = 24, first = 16 + n % 5, of_head[3] = {first, n, n % 2 ? 7 : 0};
    memcpy(frame + 4, &sequence, 4);
    memcpy(frame + 8, &index, 4);
    memcpy(frame + 12, &c.data_size, 4);
    if (!index) {
        memcpy(frame + 24, of_head, 12);
        memcpy(frame + 36, &c.size, 2);
        memcpy(frame + 38, &c.rights, 2);
        for (uint32_t i = 0; i < c.rights; i++)
            frame[24 + 24 + 8 * i] = (uint8_t)(i + 1), frame[24 + 24 + 8 * i + 6] = 1;
        length = 24 + 24 + 8 * c.rights;
        for (uint32_t i = 0; i < c.size; i++)
            frame[length++] = byte_of(1000 + n, i);
    } else {
        uint32_t page = (index - 1) / 3, from = page * 4096 + (index - 1) % 3 * 1408;
        uint32_t end = MIN((index - 1) % 3 == 2 ? (page + 1) * 4096 : from + 1408, c.data_size);
        for (uint32_t i = from; i < end; i++)
            frame[length++] = byte_of(1000 + n, 5000 + i);
    }
    fly(frame, length, true);
}

static void model_sends_norma(void)
{
    if (model_out.message == from_peer || now - model_out.quiet < 40)
        return;
    uint32_t frames = pieces_of(content_of(1000 + model_out.message).data_size);
    uint32_t end = model_out.in_message ? model_out.in_message + 3 : MIN(4, frames);
    for (uint32_t i = model_out.in_message; i < end; i++)
        model_frame(model_out.there, model_out.message, i);
    model_out.quiet = now;
}

static void model_hears_norma(uint32_t sequence)
{
    if (sequence != model_out.there || model_out.message == from_peer)
        return;
    uint32_t frames = pieces_of(content_of(1000 + model_out.message).data_size);
    model_out.there++;
    model_out.in_message = model_out.in_message ? model_out.in_message + 3 : MIN(4, frames);
    if (model_out.in_message >= frames) {
        model_out.in_message = 0;
        model_out.message++;
    }
    model_out.quiet = now - 1000;
}

/* Sends what the kernel lacks of the next 32, again and again. */
static void model_sends_window(void)
{
    if (now - model_out.quiet < 25)
        return;
    uint32_t begin = 0, n = 0;
    for (; n < from_peer; begin += pieces_of(content_of(1000 + n++).data_size))
        for (uint32_t i = 0; i < pieces_of(content_of(1000 + n).data_size); i++)
            if (begin + i - model_out.there < 32 && !(model_out.more >> (begin + i - model_out.there) & 1))
                model_frame(begin + i, n, i);
    model_out.quiet = now;
}

static void model_hears(uint32_t sequence, uint32_t index)
{
    if (!is_window()) {
        model_hears_norma(sequence);
    } else if (sequence >= model_out.there) {
        if (sequence > model_out.there)
            model_out.quiet = now - 1000;
        model_out.there = sequence;
        model_out.more = index;
    }
}

/* ---- A run. */

static void to_kernel(const uint8_t *bytes, uint32_t length)
{
    struct mbuf *m = m_get(16 + length, M_FRAME);
    if (!m)
        return;
    m->m_data += 16;
    m->m_len = length;
    memcpy(m->m_data, bytes, length);
    take_in(m);
    m_free(m);
}

static void to_model(const uint8_t *bytes, uint32_t length)
{
    CHECK(length >= 24 && bytes[2] == 0);
    uint32_t sequence = words_at(bytes + 4), index = words_at(bytes + 8);
    if (bytes[0] == 2)
        model_hears(sequence, index);
    else if (is_window())
        model_gets_window(sequence, bytes + 24, length - 24);
    else
        model_gets_norma(sequence, index, bytes + 24, length - 24);
}

static void step(void)
{
    now++;
    for (uint32_t i = 0; i < in_flight;) {
        if (flights[i].at > now) {
            i++;
            continue;
        }
        static struct flight f;
        f = flights[i];
        flights[i] = flights[--in_flight];
        renumber(f.bytes, f.to_kernel ? number_base : -number_base);
        f.to_kernel ? to_kernel(f.bytes, f.length) : to_model(f.bytes, f.length);
    }
    is_window() ? model_sends_window() : model_sends_norma();
    if (now % 12 == 0)
        timer_tick();
}

static void begin(uint32_t seed)
{
    pages_init(BASE, BASE + sizeof memory);
    for (unsigned i = 0; i < PORTS; i++)
        ports[i].uid = 100 + i;
    node_total = 2;
    retry = 3;
    transport_tries = 12;
    transport_begun = 100;
    luck = random_from(seed, 1);
}

/* Messages both ways, at random times; all of them arrive. */
static void carry(uint32_t seed, uint32_t count)
{
    begin(seed);
    uint32_t free_pages = pages_free();
    loses = random_below(&luck, 3) * 120;
    repeats = random_below(&luck, 3) * 100;
    delays = random_below(&luck, 3) * 30;
    from_peer = count;
    number_base = seed % 2 ? 0 : -random_below(&luck, count * 2);
    struct peer *p = peer_of(PEER);
    p->sequence = p->next = p->end = p->expected = number_base;
    model_out.quiet = now - 1000;
    while (model_in.whole < count || arrived < count || peer_is_busy(peers[PEER])) {
        if (sent_to_peer < count && (!peers[PEER] || peers[PEER]->waiting < 6) && !random_below(&luck, 10))
            sent_to_peer += kernel_sends(sent_to_peer);
        step();
        CHECK(now < 4000000);
        peer_of(PEER);
    }
    CHECK_EQUAL(messages_in_use(), 0);
    CHECK_EQUAL(m_in_use(), 0);
    CHECK_EQUAL(host_locks_held, 0);
    CHECK(pages_free() + 16 >= free_pages); /* except what zones keep */
}

#define OF_SEED(n)                            \
    HOST_TEST(messages_both_ways_by_seed_##n) \
    {                                         \
        carry(n, MESSAGES *host_times());     \
    }
OF_SEED(1)
OF_SEED(2)
OF_SEED(3)
OF_SEED(4)
OF_SEED(5)
OF_SEED(6)

static unsigned died;

static void node_died(unsigned node)
{
    CHECK_EQUAL(node, PEER);
    died++;
}

HOST_TEST(a_node_that_is_silent_is_given_up)
{
    begin(1);
    loses = 1000;
    transport_node_died = node_died;
    for (uint32_t again = 1; again < 3; again++) { /* the next message begins anew, without an answer */
        for (uint32_t n = 0; n < 3; n++)
            CHECK(kernel_sends(n));
        CHECK_EQUAL(peers[PEER]->epoch, 99 + again);
        uint32_t n = 0;
        for (; died < again; n++) {
            CHECK(n < 2000);
            timer_tick();
        }
        CHECK(n > 500);
        CHECK_EQUAL(messages_in_use(), 0);
        for (n = 0; n < 100; n++)
            timer_tick();
        CHECK_EQUAL(died, again);
        CHECK_EQUAL(buried, again);
        CHECK_EQUAL(m_in_use(), 0);
    }
    CHECK(settled > 1000);
}

static unsigned data_exported, data_discarded;

static bool export_data(struct message *m, unsigned node)
{
    CHECK(m && node == PEER && !peers[PEER]->dying && host_locks_held);
    data_exported += exports_left != 0;
    return exports_left;
}

static void discard_data(struct message *m)
{
    CHECK(m);
    data_discarded++;
}

HOST_TEST(rights_leave_with_their_message_or_not_at_all)
{
    begin(1);
    struct message *m = message_alloc(1);
    m->export_data = export_data;
    m->discard = discard_data;
    m->to = (struct right){&ports[0], RIGHT_SEND};
    message_add_right(m, &ports[1], RIGHT_SEND);
    peer_of(PEER)->dying = true;
    CHECK_EQUAL(transport_send(PEER, m), -EPIPE);
    CHECK(m->right[0].type == RIGHT_SEND && !rights_out && !data_exported);
    peers[PEER]->dying = false;
    m->reply = (struct right){&ports[2], RIGHT_SEND_ONCE};
    message_add_right(m, &ports[3], RIGHT_SEND);
    for (unsigned n = 0; n < 4; n++) { /* memory is out for one of them, finally for those in the data */
        exports_left = n;
        CHECK_EQUAL(transport_send(PEER, m), -ENOMEM);
        CHECK(!data_exported && !data_discarded);
        CHECK(m->right[0].type == RIGHT_SEND && m->right[1].type == RIGHT_SEND && m->reply.type == RIGHT_SEND_ONCE);
        CHECK_EQUAL(rights_out, 0);
    }
    CHECK(!peer_is_busy(peers[PEER]));
    message_free(m);
    CHECK_EQUAL(data_discarded, 1);
    CHECK_EQUAL(messages_in_use(), 0);
    exports_left = UINT32_MAX;
    m = message_alloc(2);
    m->export_data = export_data;
    m->discard = discard_data;
    m->to = (struct right){&ports[0], RIGHT_SEND};
    CHECK_EQUAL(transport_send(PEER, m), 0);
    CHECK(data_exported == 1 && !m->discard);
}

static uint8_t answer[24];
static unsigned answers;

/* A frame of the other node with only its epochs; the frame sent back is in `answer`. */
static void epochs(uint32_t kind, uint32_t theirs, uint32_t ours)
{
    uint8_t frame[24] = {(uint8_t)kind, 0, PEER, 0};
    memcpy(frame + 16, &ours, 4);
    memcpy(frame + 20, &theirs, 4);
    in_flight = 0;
    to_kernel(frame, sizeof frame);
    answers = in_flight;
    if (answers)
        memcpy(answer, flights[0].bytes, sizeof answer);
}

HOST_TEST(both_sides_begin_anew_together)
{
    begin(1);
    struct peer *p = peer_of(PEER);
    transport_node_died = node_died;
    epochs(FRAME_ACK, 7, 0);
    CHECK(p->theirs == 7 && !died);
    epochs(FRAME_ACK, 6, 100); /* one that was long under way */
    CHECK(p->theirs == 7 && !died && !answers);
    CHECK(kernel_sends(0));
    epochs(FRAME_EPOCH, 9, 100); /* it has given this node up */
    CHECK(died == 1 && buried == 1 && p->epoch == 101 && p->theirs == 9 && !p->dying && !peer_is_busy(p));
    epochs(FRAME_DATA, 7, 100); /* of the previous epoch */
    CHECK(answers == 1 && answer[0] == FRAME_EPOCH && words_at(answer + 20) == 101 && words_at(answer + 16) == 100);
    CHECK(died == 1 && p->theirs == 9);
    mutex_lock(&p->lock);
    peer_died(p);
    peer_done(p);
    peer_buried(p);
    CHECK(died == 2 && p->epoch == 102 && p->theirs == 0 && p->seen == 9);
    epochs(FRAME_ACK, 9, 101); /* it has not noticed */
    CHECK(answers == 1 && answer[0] == FRAME_EPOCH && words_at(answer + 20) == 102 && p->theirs == 0);
    epochs(FRAME_ACK, 10, 102);
    CHECK(!answers && died == 2 && p->theirs == 10);
    CHECK_EQUAL(messages_in_use(), 0);
    CHECK_EQUAL(host_locks_held, 0);
}

HOST_TEST(a_node_that_has_rights_is_asked_when_it_is_silent)
{
    begin(1);
    peer_of(PEER);
    transport_probe = 1000;
    timer_tick();
    cycles_now = 5000;
    timer_tick();
    CHECK_EQUAL(probes, 0);
    related = true;
    timer_tick();
    CHECK_EQUAL(probes, 1);
    epochs(FRAME_ACK, 1, 100);
    timer_tick();
    CHECK_EQUAL(probes, 1);
    cycles_now += 999;
    timer_tick();
    CHECK_EQUAL(probes, 1);
    cycles_now++;
    timer_tick();
    CHECK_EQUAL(probes, 2);
}

HOST_TEST(a_wire_that_is_cut)
{
    begin(1);
    cut = 100;
    healed = 200;
    cycles_now = 99;
    CHECK(kernel_sends(0) && in_flight == pieces_of(content_of(0).data_size));
    cycles_now = 100;
    CHECK(kernel_sends(1));
    epochs(FRAME_ACK, 5, 0);
    CHECK(!peers[PEER]->theirs);
    cycles_now = 200;
    epochs(FRAME_ACK, 5, 0);
    CHECK(peers[PEER]->theirs == 5);
}

/* Malformed frames are dropped, or reassembled and passed on as they say; nothing is lost by them. */
HOST_TEST(frames_of_any_content)
{
    begin(9);
    strange = true;
    static uint8_t frame[1500];
    for (uint32_t n = 0; n < 40000 * host_times(); n++) {
        uint32_t length = random_below(&luck, 4) ? 24 + random_below(&luck, 300) : random_below(&luck, 1500);
        for (uint32_t i = 0; i < length; i++)
            frame[i] = (uint8_t)random_below(&luck, random_below(&luck, 2) ? 4 : 256);
        frame[0] = (uint8_t)(1 + random_below(&luck, 2));
        frame[1] = frame[3] = 0;
        frame[2] = PEER;
        if (random_below(&luck, 8))
            memset(frame + 16, 0, 8), frame[20] = 1;
        if (length > 8 && random_below(&luck, 8)) {
            uint32_t sequence = (peers[PEER] ? peers[PEER]->expected : 0) + random_below(&luck, 3);
            memcpy(frame + 4, &sequence, 4);
        }
        if (length > 44 && random_below(&luck, 4)) { /* a header, or nearly one */
            frame[8] = (uint8_t)random_below(&luck, 3);
            frame[9] = frame[10] = frame[11] = frame[12] = frame[13] = frame[14] = frame[15] = frame[37] = frame[39] =
                0;
        }
        to_kernel(frame, length);
        in_flight = 0;
    }
    CHECK_EQUAL(m_in_use(), 0);
    CHECK_EQUAL(host_locks_held, 0);
    CHECK(messages_in_use() <= 40);
}
