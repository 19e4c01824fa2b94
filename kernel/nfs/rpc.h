/*
 * Remote procedure calls (RFC 5531) over UDP, a message in each datagram: the headers before a call's arguments and a
 * reply's results (section 9), with the credentials of appendix A (AUTH_SYS) and none (8.1).
 */
#ifndef NFS_RPC_H
#define NFS_RPC_H

#include "nfs/xdr.h"

#define RPC_VERSION 2
#define RPC_MOST 1472u /* bytes of a message: a datagram that needs no fragments on Ethernet */

enum { RPC_CALL, RPC_REPLY };
enum { RPC_ACCEPTED, RPC_DENIED };
enum { RPC_SUCCESS, RPC_PROG_UNAVAIL, RPC_PROG_MISMATCH, RPC_PROC_UNAVAIL, RPC_GARBAGE_ARGS, RPC_SYSTEM_ERR };
enum { RPC_MISMATCH, RPC_AUTH_ERROR };
enum { RPC_AUTH_BADCRED = 1, RPC_AUTH_TOOWEAK = 5 };
enum { RPC_AUTH_NONE, RPC_AUTH_SYS };
#define RPC_AUTH_MOST 400u /* bytes of a credential or verifier (8.2) */
#define RPC_MACHINE_MOST 255u
#define RPC_GROUPS_MOST 16u

struct rpc_call {
    uint32_t xid, program, version, procedure;
    uint32_t flavor, uid, gid; /* of AUTH_SYS */
};

/* How a server treats a message. */
enum rpc_is { RPC_IS_CALL, RPC_IS_REFUSED, RPC_IS_NOTHING };

/*
 * Takes the header of a call: `in` is at its arguments then. A call that is to be refused is answered in `out`; a
 * malformed one, and a reply, get no answer.
 */
enum rpc_is rpc_get_call(struct xdr *in, struct xdr *out, struct rpc_call *call);

void rpc_put_accepted(struct xdr *out, uint32_t xid, uint32_t status); /* the header of a reply, up to its results */
void rpc_put_mismatch(struct xdr *out, uint32_t xid, uint32_t low, uint32_t high); /* of a program's version */

/* The header of a call, with the credential `uid`, `gid` of the host `machine`. */
void rpc_put_call(struct xdr *out, const struct rpc_call *call, const char *machine);

/*
 * Takes the header of the reply to `xid`: 0 with `in` at its results, or minus an error number: -EAGAIN: of another
 * call; -EPROTONOSUPPORT, -EACCES, -EIO.
 */
int rpc_get_reply(struct xdr *in, uint32_t xid);
#endif
