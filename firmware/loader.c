/* The loader (loader.h): one function per request, found in a table. */
#include "loader.h"

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdbool.h>

#include "frame.h"
#include "image.h"
#include "line.h"
#include "service.h"
#include "unpack.h"

#ifndef IO_WORD /* a test of the loader on the host has no I/O at these addresses */
#define IO_WORD(address) (*(const volatile uint32_t *)(uintptr_t)(address))
#endif
#define IO_BASE 0x80000000
#define SECOND CONFIG_CLOCK_FREQUENCY

static struct frame in;
static struct service_end end; /* a copy: the host may write to main RAM */
static bool ended;             /* a run has ended, as in `end` */
static bool heard;             /* a request has come since then */
static uint32_t noted;         /* when the host was last notified of the end, in cycles */
static bool trial;             /* of a new bit rate */
static uint32_t trial_began;   /* in cycles */
static uint32_t tested;        /* number of the last self-test, 0: the one at the start */

static void reply(uint32_t status)
{
    frame_begin(frame_type(&in) | LINK_REPLY, frame_sequence(&in));
    frame_put_number(status);
}

static void refuse(uint32_t status)
{
    reply(status);
    frame_end();
}

static void accept(void)
{
    refuse(LINK_OK);
}

static bool in_main_ram(uint32_t address, uint32_t count)
{
    return address >= MAIN_RAM_BASE && count <= MAIN_RAM_SIZE && address - MAIN_RAM_BASE <= MAIN_RAM_SIZE - count;
}

static bool words_of_io(uint32_t address, uint32_t count)
{
    return address >= IO_BASE && !(address & 3) && !(count & 3) && address + count >= address;
}

static void hello(void)
{
    uint64_t fingerprint = identity_fingerprint_read();
    reply(LINK_OK);
    frame_put_number(PROTOCOL_VERSION);
    frame_put_number(ended ? LINK_STATE_ENDED : LINK_STATE_IDLE);
    frame_put_number((uint32_t)fingerprint);
    frame_put_number((uint32_t)(fingerprint >> 32));
    frame_put_number(identity_harts_read());
    frame_put_number(CONFIG_CLOCK_FREQUENCY);
    frame_put_number(MAIN_RAM_BASE);
    frame_put_number(MAIN_RAM_SIZE);
    frame_put_number(line_room());
    for (const char *c = CONFIG_BOARD; *c; c++)
        frame_put((uint8_t)*c);
    frame_end();
}

static void write_memory(void)
{
    uint32_t count = frame_payload_length(&in) - 4;
    uint32_t address = frame_number(&in, 0);
    if (!in_main_ram(address, count)) {
        refuse(LINK_BAD_ADDRESS);
        return;
    }
    uint8_t *to = (uint8_t *)(uintptr_t)address;
    for (uint32_t i = 0; i < count; i++)
        to[i] = frame_payload(&in)[4 + i];
    accept();
}

static void write_packed(void)
{
    uint32_t address = frame_number(&in, 0);
    if (!in_main_ram(address, 0))
        refuse(LINK_BAD_ADDRESS);
    else if (!unpack(frame_payload(&in) + 4, frame_payload_length(&in) - 4, (uint8_t *)(uintptr_t)address,
                     MAIN_RAM_BASE + MAIN_RAM_SIZE - address))
        refuse(LINK_BAD_VALUE);
    else
        accept();
}

static void read_memory(void)
{
    uint32_t address = frame_number(&in, 0), count = frame_number(&in, 4);
    if (count > FRAME_DATA) {
        refuse(LINK_BAD_VALUE);
    } else if (in_main_ram(address, count)) {
        reply(LINK_OK);
        for (uint32_t i = 0; i < count; i++)
            frame_put(((const volatile uint8_t *)(uintptr_t)address)[i]);
        frame_end();
    } else if (words_of_io(address, count)) {
        reply(LINK_OK);
        for (uint32_t i = 0; i < count; i += 4)
            frame_put_number(IO_WORD(address + i));
        frame_end();
    } else {
        refuse(LINK_BAD_ADDRESS);
    }
}

static void check_memory(void)
{
    uint32_t address = frame_number(&in, 0), count = frame_number(&in, 4);
    if (!in_main_ram(address, count)) {
        refuse(LINK_BAD_ADDRESS);
        return;
    }
    uint32_t crc = crc32((const uint8_t *)(uintptr_t)address, count);
    reply(LINK_OK);
    frame_put_number(crc);
    frame_end();
}

static void set_baud(void)
{
    uint32_t baud = frame_number(&in, 0), made = line_made_baud(baud);
    if (!made) {
        refuse(LINK_BAD_VALUE);
        return;
    }
    reply(LINK_OK);
    frame_put_number(made);
    frame_end();
    line_flush();
    line_set_baud(baud);
    trial = true;
    trial_began = line_cycles();
}

