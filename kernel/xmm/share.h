/*
 * Memory that tasks of several nodes write (xmm.h): an object's pages are kept together by its managing node, page by
 * page; one node may write a page, or several may read it. The managing node's own tasks are one more user: what
 * another node may do is withheld from them (vm/shared.h), and its own page stays where it is, as old as the last time
 * that somebody gave it back.
 *
 *   to the memory object    INIT (control right): a right to a port of the manager's for this proxy. It is all that the
 *                           proxy has of the manager from then on, and had from the manager itself; when it goes, so
 *                           has the proxy, with all its pages. COPY: an object that is as this one is now, by
 *                           reference.
 *   to the proxy's port     DATA_REQUEST, DATA_UNLOCK (more rights to a page that it has), DATA_RETURN (a page leaves
 *                           memory there; without data: a grant came too late), LOCK_COMPLETED, END
 *   to the control port     DATA_SUPPLY (with the rights that are withheld), GRANT (write what is there), LOCK_REQUEST
 *                           (the page goes; or it is kept, and not written any more), DATA_ERROR
 *
 * For each page that another node has or wants there is a record: which nodes have it, and requests in the order in
 * which they came, the tasks' here taking turns with them. A request is served when all who are in its way have
 * answered: all who have the page if it is to be written, the one that may write it if it is to be read. So no node has
 * anything of a page while another one may write it, and what it reads is what was written last.
 *
 * **What may cross.** Messages between two nodes keep their order. A page may leave a proxy while it is asked to give
 * it up: then its data come before the answer, which has none. A proxy that is given a page to write that nobody there
 * waits for any more sends it back, unless it is there to be read: then it may be written. A page that somebody waits
 * to write does not leave by itself, but may be taken: the grant that was under way then says that it is not there. A
 * proxy that ends has sent all that it has written before that; if it cannot say END, or its node has died, pages that
 * it might have written are lost: a thread that wants one gets -EIO.
 *
 * Locking: one thread, `xmm`, carries out what messages say of shared objects, one after the other, on managing nodes
 * and those of proxies, and waits for no node: only for threads that work on a page, or, for a few ticks, for one that
 * was given it to use it once. xmm_lock_share guards the records; the thread lets go of it to wait. It is taken before
 * the other locks of xmm/, and not held while a message is waited for.
 */
#ifndef XMM_SHARE_H
#define XMM_SHARE_H

#include "xmm/internal.h"

struct share;

/* For an object of this node, whose export's port it is; the caller keeps the object. 0: memory is out. */
struct share *share_new(struct vm_object *object, struct port *port);

/* From any thread, without waiting: what has come for an object that is shared, or for a proxy of one. */
void share_arrived(struct message *m);
void share_may_end(void); /* it is to be looked whether an export is needed still */
bool share_start(void); /* the thread; false: there is none for it. Without the locks of xmm/ */

/* The rest is for the thread. What has come to an export's port, or to a proxy's control port: consumes the message. */
void export_shared_message(struct port *port, struct message *m);
void proxy_shared_message(struct port *port, struct message *m);
void share_init(struct share *s, struct message *m);

/* With xmm_lock_share, which the thread has: */
bool share_is_used(const struct share *s);
void share_end(struct share *s);
struct share *export_share_of(struct vm_object *object); /* or 0 */
bool export_is_shared(const struct port *port);
void exports_each_shared(void (*fn)(struct share *s));
void exports_end(void); /* those that nobody can ask for any more, nor is about to: taken off */
void exports_ended(void); /* without the lock: their memory goes */
#endif
