/* How a run ends (host.h). */
#include "dev/host.h"

#include <generated/csr.h>
#include <generated/mem.h>

#include "../firmware/service.h"
#include "arch/csr.h"
#include "arch/hart.h"
#include "dev/console.h"
#include "lib/panic.h"

static struct service_end host_end;

void host_blob(uint32_t kind, const void *address, uint32_t length)
{
    io_fence();
    host_blob_kind_write(kind);
    host_blob_address_write((uint32_t)address);
    host_blob_length_write(length);
    if (host_end.blobs < SERVICE_MOST_BLOBS)
        host_end.blob[host_end.blobs++] = (struct service_blob){kind, (uint32_t)address, length};
}

void host_exit(uint32_t code)
{
    intr_disable();
    panic_stop_if_other();
    if (service_present(ROM_BASE)) {
        console_polled(); /* the host's input from here on is for the boot ROM */
        host_end.code = code;
        service_enter(ROM_BASE, &host_end);
    }
    host_exit_write(code);
    for (;;)
        __asm__ volatile("wfi");
}
