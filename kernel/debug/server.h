/*
 * What the machine does between two words of GDB's: who stops, who runs, who is told (debug.h). The hart that holds the
 * server lock decides. Locking: the server lock, for all but server_try.
 */
#ifndef DEBUG_SERVER_H
#define DEBUG_SERVER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the lock could be had; interrupts are off on chip. */
bool server_try(void);
void server_release(void);

/* With `wait` GDB is not listened to before the machine stops for the first time. */
void server_init(unsigned harts, bool wait);

/* While the machine runs: what has come from GDB. */
void server_listen(void);

/* Whether GDB has said something that wants the running machine to stop. May be looked at without the lock. */
bool server_wants_stop(void);

/* The turn of a stopped hart. Returns when the hart may have been let go. */
void server_serve(unsigned hart);

/* Tell GDB that the run has ended, if it is there. */
void server_exit(uint32_t code);
#endif
