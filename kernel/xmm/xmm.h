/*
 * Memory that tasks of several nodes see: XMM, after OSF's (Bryant and others, *An Introduction to Mach 3.0's XMM
 * Subsystem*, 1993; paper `crtc`, sections 1 to 5). It is a pager (vm/pager.h) whose other side is on another node:
 * calls of vm/ become messages, and vice versa, so neither vm/ nor the pagers of files depend on it.
 *   node that uses it                                              node that manages it
 *   vm object -- proxy (pager) -- control port <===messages===> memory object port -- export -- vm object -- its pager
 *
 * The managing node *exports* an object of its own: a port, whose number names the object on all nodes. The object
 * stays as long as any node has a right to the port; when the last proxy ends, it has no senders. A node that receives
 * such a right *imports* it: once for each object, whichever regions or tasks use it there. Objects below it in the
 * chain are imported separately, so a page that is on the node already is found there, through whichever task it
 * came.
 *
 *   to the memory object           INIT (control right), GET_STATE, GET_SHADOW, each with a reply; DATA_REQUEST
 *   to the control port            DATA_SUPPLY with the page, DATA_UNAVAILABLE (look in what it shadows), DATA_ERROR
 *
 * **Copy on reference.** A snapshot is exported for a child task: regions are copied on write (vm_map_fork), so the
 * object is not written as long as the export holds it, and pages that were sent stay valid for ever. No node need be
 * notified, and a task that writes does so in an object of its own, in front. An asymmetric copy is
 * read through its source (vm/inherited.h), on the managing node alone: copy on write does not cross nodes (section 5).
 *
 * **Sharing.** Memory inherited by sharing is written by several nodes: share.h.
 *
 * **As the original has it**, to be measured (STEP_DISTRIBUTED of task/task.h): an asymmetric copy and its source are
 * both distributed, the source as a shared object. A page of the source that a proxy receives may have been pushed
 * into the copy meanwhile, so the copy's manager is asked (CHECK) before it is used; if so, the page is requested
 * anew for the copy. A copy that is made while other nodes have the source is put between the objects of each of these
 * nodes (INSERT), while the source is frozen on all: the operation that the paper says takes a second on 64 nodes. As
 * pages are pushed by the managing node, another node keeps the copy only while a task of it uses it.
 *
 * **The managing node.** Flat: a task that inherits from a proxy passes on the right to the first node's memory object,
 * and all requests go there. Hierarchical: the proxy's object is exported again, so its pages come through that node,
 * which keeps them (section 4).
 *
 * Locking: xmm_lock, a mutex, guards the sets of exported and imported objects. It is taken before a family's lock and
 * before ipc/'s, and not held while a thread waits for a message. The memory of an export or a proxy is freed with the
 * last reference to its port.
 */
#ifndef XMM_XMM_H
#define XMM_XMM_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/port.h"
#include "vm/inherited.h"

#define XMM_INIT 0x200
#define XMM_GET_STATE 0x201
#define XMM_GET_SHADOW 0x202
#define XMM_DATA_REQUEST 0x203
#define XMM_COPY 0x204
#define XMM_DATA_UNLOCK 0x205
#define XMM_DATA_RETURN 0x206
#define XMM_LOCK_COMPLETED 0x207
#define XMM_END 0x208
#define XMM_BROUGHT 0x209 /* on one node */
#define XMM_CHECK 0x20a
#define XMM_DATA_SUPPLY 0x210
#define XMM_DATA_UNAVAILABLE 0x211
#define XMM_DATA_ERROR 0x212
#define XMM_LOCK_REQUEST 0x213
#define XMM_GRANT 0x214
#define XMM_CHECKED 0x215
#define XMM_INSERT 0x216

/* What another node must know of an object before it can use it: the paper's internal state. */
struct xmm_state {
    uint32_t size; /* pages */
    uint32_t kin;  /* equal for related objects of one managing node */
    uint32_t shadow_offset;
    uint16_t shadowed; /* it shadows another object, which is not managed together with it */
    uint16_t shared;   /* several nodes may write it (share.h) */
};

/*
 * A send right to the object's port; exports the object first if needed. `hierarchical`: also if it is
 * a proxy. 0: no memory.
 */
struct port *xmm_export(struct vm_object *object, bool hierarchical);
/* Exports an asymmetric copy, whose source is exported separately: only what lies above that. */
struct port *xmm_export_copy(struct vm_object *object);
/*
 * Puts an asymmetric copy above its source on all nodes that have this, which the caller has frozen (vm/shared.h), and
 * waits for their answers. *nodes: how many. The first error of any node; -EINVAL: it is no such copy.
 */
int xmm_insert_copy(struct vm_object *copy, unsigned *nodes);

/* The same for an object that tasks of several nodes write (share.h): on the first node that has it. */
struct port *xmm_export_shared(struct vm_object *object);

/*
 * Asks by a right to its port for the state of an object, and for what it shadows: its port, with a send right, or
 * 0.
 */
int xmm_get_state(struct port *pager, struct xmm_state *state);
int xmm_get_shadow(struct port *pager, bool hierarchical, struct port **shadow);

/* The same for a caller that has a reference to the object. */
void xmm_state_of(struct vm_object *object, struct xmm_state *state);

/*
 * The local object that stands for `pager`, whose send right it takes over, with a reference; 0: memory is out, and the
 * caller keeps the right. It may be one of this node's own. *fresh: this call has made it, so the caller sets what it
 * shadows, registers with its manager (xmm_init), and reports that it is complete, with all objects below it; until
 * then no other thread uses it (xmm_await).
 */
struct vm_object *xmm_import(struct port *pager, const struct xmm_state *state, bool *fresh);
void xmm_complete(struct vm_object *object,
                  int error); /* and all it shadows; with an error, a thread that needs a page gets -EIO */
void xmm_await(struct vm_object *object);

/* `copy` shadows `source`; both are proxies: pages that arrive for the source are checked. */
/* False: there is another copy. */
bool xmm_set_source(struct vm_object *copy, struct vm_object *source);

/* Registers this node with the manager. `waits`: for its answer, which is always awaited if the object is shared. */
int xmm_init(struct vm_object *object, bool waits);

/* A thread that waits for pages of that node, or for more rights to them, gets -EIO. */
void xmm_node_died(unsigned node);

struct xmm_counts {
    uint32_t exports, proxies; /* now */
    uint32_t requests, supplied, unavailable, errors, served;
    uint32_t recalled, returned; /* of shared pages: recalled, and returned with written data */
    uint32_t least, most; /* cycles from a request to its page */
    uint64_t cycles;
};
extern struct xmm_counts xmm_counts;
void xmm_print_results(void); /* @xmm */
#endif
