/* The host port (hw/host): tells whoever runs the target that it has ended, and which memory to copy out. */
#ifndef DEV_HOST_H
#define DEV_HOST_H

#include <generated/csr.h>

#include "arch/hart.h"

#define HOST_BLOB_RECEIVED 1 /* bytes received from the data port */

_Noreturn static inline void host_exit(uint32_t code)
{
    host_exit_write(code);
    for (;;)
        __asm__ volatile("wfi");
}

static inline void host_blob(uint32_t kind, const void *address, uint32_t length)
{
    io_fence();
    host_blob_kind_write(kind);
    host_blob_address_write((uint32_t)address);
    host_blob_length_write(length);
}
#endif
