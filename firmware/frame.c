/* Frames on the console line (frame.h). */
#include "frame.h"

#include "line.h"

#define NO_CRC 0xffffffff
#define RIGHT_CRC 0xdebb20e3 /* the remainder of any bytes followed by their CRC */

#define POLL_BYTES 64 /* between polls of the line */

/*
 * The CRC's tables for the upper and the lower four bits of a byte: neither look-up waits for the other. (A ROM above
 * 4096 words takes many more look-up tables on small boards, and the SRAM has the stacks of eight harts.)
 */
static const uint32_t upper[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};
static const uint32_t lower[16] = {
    0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
    0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
};

/* Inlined: it runs for each byte of an image that is compared. */
static inline __attribute__((always_inline)) uint32_t crc32_byte(uint32_t crc, uint8_t byte)
{
    uint32_t at = crc ^ byte;
    return crc >> 8 ^ upper[at >> 4 & 0xf] ^ lower[at & 0xf];
}

uint32_t crc32(const uint8_t *bytes, uint32_t length)
{
    uint32_t crc = NO_CRC;
    for (const uint8_t *end = bytes + length; bytes < end;) {
        const uint8_t *part = end - bytes < POLL_BYTES ? end : bytes + POLL_BYTES;
        line_poll();
        do
            crc = crc32_byte(crc, *bytes++);
        while (bytes < part);
    }
    return ~crc;
}

static bool is_mark(uint8_t c)
{
    return c == FRAME_BEGIN || c == FRAME_END || c == FRAME_ESCAPE;
}

/*
 * The CRC is updated with each character: at the end of a long frame there would be no time for it. State that changes
 * with each of them is kept in registers.
 */
bool frame_receive(struct frame *f)
{
    struct frame_state now = f->now;
    bool whole = false;
    for (uint32_t count = line_waiting(); count && !whole; count--) {
        uint8_t c = line_take();
        if (c == FRAME_BEGIN) {
            now = (struct frame_state){0, NO_CRC, FRAME_INSIDE};
        } else if (now.where == FRAME_OUTSIDE) {
            continue;
        } else if (c == FRAME_END) {
            whole = now.where == FRAME_INSIDE && now.length >= FRAME_HEADER + FRAME_CRC && now.crc == RIGHT_CRC;
            now.where = FRAME_OUTSIDE;
        } else if (c == FRAME_ESCAPE && now.where == FRAME_INSIDE) {
            now.where = FRAME_ESCAPED;
        } else if (now.length == sizeof f->bytes) {
            now.where = FRAME_OUTSIDE; /* too long for a frame: an end was lost */
        } else {
            if (now.where == FRAME_ESCAPED)
                c ^= FRAME_ESCAPED_BY;
            now.where = FRAME_INSIDE;
            f->bytes[now.length++] = c;
            now.crc = crc32_byte(now.crc, c);
        }
    }
    f->now = now;
    return whole;
}

uint32_t frame_number(const struct frame *f, unsigned offset)
{
    const uint8_t *at = frame_payload(f) + offset;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t sent_crc;

static void put_escaped(uint8_t byte)
{
    if (is_mark(byte)) {
        line_put(FRAME_ESCAPE);
        byte ^= FRAME_ESCAPED_BY;
    }
    line_put(byte);
}

void frame_put(uint8_t byte)
{
    sent_crc = crc32_byte(sent_crc, byte);
    put_escaped(byte);
}

void frame_begin(uint8_t type, uint8_t sequence)
{
    line_put(FRAME_BEGIN);
    sent_crc = NO_CRC;
    frame_put(type);
    frame_put(sequence);
}

void frame_put_number(uint32_t number)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        frame_put((uint8_t)(number >> shift));
}

void frame_end(void)
{
    uint32_t crc = ~sent_crc;
    for (unsigned shift = 0; shift < 32; shift += 8)
        put_escaped((uint8_t)(crc >> shift));
    line_put(FRAME_END);
}
