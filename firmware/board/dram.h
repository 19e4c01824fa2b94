/* Main RAM: LiteDRAM's initialisation and, where the PHY has it, its training. */
#ifndef DRAM_H
#define DRAM_H

/* Initialises the main RAM; prints the training's results on the console. The memory test checks whether it works. */
void dram_init(void);
#endif
