/* Unpacks LZ4 blocks (their format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md). */
#ifndef UNPACK_H
#define UNPACK_H

#include <stdbool.h>
#include <stdint.h>

/* Unpacks the block of `length` bytes to `to`, which has `room` bytes. False if it is invalid, or too long. */
bool unpack(const uint8_t *block, uint32_t length, uint8_t *to, uint32_t room);
#endif
