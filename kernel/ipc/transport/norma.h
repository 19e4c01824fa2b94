/*
 * ipc=norma: stop and wait, as NORMA IPC's first version: one packet is under way to a node, a message's head with its
 * first page, or a page. The receiver acknowledges it when it has all its frames; until then the sender waits, and
 * all of them again when that takes too long. A repeated packet is acknowledged again, and discarded. The paper
 * supposes that this is why it did not reach logarithmic scaling (section 6).
 */
#ifndef IPC_TRANSPORT_NORMA_H
#define IPC_TRANSPORT_NORMA_H

#define TRANSPORT_NAME "norma"

static uint32_t packets_of(uint32_t data_size)
{
    return data_size > PAGE_SIZE ? (data_size + PAGE_SIZE - 1) / PAGE_SIZE : 1;
}

/* The frames of packet `n`: from *begin on; returns how many. */
static uint32_t packet_frames(uint32_t data_size, uint32_t n, uint32_t *begin)
{
    uint32_t all = 1 + (data_size + PAGE_SIZE - 1) / PAGE_SIZE * PIECES;
    *begin = n ? 1 + n * PIECES : 0;
    uint32_t end = 1 + (n + 1) * PIECES;
    return MIN(end, all) - *begin;
}

static void send_packet(struct peer *peer)
{
    const struct message *first = STAILQ_FIRST(&peer->out);
    uint32_t begin, n = packet_frames(first->data_size, peer->packet, &begin);
    COUNT(packets);
    for (uint32_t i = 0; i < n; i++)
        message_frame(peer, first, peer->sequence, begin + i);
    peer->due = ticks + (retry << MIN(peer->tries, 5u));
    timer_wanted();
}

static void peer_send(struct peer *peer, struct message *m)
{
    (void)m;
    if (peer->waiting > 1)
        return; /* one is under way */
    peer->packet = peer->tries = 0;
    send_packet(peer);
}

static void peer_ack(struct peer *peer, const struct received *f)
{
    if (STAILQ_EMPTY(&peer->out) || f->header.sequence != peer->sequence)
        return;
    peer->sequence++;
    peer->packet++;
    peer->tries = 0;
    if (peer->packet == packets_of(STAILQ_FIRST(&peer->out)->data_size)) {
        first_done(peer);
        peer->packet = 0;
    }
    if (!STAILQ_EMPTY(&peer->out))
        send_packet(peer);
}

static void peer_data(struct peer *peer, const struct received *f)
{
    const struct wire_header *h = &f->header;
    if (h->sequence != peer->expected) {
        COUNT(repeated);
        if (peer->expected - h->sequence - 1 < UINT32_MAX / 2) /* an earlier one, whose acknowledgement was lost */
            send_ack(peer, h->sequence, 0);
        return;
    }
    struct message *in = STAILQ_FIRST(&peer->in);
    if (!in) {
        in = begin_message(peer, h);
        if (!in)
            return; /* treated as lost on the wire */
        STAILQ_INSERT_HEAD(&peer->in, in, link);
    }
    if (h->data_size != in->data_size)
        return;
    uint32_t begin, n = packet_frames(h->data_size, peer->in_packet, &begin), i = h->index - begin;
    if (i >= n || peer->got >> i & 1 || !take_frame(in, f)) {
        COUNT(repeated);
        return;
    }
    peer->got |= 1u << i;
    if (peer->got != (1u << n) - 1)
        return;
    peer->got = 0;
    peer->expected++;
    send_ack(peer, h->sequence, 0);
    if (++peer->in_packet < packets_of(h->data_size))
        return;
    STAILQ_REMOVE_HEAD(&peer->in, link);
    message_ready(peer, in);
    peer->in_packet = 0;
}

static void peer_tick(struct peer *peer)
{
    if ((int32_t)(ticks - peer->due) < 0)
        return;
    peer->tries++;
    COUNT(resent);
    send_packet(peer);
}
#endif
