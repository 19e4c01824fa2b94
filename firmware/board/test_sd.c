/*
 * The SD card is initialised, set to four data lines, and its first block is read twice, with the same content: through
 * the disk controller's data register, and by its DMA. Nothing is written to it. The card is left as a drive: kernels
 * know nothing of cards.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdint.h>

#include "frame.h"
#include "hart.h"
#include "selftest.h"

#ifdef CSR_SDCARD_BASE

#include <generated/disk_regs.h>

#define BLOCK 512
#define WAKING_HZ 400000
#define READING_HZ 25000000
#define LEAST_DIVIDER 4 /* soc/boards/sdcard.py */
#define WAKING_MS 1000  /* most that a card may take to become ready */
#define READING_MS 500

/* The kind of a command's answer; | CHECKED where the answer has a CRC. */
#define NONE 0
#define SHORT 1
#define LONG 2
#define BUSY 3
#define CHECKED (1 << 2)

/* Commands of the SD specification, part 1, 4.7.4. */
#define GO_IDLE 0
#define ALL_SEND_CID 2
#define SEND_RELATIVE_ADDRESS 3
#define SET_BUS_WIDTH 6 /* application command */
#define SELECT_CARD 7
#define SEND_IF_COND 8
#define SEND_CSD 9
#define SET_BLOCKLEN 16
#define SEND_OP_COND 41 /* application command */
#define APP_CMD 55

#define IF_COND 0x1aa                /* 2.7 to 3.6 V, and a pattern that is echoed */
#define OP_COND 0x40ff8000           /* high capacity is supported, 2.7 to 3.6 V */
#define OCR_READY 0x80000000
#define OCR_BLOCKS 0x40000000        /* high capacity: addresses are blocks, not bytes */
#define FOUR_LINES 2

#define DISK(name) (*word_at(DISK0_BASE + DISK_##name))

static void set_clock(uint32_t hz)
{
    uint32_t divider = LEAST_DIVIDER;
    while (divider < 256 && CONFIG_CLOCK_FREQUENCY / divider > hz)
        divider *= 2;
    sdcard_divider_write(divider);
}

/* True if the card has answered, where the command has an answer. The core itself times out. */
static int sent(uint32_t word)
{
    uint32_t status;
    sdcard_command_write(word);
    while ((status = sdcard_status_read()) & 1 << CSR_SDCARD_STATUS_BUSY_OFFSET)
        ;
    return !(status >> CSR_SDCARD_STATUS_FAULT_OFFSET);
}

static int command(unsigned number, uint32_t argument, unsigned kind)
{
    sdcard_argument_write(argument);
    return sent(number << CSR_SDCARD_COMMAND_INDEX_OFFSET | (kind & 3) << CSR_SDCARD_COMMAND_KIND_OFFSET |
                !!(kind & CHECKED) << CSR_SDCARD_COMMAND_CHECKED_OFFSET);
}

/* Bits 32 * n and up of the answer: of a short one n is 0. */
static uint32_t answer(unsigned n)
{
    return *word_at(CSR_SDCARD_RESPONSE_ADDR + 12 - 4 * n);
}

static int application(unsigned number, uint32_t relative, uint32_t argument, unsigned kind)
{
    return command(APP_CMD, relative, SHORT | CHECKED) && command(number, argument, kind);
}

/* The operating conditions of a card that is ready, or 0. */
static uint32_t wake(uint32_t asked)
{
    for (uint32_t start = cycles(); !elapsed(start, WAKING_MS * CYCLES_PER_MS); delay_ms(1))
        if (application(SEND_OP_COND, 0, asked, SHORT) && answer(0) & OCR_READY)
            return answer(0);
    return 0;
}

/* From the card's register CSD (5.3): of high capacity its size in units of 512 KiB, else three factors. */
static uint32_t sectors(void)
{
    if (answer(3) >> 30)
        return (((answer(1) >> 16 | answer(2) << 16) & 0x3fffff) + 1) << 10;
    uint32_t size = (answer(1) >> 30 | answer(2) << 2) & 0xfff, factor = answer(1) >> 15 & 7,
             length = answer(2) >> 16 & 15;
    return (size + 1) << (factor + 2 + length - 9);
}

static uint8_t *const buffer = (uint8_t *)MAIN_RAM_BASE;

