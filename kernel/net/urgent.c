/*
 * Urgent data of a stream (socket.h), as 4.4BSD and Linux have it: one byte, the last that a send with MSG_OOB was
 * given. It stays in the buffer, where it is a mark: a read ends before it, and the next one skips it, or begins with
 * it if it is inline. Of several the last one counts; those before it are usual data.
 */
#include <errno.h>

#include "net/socket.h"

/* The mark before it, if it is next, is dropped: no read passes it any more. A peeking thread does not use its byte. */
void so_urgent(struct socket *so, uint32_t after)
{
    uint32_t skip;
    so_readable(so, &skip);
    if (skip && so->rcv.cc) {
        so_drop_received(so, 1);
        after--;
    }
    so->urgent = URGENT_ANNOUNCED;
    so->urgent_at = after;
    so_changed(so);
}

void so_urgent_came(struct socket *so)
{
    if (so->urgent != URGENT_ANNOUNCED || so->rcv.cc <= so->urgent_at)
        return;
    sb_copy(&so->rcv, so->urgent_at, 1, &so->urgent_byte);
    so->urgent = URGENT_THERE;
}

uint32_t so_readable(const struct socket *so, uint32_t *skip)
{
    *skip = so->urgent != URGENT_NONE && !so->urgent_at && !so->urgent_inline;
    if (so->urgent != URGENT_NONE && so->urgent_at && so->urgent_at < so->rcv.cc)
        return so->urgent_at;
    return so->rcv.cc > *skip ? so->rcv.cc - *skip : 0;
}

void so_drop_received(struct socket *so, uint32_t bytes)
{
    sb_drop(&so->rcv, bytes);
    if (bytes > so->urgent_at)
        so->urgent = URGENT_NONE;
    else
        so->urgent_at -= bytes;
}

int so_receive_urgent(struct socket *so, struct transfer *t, bool peek)
{
    inet_enter();
    so_lock(&so->lock);
    uint8_t byte = so->urgent_byte;
    int result = 1;
    if (so->urgent_inline || so->urgent == URGENT_NONE || so->urgent == URGENT_TAKEN)
        result = -EINVAL;
    else if (so->urgent == URGENT_ANNOUNCED)
        result = so->state & SS_CANTRECEIVE ? 0 : -EAGAIN;
    else if (!peek)
        so->urgent = URGENT_TAKEN;
    so_unlock(&so->lock);
    inet_leave();
    if (result <= 0 || !t->left)
        return result < 0 ? result : 0;
    int error = transfer_out(t, &byte, 1);
    return error ? error : 1;
}
