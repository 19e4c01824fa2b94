/* Main RAM: LiteDRAM's initialisation and, where the PHY has it, its training. */
#ifndef DRAM_H
#define DRAM_H

/* Brings the main RAM up; tells on the console what was trained. Whether it works is the memory test's to say. */
void dram_init(void);
#endif
