/*
 * Memory that tasks of several nodes write (xmm.h): the managing node keeps an object's pages coherent, page by
 * page; one node may write a page, or several may read it. The managing node's own tasks are one more user: rights
 * granted to another node are withheld from them (vm/shared.h), and its own page stays in place, as it was when a node
 * last returned it.
 *
 *   to the memory object    INIT (control right): a right to a port of the manager's for this proxy. It is the proxy's
 *                           only right from the manager then, and came from the manager itself; when it is dropped,
 *                           the proxy has ended, with all its pages. COPY: an object that is a copy of the current
 *                           one, by reference.
 *   to the proxy's port     DATA_REQUEST, DATA_UNLOCK (more rights to a page that it has), DATA_RETURN (a page leaves
 *                           memory there; without data: a grant came too late), LOCK_COMPLETED, END
 *   to the control port     DATA_SUPPLY (with the rights that are withheld), GRANT (write the page that is there),
 *                           LOCK_REQUEST (drop the page; or keep it, but write it no more), DATA_ERROR
 *
 * For each page that another node has or requests there is a record: the nodes that have it, and requests in order of
 * arrival, those of the local tasks taking turns with them. A request is served when all conflicting holders have
 * answered: all holders if the page is to be written, the one that may write it if it is to be read. So no node has
 * rights to a page while another one may write it, and every read returns what was written last.
 *
 * **Messages that cross.** Messages between two nodes keep their order. A page may leave a proxy while it is recalled:
 * then its data come before the answer, which has none. A proxy that is given a page to write for which no thread there
 * waits any more sends it back, unless it has the page to read: then it may be written. A page that a thread waits to
 * write is not evicted, but may be recalled: the grant that was under way then finds that it is not there. A proxy
 * that ends has sent all its written pages before that; if it cannot send END, or its node has died, pages that
 * it might have written are lost: a thread that accesses one gets -EIO.
 *
 * Locking: one thread, `xmm`, processes the messages for shared objects, one after the other, on managing nodes
 * and on those of proxies, and waits for no node: only for threads that work on a page, or, for a few ticks, for a
 * thread that was given it for one use. xmm_lock_share guards the records; the thread releases it to wait. It is taken
 * before the other locks of xmm/, and not held while a thread waits for a message.
 */
#ifndef XMM_SHARE_H
#define XMM_SHARE_H

#include "xmm/internal.h"

struct share;

/* For an object of this node, and its export's port; the caller keeps the object. 0: memory is out. */
struct share *share_new(struct vm_object *object, struct port *port);

/* From any thread, without waiting: a message has come for a shared object, or for a proxy of one. */
void share_arrived(struct message *m);
void share_may_end(void); /* the thread is to check which exports are still needed */
bool share_start(void); /* starts the thread; false: it could not. Without the locks of xmm/ */

/* The rest is for the thread. A message has come to an export's or a proxy's control port: consumes it. */
void export_shared_message(struct port *port, struct message *m);
void proxy_shared_message(struct port *port, struct message *m);
void share_init(struct share *s, struct message *m);

/* With xmm_lock_share held, as in the thread: */
bool share_is_used(const struct share *s);
void share_end(struct share *s);
struct share *export_share_of(struct vm_object *object); /* or 0 */
bool export_is_shared(const struct port *port);

/*
 * Without the lock: adds a message of that number to each node that uses the object to `to`, and counts them. -ENOMEM.
 */
int share_messages(struct vm_object *object, uint32_t id, struct message_queue *to, unsigned *count);
void exports_each_shared(void (*fn)(struct share *s));
void exports_end(void); /* takes off the exports that are not in use and that no node can use any more */
void exports_ended(void); /* without the lock: frees their memory */
#endif
