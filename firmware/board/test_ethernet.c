/*
 * Ethernet, as far as can be tested without a peer that answers: frames return in the core's own loopback, before the
 * PHY; the PHY gives its identifier, and whether it has a link.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdint.h>

#include "hart.h"
#include "selftest.h"

#ifdef CSR_ETHER_BASE

#define LOOP_MS 2
#define BUFFER 2048
#define AHEAD 2 /* bytes before a received frame */
#define DONE 0x80000000
#define LENGTH 0xffff
#define GIGABIT 2

/* The core's format (hw/ether/README.md). */
struct descriptor {
    uint32_t address, size;
    volatile uint32_t status, stamp;
};

static struct {
    struct descriptor receive[2], send[2];
    uint8_t received[BUFFER], sent[BUFFER];
} *const memory = (void *)MAIN_RAM_BASE;

static void describe(struct descriptor *d, const uint8_t *bytes, uint32_t size)
{
    d->address = (uint32_t)bytes;
    d->size = size;
    d->status = 0;
}

static uint8_t content(unsigned length, unsigned i)
{
    return (uint8_t)(i * 29 + length + (i >> 8));
}

/* The fate of a frame of `length` bytes that is sent in the loopback: it returns, whole. */
static const char *frame_in_a_loop(unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        memory->sent[i] = content(length, i);
    describe(&memory->receive[0], memory->received, BUFFER);
    describe(&memory->send[0], memory->sent, length);
    io_fence();
    ether_rx0_base_write((uint32_t)memory->receive);
    ether_rx1_base_write((uint32_t)memory->receive);
    ether_tx_base_write((uint32_t)memory->send);
    ether_rx_mask_write(1);
    ether_tx_mask_write(1);
    ether_enable_write(0);
    ether_control_write(1 << CSR_ETHER_CONTROL_RECEIVE_OFFSET | 1 << CSR_ETHER_CONTROL_TRANSMIT_OFFSET |
                        1 << CSR_ETHER_CONTROL_PROMISCUOUS_OFFSET | 1 << CSR_ETHER_CONTROL_LOOP_OFFSET |
                        GIGABIT << CSR_ETHER_CONTROL_SPEED_OFFSET);
    ether_rx0_tail_write(1);
    ether_tx_tail_write(1);
    const char *found = 0;
    for (uint32_t start = cycles(); !(memory->receive[0].status & DONE) && !found;)
        if (elapsed(start, LOOP_MS * CYCLES_PER_MS))
            found = "does not come back";
    if (!found && (memory->receive[0].status & LENGTH) != length)
        found = "comes back with another length";
    for (unsigned i = 0; i < length && !found; i++)
        if (memory->received[AHEAD + i] != content(length, i))
            found = "comes back as another one";
    ether_control_write(GIGABIT << CSR_ETHER_CONTROL_SPEED_OFFSET | 1 << CSR_ETHER_CONTROL_LOOP_OFFSET);
    for (uint32_t start = cycles();
         ether_status_read() & (1 << CSR_ETHER_STATUS_RECEIVING_OFFSET | 1 << CSR_ETHER_STATUS_SENDING_OFFSET);)
        if (elapsed(start, LOOP_MS * CYCLES_PER_MS))
            return "does not end";
    ether_rx0_tail_write(0);
    ether_tx_tail_write(0);
    ether_acknowledge_write(~0u);
    ether_control_write(GIGABIT << CSR_ETHER_CONTROL_SPEED_OFFSET);
    return found;
}

/* The hash of frames other than IP is 0: they go to queue 0. */
static int loop(void)
{
    static const unsigned lengths[] = {60, 1514};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const char *found = frame_in_a_loop(lengths[i]);
        if (found) {
            failed("a frame of %d bytes in a loop %s", lengths[i], found);
            return 0;
        }
    }
    return 1;
}

#ifdef CSR_ETHPHY_MDIO_W_ADDR

/* IEEE 802.3, 22.2.4 */
#define STATUS 1
#define STATUS_LINK (1 << 2)
#define IDENTIFIER_HIGH 2
#define IDENTIFIER_LOW 3
#define ADDRESSES 32

#define NEGOTIATION_MS 5000

/* The management bus, IEEE 802.3, 22.2.4.5. LiteX's own functions for it are a hundred times as slow as needed. */
#define CLOCK (1 << CSR_ETHPHY_MDIO_W_MDC_OFFSET)
#define DRIVEN (1 << CSR_ETHPHY_MDIO_W_OE_OFFSET)
#define HIGH (1 << CSR_ETHPHY_MDIO_W_W_OFFSET)
#define HALF_BIT (CONFIG_CLOCK_FREQUENCY / 4000000 + 1) /* cycles; the bus allows 2.5 MHz */

static void half_bit(uint32_t pins)
{
    ethphy_mdio_w_write(pins);
    for (uint32_t start = cycles(); !elapsed(start, HALF_BIT);)
        ;
}

/* The line's level before the PHY saw the clock rise. */
static uint32_t bit(uint32_t pins)
{
    half_bit(pins);
    uint32_t line = ethphy_mdio_r_read() & 1;
    half_bit(pins | CLOCK);
    return line;
}

static void send(uint32_t bits, unsigned count)
{
    while (count--)
        bit(DRIVEN | (bits >> count & 1 ? HIGH : 0));
}

static uint32_t mdio_read(uint32_t phy, uint32_t reg)
{
    send(0xffffffff, 32);
    send(0x6 << 10 | phy << 5 | reg, 14); /* start, read */
    bit(0);
    bit(0); /* the line changes hands */
    uint32_t value = 0;
    for (unsigned i = 0; i < 16; i++)
        value = value << 1 | bit(0);
    half_bit(0);
    return value;
}

/* The bit latches low: it stays down until it is read. */
static int has_link(uint32_t phy)
{
    (void)mdio_read(phy, STATUS);
    return !!(mdio_read(phy, STATUS) & STATUS_LINK);
}

static void test_phy(int whole, const char *frames)
{
    for (uint32_t phy = 0; phy < ADDRESSES; phy++) {
        uint32_t high = mdio_read(phy, IDENTIFIER_HIGH);
        if (high == 0xffff) /* the line is pulled up: no PHY drives it */
            continue;
        uint32_t identifier = high << 16 | mdio_read(phy, IDENTIFIER_LOW);
        int link = has_link(phy);
        for (uint32_t ms = 0; whole && !link && ms < NEGOTIATION_MS; ms += 100) {
            delay_ms(100);
            link = has_link(phy);
        }
        if (!link)
            absent("%sno link; PHY %08lx at %ld answers", frames, identifier, phy);
        passed("%slink; PHY %08lx at %ld", frames, identifier, phy);
        return;
    }
    failed("no PHY answers");
}

#else

static void test_phy(int whole, const char *frames)
{
    (void)whole;
    passed("%sno management of the PHY", frames);
}

#endif

void test_ethernet(int whole)
{
    const char *frames = "";
    if (main_ram_works()) {
        if (!loop())
            return;
        frames = "frames looped; ";
    }
    test_phy(whole, frames);
}

#else

void test_ethernet(int whole)
{
    (void)whole;
    absent("this board has none, or does not serve it");
}

#endif
