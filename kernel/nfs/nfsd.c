/*
 * The server's threads (4.4BSD's nfsd): each receives a message from its socket, gets the answer (server.h), and sends
 * it. Several share the socket of NFS, so one that waits for a disk does not block the others.
 *
 * Locking: none of its own. The table below is written before the threads begin and after they have ended.
 */
#include "nfs/nfsd.h"

#include <errno.h>

#include "arch/csr.h"
#include "fs/vfs.h"
#include "lib/panic.h"
#include "mem/page.h"
#include "net/datagram.h"
#include "net/net.h"
#include "nfs/server.h"
#include "sched/master.h"
#include "sched/sched.h"

#define NFSD_SOCKETS 3
_Static_assert(2 * RPC_MOST + NFS_PATH_MOST + 1 <= PAGE_SIZE, "what a thread needs is in a page");

static struct datagram *nfsd_sockets[NFSD_SOCKETS];
static struct nfsd_thread {
    struct thread *thread;
    struct datagram *socket;
    uint32_t page;
} nfsd_threads[NFSD_THREADS_MOST + NFSD_SOCKETS - 1];
static volatile bool nfsd_stopping;

static void nfsd_serve(void *arg)
{
    const struct nfsd_thread *self = arg;
    uint8_t *message = page_pointer(self->page), *reply = message + RPC_MOST;
    while (!nfsd_stopping) {
        struct ends from;
        struct transfer t = {.at = page_address(message), .left = RPC_MOST};
        int n = datagram_receive(self->socket, &t, &from, true, false);
        if (n <= 0)
            continue;
        unix_enter();
        uint32_t bytes =
            nfs_server_message(message, (uint32_t)n, from.faddr, from.fport, reply, (char *)reply + RPC_MOST);
        unix_leave();
        t = (struct transfer){.at = page_address(reply), .left = bytes};
        if (bytes) /* an answer that cannot be sent is lost, as on the wire: the client repeats */
            datagram_send(self->socket, &t, from.faddr, from.fport);
    }
    thread_exit();
}

static int nfsd_open(void)
{
    static const uint16_t ports[NFSD_SOCKETS] = {NFS_PORT, MOUNT_PORT, PMAP_PORT};
    int error = net_start();
    for (unsigned i = 0; i < NFSD_SOCKETS && !error; i++) {
        nfsd_sockets[i] = datagram_create();
        error = nfsd_sockets[i] ? datagram_bind(nfsd_sockets[i], 0, ports[i]) : -ENOMEM;
    }
    return error;
}

/* Closes what nfsd_start has opened; no thread runs. */
static void nfsd_close(void)
{
    for (struct nfsd_thread *t = nfsd_threads; t < nfsd_threads + NFSD_THREADS_MOST + NFSD_SOCKETS - 1; t++) {
        if (t->page)
            page_free(t->page);
        *t = (struct nfsd_thread){0};
    }
    for (unsigned i = 0; i < NFSD_SOCKETS; i++) {
        if (nfsd_sockets[i])
            datagram_destroy(nfsd_sockets[i]);
        nfsd_sockets[i] = 0;
    }
}

int nfsd_start(unsigned threads, bool read_only)
{
    struct vnode *root = vfs_root();
    assert(root && threads && threads <= NFSD_THREADS_MOST);
    int error = nfs_server_begin(root, read_only, (uint32_t)cycles64());
    if (error) {
        vrele(root);
        return error;
    }
    nfsd_stopping = false;
    error = nfsd_open();
    for (unsigned i = 0; i < threads + NFSD_SOCKETS - 1 && !error; i++) {
        struct nfsd_thread *t = &nfsd_threads[i];
        t->socket = nfsd_sockets[i < threads ? 0 : i - threads + 1];
        t->page = page_alloc();
        error = t->page ? 0 : -ENOMEM;
    }
    if (error) {
        nfsd_close();
        nfs_server_end();
        return error;
    }
    for (unsigned i = 0; i < threads + NFSD_SOCKETS - 1; i++) {
        nfsd_threads[i].thread = thread_create(nfsd_serve, &nfsd_threads[i], PRI_NORMAL, ANY_HART, "nfsd");
        if (!nfsd_threads[i].thread)
            panic("no memory for nfsd's threads");
    }
    return 0;
}

void nfsd_stop(void)
{
    nfsd_stopping = true;
    for (struct nfsd_thread *t = nfsd_threads; t < nfsd_threads + NFSD_THREADS_MOST + NFSD_SOCKETS - 1; t++)
        if (t->thread) {
            thread_interrupt(t->thread);
            thread_join(t->thread);
        }
    nfsd_close();
    unix_enter();
    nfs_server_end();
    unix_leave();
}
