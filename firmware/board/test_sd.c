/*
 * The SD card: is woken, told to use four data lines, and gives its first block twice, alike. (LiteSDCard takes the
 * card's own CRC of a block off without a look.) Nothing is written to it.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdint.h>

#include "frame.h"
#include "hart.h"
#include "selftest.h"

#ifdef CSR_SDCARD_CORE_BASE

#define BLOCK 512
#define WAKING_HZ 400000
#define READING_HZ 25000000
#define COMMAND_MS 5       /* a card answers within 64 of its clocks; the core itself would wait for a second */
#define WAKING_MS 1000     /* a card may take that to get ready */
#define READING_MS 200

#define NO_RESPONSE 0
#define SHORT_RESPONSE 1
#define LONG_RESPONSE 2
#define BUSY_RESPONSE 3
#define READS_DATA (1 << 5)
#define EVENT_DONE 1
#define EVENT_ERROR 0xe

/* Commands of the SD specification, part 1, 4.7.4. */
#define GO_IDLE 0
#define ALL_SEND_CID 2
#define SEND_RELATIVE_ADDRESS 3
#define SET_BUS_WIDTH 6 /* application command */
#define SELECT_CARD 7
#define SEND_IF_COND 8
#define SET_BLOCKLEN 16
#define READ_SINGLE_BLOCK 17
#define SEND_OP_COND 41 /* application command */
#define APP_CMD 55

#define IF_COND 0x1aa                /* 2.7 to 3.6 V, and a pattern that comes back */
#define OP_COND 0x40ff8000           /* high capacity is understood, 2.7 to 3.6 V */
#define OCR_READY 0x80000000
#define OCR_BLOCKS 0x40000000        /* high capacity: addresses are blocks, not bytes */
#define FOUR_LINES 2

static uint32_t divider; /* of the system clock: cycles of one of the card's */

static void set_clock(uint32_t hz)
{
    divider = 2;
    while (divider < 256 && CONFIG_CLOCK_FREQUENCY / divider > hz)
        divider *= 2;
    sdcard_phy_clocker_divider_write(divider);
}

static int done(uint32_t (*event)(void), uint32_t ms)
{
    for (uint32_t start = cycles(); !(event() & EVENT_DONE);)
        if (elapsed(start, ms * CYCLES_PER_MS))
            return 0;
    return !(event() & EVENT_ERROR);
}

/*
 * True if the card has answered, where the command has an answer. Behind an answer LiteSDCard gives the card eight more
 * clocks, in which it would not keep the next command apart from them.
 */
static int command(unsigned number, uint32_t argument, unsigned kind)
{
    for (uint32_t start = cycles(); !elapsed(start, 16 * divider);)
        ;
    sdcard_core_cmd_argument_write(argument);
    sdcard_core_cmd_command_write(number << 8 | kind);
    sdcard_core_cmd_send_write(1);
    return done(sdcard_core_cmd_event_read, COMMAND_MS);
}

/* The 32 bits of a short answer: the last word of the register. */
static uint32_t answer(void)
{
    return *word_at(CSR_SDCARD_CORE_CMD_RESPONSE_ADDR + 12);
}

static int application(unsigned number, uint32_t relative, uint32_t argument, unsigned kind)
{
    return command(APP_CMD, relative, SHORT_RESPONSE) && command(number, argument, kind);
}

/* The operating conditions of a card that is ready, or 0. */
static uint32_t wake(void)
{
    for (uint32_t start = cycles(); !elapsed(start, WAKING_MS * CYCLES_PER_MS); delay_ms(1))
        if (application(SEND_OP_COND, 0, OP_COND, BUSY_RESPONSE) && answer() & OCR_READY)
            return answer();
    return 0;
}

static uint8_t *const buffer = (uint8_t *)MAIN_RAM_BASE;

/* The CRC-32 of block 0 in `crc`; true if the card gave it. */
static int read_first_block(uint8_t background, uint32_t *crc)
{
    for (unsigned i = 0; i < BLOCK; i++)
        buffer[i] = background;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    (void)crc32(buffer, BLOCK); /* into the cache, which has to see the card's data go past it */
    sdcard_block2mem_dma_enable_write(0);
    sdcard_block2mem_dma_base_write((uint32_t)buffer);
    sdcard_block2mem_dma_length_write(BLOCK);
    sdcard_block2mem_dma_enable_write(1);
    sdcard_core_block_length_write(BLOCK);
    sdcard_core_block_count_write(1);
    int read = command(READ_SINGLE_BLOCK, 0, READS_DATA | SHORT_RESPONSE) &&
               done(sdcard_core_data_event_read, READING_MS) && done(sdcard_block2mem_dma_done_read, READING_MS);
    sdcard_block2mem_dma_enable_write(0);
    *crc = crc32(buffer, BLOCK);
    return read;
}

void test_sd(int whole)
{
    (void)whole;
    if (!main_ram_works()) {
        absent("needs main RAM");
        return;
    }
    set_clock(WAKING_HZ);
    delay_ms(1);
    sdcard_phy_init_initialize_write(1); /* 80 clocks */
    delay_ms(1);
    command(GO_IDLE, 0, NO_RESPONSE);
    if (!command(SEND_IF_COND, IF_COND, SHORT_RESPONSE)) {
        absent("no card answers");
        return;
    }
    if ((answer() & 0xfff) != IF_COND) {
        failed("the card answers 0x%lx to 0x%x", answer(), IF_COND);
        return;
    }
    uint32_t conditions = wake();
    if (!conditions) {
        failed("the card does not get ready");
        return;
    }
    if (!command(ALL_SEND_CID, 0, LONG_RESPONSE) || !command(SEND_RELATIVE_ADDRESS, 0, SHORT_RESPONSE)) {
        failed("the card does not identify itself");
        return;
    }
    uint32_t relative = answer() & 0xffff0000;
    if (!command(SELECT_CARD, relative, BUSY_RESPONSE) ||
        !application(SET_BUS_WIDTH, relative, FOUR_LINES, SHORT_RESPONSE) ||
        !command(SET_BLOCKLEN, BLOCK, SHORT_RESPONSE)) {
        failed("the card cannot be selected");
        return;
    }
    set_clock(READING_HZ);
    uint32_t first, second;
    if (!read_first_block(0x00, &first) || !read_first_block(0xff, &second))
        failed("block 0 does not come");
    else if (first != second)
        failed("block 0 comes with CRC-32 0x%08lx, then 0x%08lx", first, second);
    passed("%s capacity, CRC-32 of block 0 is 0x%08lx", conditions & OCR_BLOCKS ? "high" : "standard", first);
}

#else

void test_sd(int whole)
{
    (void)whole;
    absent("this board has none");
}

#endif
