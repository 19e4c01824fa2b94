/*
 * The boot arguments: words `key=value` separated by spaces, which the loader writes into the image
 * (BOOTARGS_SIZE bytes with the final 0). Each is declared in support/parameters/boot.py; BOOT(OWNER, NAME) gives its
 * name, default and limit to the functions below.
 */
#ifndef LIB_BOOTARGS_H
#define LIB_BOOTARGS_H

#include <stdint.h>

#include <generated/boot.h>

/* The buffer, in the image (arch/start.S); the image header gives its address. */
extern char bootargs[];

/* The boot argument seed=, which perturbs memory, PIC link and tests alike. */
extern uint32_t run_seed;

void bootargs_init(void); /* hart 0, before everything else */

/*
 * The value of `key`, copied to `value` (panics if it has more than `size` - 1 characters), or `otherwise` if the key
 * is not there.
 */
const char *bootargs_string(const char *key, const char *otherwise, char *value, unsigned size);

/* The number of `key`, decimal or 0x, or `otherwise`. Panics if it is not a number up to `most`. */
uint32_t bootargs_number(const char *key, uint32_t otherwise, uint32_t most);
#endif
