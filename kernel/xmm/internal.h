/* What the files of xmm/ share. */
#ifndef XMM_INTERNAL_H
#define XMM_INTERNAL_H

#include "lock/lock.h"
#include "xmm/xmm.h"

/*
 * The body of requests for pages and of the answers; `asked` comes back as it was. `control`: the number of the control
 * port, for a manager that had no memory to note the proxy.
 */
struct xmm_data {
    uint32_t page, count, rights, asked, control;
};

/* The object behind a port of this node, to which the caller has a right; with a reference, or 0: it is none. */
struct vm_object *xmm_exported(struct port *pager);
/* One that is exported here, of that kin, with a reference; or 0. Locking: proxies, then exports. */
struct vm_object *xmm_exported_kin(uint32_t kin);

/* An object as that of another node is now, with a reference: that node makes the copy. 0: it does not. */
struct vm_object *xmm_copy_away(struct vm_object *object);

/* Of an object that is a proxy, another send right to what its pager asks; 0: it is none. */
struct port *xmm_pager_of(struct vm_object *object);
#endif
