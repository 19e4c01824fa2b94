/* Buffers of sockets (socket.h): lists of packets. */
#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/panic.h"
#include "net/socket.h"

#define COPIED_MOST 768 /* bytes: a longer packet fills its cluster well enough */

/*
 * A short packet that fits into the last one is copied there, and the second one without a cluster in a row gets one,
 * so that many short ones do not hold much memory and are no long list.
 */
void sb_append(struct sockbuf *sb, struct mbuf *m)
{
    struct mbuf *last = STAILQ_LAST(&sb->packets, mbuf, m_nextpkt);
    sb->cc += m->m_len;
    if (last && m->m_len <= m_trailing(last) && m->m_len <= COPIED_MOST) {
        memcpy(last->m_data + last->m_len, m->m_data, m->m_len);
        last->m_len += m->m_len;
        m_free(m);
        return;
    }
    if (last && !last->m_ext && !m->m_ext)
        m_enlarge(m, M_FRAME);
    STAILQ_INSERT_TAIL(&sb->packets, m, m_nextpkt);
}

void sb_drop(struct sockbuf *sb, uint32_t bytes)
{
    if (bytes > sb->cc)
        panic("socket buffer: %lu bytes to drop, but it holds %lu", (unsigned long)bytes, (unsigned long)sb->cc);
    sb->cc -= bytes;
    while (bytes) {
        struct mbuf *m = STAILQ_FIRST(&sb->packets);
        if (bytes < m->m_len) {
            m_adj(m, bytes);
            return;
        }
        bytes -= m->m_len;
        STAILQ_REMOVE_HEAD(&sb->packets, m_nextpkt);
        m_free(m);
    }
}

void sb_copy(const struct sockbuf *sb, uint32_t from, uint32_t bytes, uint8_t *to)
{
    const struct mbuf *m = STAILQ_FIRST(&sb->packets);
    for (; bytes && from >= m->m_len; m = STAILQ_NEXT(m, m_nextpkt))
        from -= m->m_len;
    for (; bytes; m = STAILQ_NEXT(m, m_nextpkt), from = 0) {
        uint32_t n = MIN(m->m_len - from, bytes);
        memcpy(to, m->m_data + from, n);
        to += n;
        bytes -= n;
    }
}

void sb_flush(struct sockbuf *sb)
{
    sb_drop(sb, sb->cc);
}

/* No mbuf for the next piece: 0, go on, or with `chain` it can be sent meanwhile; or an error. */
static int sb_no_mbuf(const struct mbuf *chain, uint32_t bytes, bool waits, uint32_t ticks)
{
    if (chain)
        return waits ? 0 : -ENOBUFS;
    int error = pool_wait(&mbuf_pool, waits, ticks);
    return error || bytes <= MLEN ? error : pool_wait(&cluster_pool, waits, ticks);
}

struct mbuf *sb_taken_in(struct transfer *t, uint32_t most, bool waits, uint32_t ticks, int *error)
{
    struct mbuf *chain = 0, **end = &chain;
    *error = 0;
    while (t->left && most) {
        uint32_t bytes = MIN(MIN(t->left, most), MCLBYTES);
        struct mbuf *m = m_get(bytes, M_USER);
        if (!m) {
            *error = sb_no_mbuf(chain, bytes, waits, ticks);
            if (*error || chain)
                break;
            continue;
        }
        m->m_len = bytes;
        *error = transfer_in(t, m->m_data, m->m_len);
        if (*error) {
            m_free(m);
            break;
        }
        most -= m->m_len;
        *end = m;
        end = &STAILQ_NEXT(m, m_nextpkt);
    }
    return chain;
}
