/*
 * ipc=window: up to 32 frames are under way to a node, of any number of messages. Each frame has a number; the receiver
 * reports which one it waits for, and which of the 32 after that it has. A frame missing before one that has arrived is
 * sent again after three acknowledgements, as it may only have been overtaken; an unacknowledged one, after a
 * time-out. Messages are assembled in any order, and passed on in the order of their numbers.
 */
#ifndef IPC_TRANSPORT_WINDOW_H
#define IPC_TRANSPORT_WINDOW_H

#define TRANSPORT_NAME "window"
#define WINDOW 32u
#define OVERTAKEN 3u /* acknowledgements that show a gap, until a frame counts as lost */
#define ACK_EACH 4u  /* frames in order */

/* The message that contains the frame of that number, under way or waiting. */
static struct message *message_with(const struct peer *peer, uint32_t number)
{
    struct message *m;
    STAILQ_FOREACH(m, &peer->out, link)
        if (number - m->wire_first < frames_of(m))
            break;
    return m;
}

static void send_number(struct peer *peer, uint32_t number)
{
    const struct message *m = message_with(peer, number);
    if (m)
        message_frame(peer, m, number, number - m->wire_first);
}

/* Sends as many frames as the window allows. */
static void send_more(struct peer *peer)
{
    while (peer->next != peer->end && peer->next - peer->sequence < WINDOW) {
        if (peer->next == peer->sequence) { /* nothing was under way */
            peer->tries = 0;
            peer->due = ticks + retry;
        }
        send_number(peer, peer->next++);
    }
    if (!STAILQ_EMPTY(&peer->out))
        timer_wanted();
}

static void peer_send(struct peer *peer, struct message *m)
{
    m->wire_first = peer->end;
    peer->end += frames_of(m);
    COUNT(packets);
    send_more(peer);
}

/* Sends the frames missing before the highest acknowledged one, each once until the window moves. */
static void send_missing(struct peer *peer)
{
    for (uint32_t i = 0; i < WINDOW && peer->there >> i; i++)
        if (!(peer->there >> i & 1) && !(peer->resent >> i & 1)) {
            peer->resent |= 1u << i;
            COUNT(resent);
            send_number(peer, peer->sequence + i);
        }
}

static void peer_ack(struct peer *peer, const struct received *f)
{
    uint32_t moved = f->header.sequence - peer->sequence;
    if (moved > peer->next - peer->sequence)
        return; /* an old one, or invalid */
    if (moved) {
        peer->sequence += moved;
        peer->there = peer->resent = peer->overtaken = peer->tries = 0;
        peer->due = ticks + retry;
        for (const struct message *m; (m = STAILQ_FIRST(&peer->out)) &&
                                      peer->sequence - m->wire_first >= frames_of(m) &&
                                      peer->sequence - m->wire_first <= UINT32_MAX / 2;)
            first_done(peer);
    }
    peer->there |= f->header.index; /* an acknowledged frame stays so */
    if (peer->there && ++peer->overtaken >= OVERTAKEN)
        send_missing(peer);
    send_more(peer);
}

static void peer_tick(struct peer *peer)
{
    if ((int32_t)(ticks - peer->due) < 0)
        return;
    peer->tries++;
    peer->due = ticks + (retry << MIN(peer->tries, 5u));
    for (uint32_t i = 0; i < peer->next - peer->sequence; i++)
        if (!(peer->there >> i & 1)) {
            COUNT(resent);
            send_number(peer, peer->sequence + i);
        }
}

static void say_what_is_there(struct peer *peer)
{
    peer->unsaid = 0;
    send_ack(peer, peer->expected, peer->got);
}

/*
 * The message that this frame belongs to, being assembled or new; 0: memory is out. The list is in the order of
 * frame numbers.
 */
static struct message *coming(struct peer *peer, const struct wire_header *h)
{
    uint32_t first = h->sequence - h->index;
    struct message *before = 0, *m;
    STAILQ_FOREACH(m, &peer->in, link) {
        if ((int32_t)(m->wire_first - first) >= 0)
            break;
        before = m;
    }
    if (m && m->wire_first == first)
        return m->data_size == h->data_size ? m : 0;
    /* each has a frame in the window, unless a frame is invalid */
    m = peer->coming < WINDOW ? begin_message(peer, h) : 0;
    if (!m)
        return 0;
    m->wire_first = first;
    if (before)
        STAILQ_INSERT_AFTER(&peer->in, before, m, link);
    else
        STAILQ_INSERT_HEAD(&peer->in, m, link);
    peer->coming++;
    return m;
}

static void peer_data(struct peer *peer, const struct received *f)
{
    uint32_t ahead = f->header.sequence - peer->expected;
    if (ahead >= WINDOW || peer->got >> ahead & 1) {
        COUNT(repeated);
        say_what_is_there(peer);
        return;
    }
    struct message *m = coming(peer, &f->header);
    if (!m || !take_frame(m, f))
        return; /* treated as lost on the wire */
    peer->got |= 1u << ahead;
    for (; peer->got & 1; peer->got >>= 1)
        peer->expected++;
    while ((m = STAILQ_FIRST(&peer->in)) && (int32_t)(peer->expected - m->wire_first) >= (int32_t)frames_of(m)) {
        STAILQ_REMOVE_HEAD(&peer->in, link);
        peer->coming--;
        message_ready(peer, m);
        peer->unsaid = ACK_EACH; /* acknowledge at once: its sender may wait for that */
    }
    if (ahead || ++peer->unsaid >= ACK_EACH)
        say_what_is_there(peer);
}
#endif
