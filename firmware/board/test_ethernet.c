/* Ethernet, as far as it goes without a peer that answers: the PHY says who it is, and whether it has a link. */
#include <generated/csr.h>
#include <generated/soc.h>
#include <stdint.h>

#include "hart.h"
#include "selftest.h"

#ifdef CSR_ETHPHY_MDIO_W_ADDR

/* IEEE 802.3, 22.2.4 */
#define STATUS 1
#define STATUS_LINK (1 << 2)
#define IDENTIFIER_HIGH 2
#define IDENTIFIER_LOW 3
#define ADDRESSES 32

#define NEGOTIATION_MS 5000

/* The management bus, IEEE 802.3, 22.2.4.5. LiteX's own functions for it take a hundred times as long as it may. */
#define CLOCK (1 << CSR_ETHPHY_MDIO_W_MDC_OFFSET)
#define DRIVEN (1 << CSR_ETHPHY_MDIO_W_OE_OFFSET)
#define HIGH (1 << CSR_ETHPHY_MDIO_W_W_OFFSET)
#define HALF_BIT (CONFIG_CLOCK_FREQUENCY / 4000000 + 1) /* cycles; the bus takes 2.5 MHz */

static void half_bit(uint32_t pins)
{
    ethphy_mdio_w_write(pins);
    for (uint32_t start = cycles(); !elapsed(start, HALF_BIT);)
        ;
}

/* What the line was before the PHY saw the clock rise. */
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

/* The bit stays down until it is read once it has been. */
static int has_link(uint32_t phy)
{
    (void)mdio_read(phy, STATUS);
    return !!(mdio_read(phy, STATUS) & STATUS_LINK);
}

void test_ethernet(int whole)
{
    for (uint32_t phy = 0; phy < ADDRESSES; phy++) {
        uint32_t high = mdio_read(phy, IDENTIFIER_HIGH);
        if (high == 0xffff) /* the line is pulled up: nobody is there */
            continue;
        uint32_t identifier = high << 16 | mdio_read(phy, IDENTIFIER_LOW);
        int link = has_link(phy);
        for (uint32_t ms = 0; whole && !link && ms < NEGOTIATION_MS; ms += 100) {
            delay_ms(100);
            link = has_link(phy);
        }
        if (!link)
            absent("no link; PHY %08lx at %ld answers", identifier, phy);
        passed("link; PHY %08lx at %ld", identifier, phy);
        return;
    }
    failed("no PHY answers");
}

#else

void test_ethernet(int whole)
{
    (void)whole;
    absent("this board has none");
}

#endif
