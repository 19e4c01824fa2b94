/* LZ4 blocks (unpack.h): pieces of new bytes, each followed by a copy of bytes that came before. */
#include "unpack.h"

#include "line.h"

#define LONG 15       /* a length that continues in the next bytes */
#define LEAST_COPY 4
#define POLL_BYTES 64 /* between polls of the line */

/* Calls would save registers in the SRAM, a store to which costs more than the calls' work. */
#define INLINE static inline __attribute__((always_inline))

struct block {
    const uint8_t *next, *end;
    const uint8_t *look; /* when the output reaches this, the line is polled */
};

/* A length from its four bits in the token. False if the block ends within it. */
INLINE bool take_length(struct block *b, uint32_t *length)
{
    if (*length != LONG)
        return true;
    while (b->next < b->end) {
        uint8_t more = *b->next++;
        *length += more;
        if (more != 255)
            return true;
    }
    return false;
}

/* Upwards, byte by byte: a copy may overlap its own output. */
INLINE void copy(struct block *b, uint8_t *to, const uint8_t *from, uint32_t length)
{
    for (uint8_t *end = to + length; to < end;) {
        if (to >= b->look) {
            line_poll();
            b->look = to + POLL_BYTES;
        }
        const uint8_t *part = end < b->look ? end : b->look;
        do
            *to++ = *from++;
        while (to < part);
    }
}

bool unpack(const uint8_t *block, uint32_t length, uint8_t *to, uint32_t room)
{
    struct block b = {block, block + length, to};
    uint32_t made = 0;
    while (b.next < b.end) {
        uint8_t token = *b.next++;
        uint32_t count = token >> 4;
        if (!take_length(&b, &count) || count > (uint32_t)(b.end - b.next) || count > room - made)
            return false;
        copy(&b, to + made, b.next, count);
        b.next += count;
        made += count;
        if (b.next == b.end)
            return true; /* the last piece has no copy */
        if (b.end - b.next < 2)
            return false;
        uint32_t back = b.next[0] | (uint32_t)b.next[1] << 8;
        b.next += 2;
        count = token & LONG;
        if (!take_length(&b, &count))
            return false;
        count += LEAST_COPY;
        if (!back || back > made || count > room - made)
            return false;
        copy(&b, to + made, to + made - back, count);
        made += count;
    }
    return false;
}
