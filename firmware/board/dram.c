#include "dram.h"

#include <generated/csr.h>

#ifdef CSR_SDRAM_BASE
int sdram_init(void); /* LiteX's liblitedram */

void dram_init(void)
{
    sdram_init();
}
#else
void dram_init(void)
{
    /* Main RAM without initialisation: the simulator's. */
}
#endif
