/* Frames on the console line (frame.h). */
#include "frame.h"

#include "line.h"

#define NO_CRC 0xffffffff
#define RIGHT_CRC 0xdebb20e3 /* what is left of any bytes with their CRC behind them */

/* Four bits at a time: the table of a whole byte would be 1 KiB of the ROM. */
static uint32_t crc32_byte(uint32_t crc, uint8_t byte)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc ^= byte;
    crc = crc >> 4 ^ table[crc & 15];
    return crc >> 4 ^ table[crc & 15];
}

uint32_t crc32(uint32_t crc, const volatile void *bytes, uint32_t length)
{
    crc = ~crc;
    for (const volatile uint8_t *at = bytes; length--; at++)
        crc = crc32_byte(crc, *at);
    return ~crc;
}

static bool is_mark(uint8_t c)
{
    return c == FRAME_BEGIN || c == FRAME_END || c == FRAME_ESCAPE;
}

/* The CRC goes along with the characters: at the end of a long frame there would be no time for it. */
bool frame_take(struct frame *f, uint8_t c)
{
    if (c == FRAME_BEGIN) {
        f->state = FRAME_INSIDE;
        f->length = 0;
        f->crc = NO_CRC;
        return false;
    }
    if (f->state == FRAME_OUTSIDE)
        return false;
    if (c == FRAME_END) {
        bool whole = f->state == FRAME_INSIDE && f->length >= FRAME_HEADER + FRAME_CRC && f->crc == RIGHT_CRC;
        f->state = FRAME_OUTSIDE;
        f->length -= whole ? FRAME_CRC : 0;
        return whole;
    }
    if (c == FRAME_ESCAPE && f->state == FRAME_INSIDE) {
        f->state = FRAME_ESCAPED;
        return false;
    }
    if (f->state == FRAME_ESCAPED)
        c ^= FRAME_ESCAPED_BY;
    f->state = FRAME_INSIDE;
    if (f->length == sizeof f->bytes) {
        f->state = FRAME_OUTSIDE; /* too long to be one of ours: an end was lost */
        return false;
    }
    f->bytes[f->length++] = c;
    f->crc = crc32_byte(f->crc, c);
    return false;
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
