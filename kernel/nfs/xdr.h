/*
 * XDR (RFC 4506): numbers of four bytes, the most significant first (4.1, 4.2), of eight (4.5), opaque bytes padded to
 * a multiple of four with 0 (4.9, 4.10). A cursor over a message: it advances `at` up to `end`. Data that does not fit,
 * or is missing, gives 0 and sets `failed`; so many values may be read before one check of it.
 */
#ifndef NFS_XDR_H
#define NFS_XDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "net/in.h"

struct xdr {
    uint8_t *at, *end;
    bool failed;
};

static inline uint32_t xdr_padded(uint32_t n)
{
    return (n + 3) & ~3u;
}

static inline uint32_t xdr_left(const struct xdr *x)
{
    return (uint32_t)(x->end - x->at);
}

/* `n` bytes and their padding: their address, or null. */
static inline uint8_t *xdr_take(struct xdr *x, uint32_t n)
{
    uint8_t *here = x->at;
    if (x->failed || n > xdr_left(x) || xdr_padded(n) > xdr_left(x)) {
        x->failed = true;
        return 0;
    }
    x->at += xdr_padded(n);
    return here;
}

static inline uint32_t xdr_get(struct xdr *x)
{
    const uint8_t *p = xdr_take(x, 4);
    return p ? get32(p) : 0;
}

static inline uint64_t xdr_get_hyper(struct xdr *x)
{
    uint64_t high = xdr_get(x);
    return high << 32 | xdr_get(x);
}

/* A length of at most `most` and that many bytes (4.10); null: malformed. */
static inline const uint8_t *xdr_get_opaque(struct xdr *x, uint32_t most, uint32_t *n)
{
    *n = xdr_get(x);
    if (*n > most)
        x->failed = true;
    return xdr_take(x, *n);
}

static inline void xdr_put(struct xdr *x, uint32_t value)
{
    uint8_t *p = xdr_take(x, 4);
    if (p)
        put32(p, value);
}

static inline void xdr_put_hyper(struct xdr *x, uint64_t value)
{
    xdr_put(x, (uint32_t)(value >> 32));
    xdr_put(x, (uint32_t)value);
}

static inline void xdr_put_bytes(struct xdr *x, const void *bytes, uint32_t n)
{
    uint8_t *p = xdr_take(x, n);
    if (!p)
        return;
    memset(p + n, 0, xdr_padded(n) - n);
    memcpy(p, bytes, n);
}

static inline void xdr_put_opaque(struct xdr *x, const void *bytes, uint32_t n)
{
    xdr_put(x, n);
    xdr_put_bytes(x, bytes, n);
}
#endif
