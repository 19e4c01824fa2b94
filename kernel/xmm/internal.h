/* Declarations shared by the files of xmm/. */
#ifndef XMM_INTERNAL_H
#define XMM_INTERNAL_H

#include "lock/lock.h"
#include "xmm/xmm.h"

/*
 * The body of requests for pages and of answers; `asked` is returned unchanged. `control`: the number of the control
 * port, for a manager that lacked memory to note the proxy.
 */
struct xmm_data {
    uint32_t page, count, rights, asked, control;
};

/* The object of a local port, to which the caller has a right; with a reference, or 0: it is no object's. */
struct vm_object *xmm_exported(struct port *pager);
/* An object of that kin that is exported here, with a reference; or 0. Locking: proxies, then exports. */
struct vm_object *xmm_exported_kin(uint32_t kin);

/* A copy of another node's object as it is now, with a reference: that node makes it. 0: it could not. */
struct vm_object *xmm_copy_away(struct vm_object *object);

/* If the object is a proxy, another send right to its pager's port; else 0. */
struct port *xmm_pager_of(struct vm_object *object);
#endif