static int read_by_register(uint32_t *crc)
{
    uint32_t status = 0;
    DISK(LBA) = 0;
    DISK(COUNT) = 1;
    DISK(COMMAND) = DISK_COMMAND_OP_READ;
    for (uint32_t start = cycles(); !((status |= DISK(STATUS)) & DISK_STATUS_DRQ_MASK);)
        if (status & DISK_STATUS_DONE_MASK || elapsed(start, READING_MS * CYCLES_PER_MS))
            return 0;
    for (unsigned i = 0; i < BLOCK; i += 2) {
        uint32_t half = DISK(DATA);
        buffer[i] = (uint8_t)half;
        buffer[i + 1] = (uint8_t)(half >> 8);
    }
    *crc = crc32(buffer, BLOCK);
    return 1;
}

/* The controller's format (hw/disk/README.md): after the block, in a ring of one. */
static int read_by_dma(uint32_t *crc)
{
    volatile uint32_t *request = (volatile uint32_t *)(buffer + BLOCK), *segment = request + 8,
                      *completion = request + 10;
    request[0] = DISK_COMMAND_OP_READ;
    request[1] = 1;
    request[2] = 0;
    request[4] = (uint32_t)segment;
    request[5] = 1;
    segment[0] = (uint32_t)buffer;
    segment[1] = BLOCK;
    completion[0] = completion[1] = 0;
    for (unsigned i = 0; i < BLOCK; i++)
        buffer[i] = 0xff;
    (void)crc32(buffer, BLOCK); /* fills the cache, which has to snoop the card's data */
    io_fence();
    DISK(SQ_BASE) = (uint32_t)request;
    DISK(CQ_BASE) = (uint32_t)completion;
    DISK(ENTRIES) = 0;
    DISK(SQ_TAIL) = 1;
    for (uint32_t start = cycles(); !DISK(CQ_TAIL);)
        if (elapsed(start, READING_MS * CYCLES_PER_MS))
            return 0;
    *crc = crc32(buffer, BLOCK);
    return 1;
}

static void reset_controller(void)
{
    DISK(CONTROL) = DISK_CONTROL_RESET_MASK;
    for (uint32_t start = cycles(); DISK(CONTROL) & DISK_CONTROL_RESET_MASK;)
        if (elapsed(start, READING_MS * CYCLES_PER_MS))
            return;
}

void test_sd(int whole)
{
    (void)whole;
    sdcard_sectors_write(0);
    reset_controller();
    if (!main_ram_works()) {
        absent("needs main RAM");
        return;
    }
    set_clock(WAKING_HZ);
    delay_ms(1);
    sent(1 << CSR_SDCARD_COMMAND_WAKE_OFFSET);
    command(GO_IDLE, 0, NONE);
    /* One of version 1 does not know the command, and counts in bytes. */
    int old = !command(SEND_IF_COND, IF_COND, SHORT | CHECKED);
    if (old && !command(APP_CMD, 0, SHORT | CHECKED)) {
        absent("no card answers");
        return;
    }
    if (!old && (answer(0) & 0xfff) != IF_COND) {
        failed("the card answers 0x%lx to 0x%x", answer(0), IF_COND);
        return;
    }
    uint32_t conditions = wake(old ? OP_COND & ~OCR_BLOCKS : OP_COND);
    if (!conditions) {
        failed("the card does not get ready");
        return;
    }
    if (!command(ALL_SEND_CID, 0, LONG) || !command(SEND_RELATIVE_ADDRESS, 0, SHORT | CHECKED)) {
        failed("the card does not identify itself");
        return;
    }
    uint32_t relative = answer(0) & 0xffff0000;
    if (!command(SEND_CSD, relative, LONG | CHECKED)) {
        failed("the card does not tell its size");
        return;
    }
    uint32_t size = sectors();
    if (!command(SELECT_CARD, relative, BUSY) || !application(SET_BUS_WIDTH, relative, FOUR_LINES, SHORT | CHECKED) ||
        !command(SET_BLOCKLEN, BLOCK, SHORT | CHECKED)) {
        failed("the card cannot be selected");
        return;
    }
    set_clock(READING_HZ);
    sdcard_card_write(relative >> 16 << CSR_SDCARD_CARD_RELATIVE_OFFSET | !!(conditions & OCR_BLOCKS)
                                                                              << CSR_SDCARD_CARD_BLOCKS_OFFSET);
    sdcard_sectors_write(size);
    uint32_t first = 0, second = 0;
    if (!read_by_register(&first) || !read_by_dma(&second))
        failed("block 0 does not come, fault %ld", sdcard_faults_read() & 7);
    else if (first != second)
        failed("block 0 comes with CRC-32 0x%08lx, then 0x%08lx", first, second);
    passed("%ld MiB, CRC-32 of block 0 is 0x%08lx", size >> 11, first);
    reset_controller();
}

#else

void test_sd(int whole)
{
    (void)whole;
    absent("this board has none, or does not serve it");
}

#endif
