/*
 * The loader: answers the host's requests (protocol.h) on the console line, on one hart, until it starts an image on
 * all harts. And what it needs from the rest of a board's boot ROM.
 */
#ifndef LOADER_H
#define LOADER_H

#include <stdint.h>

#include "protocol.h"

struct service_end;

/* `how` an image has ended its run, or 0 out of reset. Interrupts are off. */
_Noreturn void loader(const struct service_end *how);

/* Runs the self-test `which` (LINK_TEST_SHORT, LINK_TEST_LONG), which reports on the console. */
void self_test(unsigned which);

/* The report of the last self-test: lines "name ok", "name failed: what" or "name absent"; and how many failed. */
const char *self_test_report(unsigned *failures);

/* Sends all harts, with this one, to the image at `entry`, each with fresh instructions and a0 = its number. */
_Noreturn void enter_image(uint32_t entry);

/* Called repeatedly while the host is silent. Takes no more than some ten cycles. */
void host_is_silent(void);

/* Acts like the board's reset button. */
_Noreturn void reset_machine(void);
#endif
