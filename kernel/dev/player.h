/*
 * The line player of boards (hw/player): bytes in main RAM arrive on the data port at a bit rate, from the trace event
 * TRACE_SERIAL_GO on, as if received over its line. In the simulator the harness does that.
 */
#ifndef DEV_PLAYER_H
#define DEV_PLAYER_H

#include <generated/csr.h>
#include <stdint.h>

#ifdef CSR_PLAYER_BASE
/* `bytes` is a multiple of 8, `length` is not 0. */
static inline void player_arm(const void *bytes, uint32_t length, uint32_t baud)
{
    player_run_write(0);
    while (player_busy_read())
        ;
    player_address_write((uint32_t)bytes);
    player_length_write(length);
    player_baud_write(baud);
    player_run_write(1);
    while (!player_ready_read())
        ;
}
#endif
#endif
