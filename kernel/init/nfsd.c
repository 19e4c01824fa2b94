/*
 * run=nfsd: serves the root file system, an ext2 disk, to other nodes (nfs/nfsd.h), until nfsd.until clients have
 * unmounted it; then unmounts it locally. Prints
 *
 *   @nfsd calls=... refused=... garbage=... repeated=... dropped=...    server.h, struct nfs_server_counts
 */
#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "fs/vfs.h"
#include "init/nfsd.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "nfs/nfsd.h"
#include "nfs/server.h"
#include "proc/mounts.h"
#include "sched/sched.h"

#define NFSD_LOOKS 100 /* checks a second for the end of the run */

int nfsd_until_unmounted(void)
{
    uint32_t until = bootargs_number(BOOT(kernel, nfsd_until)), tick = clock_hz() / NFSD_LOOKS + 1;
    if (!clock_hz())
        panic("run=nfsd needs a clock: give hz");
    mounts_start();
    int error = nfsd_start(bootargs_number(BOOT(kernel, nfsd_threads)), bootargs_number(BOOT(kernel, nfsd_read_only)));
    if (error)
        panic("run=nfsd: %s%s", strerror(-error), error == -EINVAL ? ": give root=disk0 with an ext2 file system" : "");
    while (__atomic_load_n(&nfs_server_counts.unmounted, __ATOMIC_RELAXED) < until)
        thread_delay(tick);
    thread_delay(tick); /* the last answer may have to be repeated */
    struct nfs_server_counts n = nfs_server_counts;
    nfsd_stop();
    kprintf("@nfsd calls=%lu refused=%lu garbage=%lu repeated=%lu dropped=%lu\n", (unsigned long)n.calls,
            (unsigned long)n.refused, (unsigned long)n.garbage, (unsigned long)n.repeated, (unsigned long)n.dropped);
    return mounts_stop() ? 1 : 0;
}

RUN("nfsd", "serves the disk to other nodes by NFS: root=disk0 nfsd.until=N", nfsd_until_unmounted);
