/*
 * What the machine does between two commands of GDB's: which harts stop and run, and what is reported (debug.h). The
 * hart that holds the server lock decides. Locking: the server lock, for all but server_try.
 */
#ifndef DEBUG_SERVER_H
#define DEBUG_SERVER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the lock was acquired; interrupts must be off on chip. */
bool server_try(void);
void server_release(void);

/* With `wait` input from GDB is ignored before the machine stops for the first time. */
void server_init(unsigned harts, bool wait);

/* While the machine runs: handles input from GDB. */
void server_listen(void);

/* Whether GDB has sent a command for which the running machine must stop. May be read without the lock. */
bool server_wants_stop(void);

/* The turn of a stopped hart. Returns when the hart may have been released. */
void server_serve(unsigned hart);

/* Tell GDB, if it is connected, that the run has ended. */
void server_exit(uint32_t code);
#endif
