/* Ethernet, as far as it goes without a peer that answers: the PHY says who it is, and whether it has a link. */
#include <generated/csr.h>
#include <stdint.h>

#include "hart.h"
#include "selftest.h"

#ifdef CSR_ETHPHY_MDIO_W_ADDR

int mdio_read(int phy, int reg); /* LiteX's libliteeth */

/* IEEE 802.3, 22.2.4 */
#define STATUS 1
#define STATUS_LINK (1 << 2)
#define IDENTIFIER_HIGH 2
#define IDENTIFIER_LOW 3
#define ADDRESSES 32

#define NEGOTIATION_MS 5000

/* The bit stays down until it is read once it has been. */
static int has_link(int phy)
{
    (void)mdio_read(phy, STATUS);
    return mdio_read(phy, STATUS) & STATUS_LINK;
}

void test_ethernet(int whole)
{
    for (int phy = 0; phy < ADDRESSES; phy++) {
        uint32_t high = mdio_read(phy, IDENTIFIER_HIGH), low = mdio_read(phy, IDENTIFIER_LOW);
        uint32_t identifier = high << 16 | low;
        if (identifier == 0 || identifier == 0xffffffff)
            continue;
        int link = has_link(phy);
        for (uint32_t ms = 0; whole && !link && ms < NEGOTIATION_MS; ms += 100) {
            delay_ms(100);
            link = has_link(phy);
        }
        if (!link)
            absent("no link; PHY %08lx at %d answers", identifier, phy);
        passed("link; PHY %08lx at %d", identifier, phy);
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
