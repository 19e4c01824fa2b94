/*
 * Tells the host that the run has ended, and which memory to copy out: in the simulator through the host
 * port (hw/host), on a board by returning to its boot ROM, which the host queries (firmware/service.h).
 */
#ifndef DEV_HOST_H
#define DEV_HOST_H

#include <stdint.h>

#define HOST_BLOB_RECEIVED 1 /* bytes received from the data port */

/* The run has ended; all printed output has been sent. */
_Noreturn void host_exit(uint32_t code);

/* Memory to be copied out: it must stay unchanged until the end of the run. One thread at a time; a board keeps 16. */
void host_blob(uint32_t kind, const void *address, uint32_t length);
#endif
