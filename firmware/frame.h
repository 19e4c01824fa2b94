/* Frames on the console line (protocol.h). */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* The CRC-32 of `length` bytes. */
uint32_t crc32(const uint8_t *bytes, uint32_t length);

/* The frame being received. */
struct frame {
    uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD + FRAME_CRC];
    struct frame_state {
        uint32_t length, crc; /* of the received part */
        enum { FRAME_OUTSIDE, FRAME_INSIDE, FRAME_ESCAPED } where;
    } now;
};

/* Takes received characters. True: a whole and correct frame has ended; the rest stays buffered. */
bool frame_receive(struct frame *f);

static inline uint8_t frame_type(const struct frame *f)
{
    return f->bytes[0];
}

static inline uint8_t frame_sequence(const struct frame *f)
{
    return f->bytes[1];
}

static inline const uint8_t *frame_payload(const struct frame *f)
{
    return f->bytes + FRAME_HEADER;
}

static inline unsigned frame_payload_length(const struct frame *f)
{
    return f->now.length - FRAME_HEADER - FRAME_CRC;
}

/* The number at `offset` of the payload. */
uint32_t frame_number(const struct frame *f, unsigned offset);

/* Sends a frame, piece by piece; its payload is at most FRAME_PAYLOAD bytes. */
void frame_begin(uint8_t type, uint8_t sequence);
void frame_put(uint8_t byte);
void frame_put_number(uint32_t number);
void frame_end(void);
#endif
