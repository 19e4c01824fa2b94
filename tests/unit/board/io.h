/* Replaces I/O in far_end.c. */
#include <stdint.h>

uint32_t io_word(uint32_t address);
#define IO_WORD(address) io_word(address)