static void run(void)
{
    uint32_t entry = frame_number(&in, 0);
    if (ended) {
        refuse(LINK_NOT_NOW);
    } else if (entry & 3 || !in_main_ram(entry, IMAGE_MAGIC_OFFSET + 4) ||
               *(const volatile uint32_t *)(uintptr_t)(entry + IMAGE_MAGIC_OFFSET) != IMAGE_MAGIC) {
        refuse(LINK_NO_IMAGE);
    } else {
        accept();
        line_flush();
        enter_image(entry);
    }
}

static void how_it_ended(void)
{
    if (!ended) {
        refuse(LINK_NOT_NOW);
        return;
    }
    reply(LINK_OK);
    frame_put_number(end.code);
    frame_put_number(end.blobs);
    for (uint32_t i = 0; i < end.blobs; i++) {
        frame_put_number(end.blob[i].kind);
        frame_put_number(end.blob[i].address);
        frame_put_number(end.blob[i].length);
    }
    frame_end();
}

/* A request repeated because its answer was lost starts no second test. */
static void test(void)
{
    uint32_t which = frame_number(&in, 0), number = frame_number(&in, 4);
    if (which != LINK_TEST_SHORT && which != LINK_TEST_LONG) {
        refuse(LINK_BAD_VALUE);
    } else if (ended) {
        refuse(LINK_NOT_NOW);
    } else {
        accept();
        if (number != tested)
            self_test(which);
        tested = number;
    }
}

static void report(void)
{
    unsigned failures;
    const char *text = self_test_report(&failures);
    reply(LINK_OK);
    frame_put_number(tested);
    frame_put_number(failures);
    for (unsigned i = 0; text[i] && i < FRAME_DATA - 8; i++)
        frame_put((uint8_t)text[i]);
    frame_end();
}

static void reset(void)
{
    accept();
    line_flush();
    reset_machine();
}

static const struct {
    void (*answer)(void);
    uint16_t least, most; /* bytes of its payload */
} requests[] = {
    [LINK_HELLO] = {hello, 0, 0},
    [LINK_WRITE] = {write_memory, 4, 4 + FRAME_DATA},
    [LINK_READ] = {read_memory, 8, 8},
    [LINK_CRC] = {check_memory, 8, 8},
    [LINK_BAUD] = {set_baud, 4, 4},
    [LINK_RUN] = {run, 4, 4},
    [LINK_ENDED] = {how_it_ended, 0, 0},
    [LINK_TEST] = {test, 8, 8},
    [LINK_REPORT] = {report, 0, 0},
    [LINK_RESET] = {reset, 0, 0},
    [LINK_PACKED] = {write_packed, 5, 4 + FRAME_DATA},
};

static void answer(void)
{
    unsigned type = frame_type(&in), length = frame_payload_length(&in);
    trial = false;
    heard = true;
    if (type >= sizeof requests / sizeof *requests || !requests[type].answer)
        refuse(LINK_UNKNOWN);
    else if (length < requests[type].least || length > requests[type].most)
        refuse(LINK_BAD_LENGTH);
    else
        requests[type].answer();
}

/* Time-outs: a bit rate that is not used is taken back, and an end that is not acknowledged is sent again. */
static void tick(void)
{
    uint32_t now = line_cycles();
    if (trial && now - trial_began > 2 * SECOND) {
        line_set_baud(LINE_RESET_BAUD);
        trial = false;
    }
    if (ended && !heard && now - noted > SECOND) {
        noted = now;
        frame_begin(LINK_NOTE_ENDED, 0);
        frame_put_number(end.code);
        frame_end();
    }
}

static void keep(const volatile struct service_end *how)
{
    end.code = how->code;
    end.blobs = how->blobs < SERVICE_MOST_BLOBS ? how->blobs : SERVICE_MOST_BLOBS;
    for (uint32_t i = 0; i < end.blobs; i++) {
        end.blob[i].kind = how->blob[i].kind;
        end.blob[i].address = how->blob[i].address;
        end.blob[i].length = how->blob[i].length;
    }
}

_Noreturn void loader(const struct service_end *how)
{
    ended = how;
    if (ended)
        keep(how);
    noted = line_cycles() - 2 * SECOND; /* so that the first notification is sent at once */
    heard = trial = false;
    tested = 0;
    in.now.where = FRAME_OUTSIDE;
    line_open();
    for (;;) {
        if (frame_receive(&in)) {
            answer();
        } else {
            tick();
            host_is_silent();
        }
    }
}
