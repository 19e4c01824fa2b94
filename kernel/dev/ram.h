/* The latency of main RAM, which the SoC adds to each read that misses all caches. */
#ifndef DEV_RAM_H
#define DEV_RAM_H

void ram_init(void); /* boot arguments ram_*: hart 0 */
#endif
