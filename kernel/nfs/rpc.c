/* Headers of remote procedure calls (rpc.h). */
#include "nfs/rpc.h"

#include <errno.h>

static void rpc_put_denied(struct xdr *out, uint32_t xid, uint32_t why)
{
    xdr_put(out, xid);
    xdr_put(out, RPC_REPLY);
    xdr_put(out, RPC_DENIED);
    xdr_put(out, why);
}

void rpc_put_accepted(struct xdr *out, uint32_t xid, uint32_t status)
{
    xdr_put(out, xid);
    xdr_put(out, RPC_REPLY);
    xdr_put(out, RPC_ACCEPTED);
    xdr_put(out, RPC_AUTH_NONE);
    xdr_put(out, 0);
    xdr_put(out, status);
}

void rpc_put_mismatch(struct xdr *out, uint32_t xid, uint32_t low, uint32_t high)
{
    rpc_put_accepted(out, xid, RPC_PROG_MISMATCH);
    xdr_put(out, low);
    xdr_put(out, high);
}

/* A credential of AUTH_SYS (appendix A). False: malformed. */
static bool rpc_get_sys(struct xdr credential, struct rpc_call *call)
{
    uint32_t n;
    xdr_get(&credential); /* a stamp */
    xdr_get_opaque(&credential, RPC_MACHINE_MOST, &n);
    call->uid = xdr_get(&credential);
    call->gid = xdr_get(&credential);
    uint32_t groups = xdr_get(&credential);
    return !credential.failed && groups <= RPC_GROUPS_MOST && groups * 4 == xdr_left(&credential);
}

enum rpc_is rpc_get_call(struct xdr *in, struct xdr *out, struct rpc_call *call)
{
    uint32_t n;
    *call = (struct rpc_call){.xid = xdr_get(in)};
    uint32_t kind = xdr_get(in), version = xdr_get(in);
    if (in->failed || kind != RPC_CALL)
        return RPC_IS_NOTHING;
    if (version != RPC_VERSION) {
        rpc_put_denied(out, call->xid, RPC_MISMATCH);
        xdr_put(out, RPC_VERSION);
        xdr_put(out, RPC_VERSION);
        return RPC_IS_REFUSED;
    }
    call->program = xdr_get(in);
    call->version = xdr_get(in);
    call->procedure = xdr_get(in);
    call->flavor = xdr_get(in);
    uint8_t *bytes = (uint8_t *)xdr_get_opaque(in, RPC_AUTH_MOST, &n);
    struct xdr credential = {.at = bytes, .end = bytes + (bytes ? n : 0)};
    xdr_get(in); /* the verifier */
    xdr_get_opaque(in, RPC_AUTH_MOST, &n);
    if (in->failed)
        return RPC_IS_NOTHING;
    bool sys = call->flavor == RPC_AUTH_SYS;
    if ((!sys && call->flavor != RPC_AUTH_NONE) || (sys && !rpc_get_sys(credential, call))) {
        rpc_put_denied(out, call->xid, RPC_AUTH_ERROR);
        xdr_put(out, sys ? RPC_AUTH_BADCRED : RPC_AUTH_TOOWEAK);
        return RPC_IS_REFUSED;
    }
    return RPC_IS_CALL;
}

void rpc_put_call(struct xdr *out, const struct rpc_call *call, const char *machine)
{
    uint32_t n = (uint32_t)strlen(machine);
    const uint32_t head[] = {call->xid, RPC_CALL, RPC_VERSION, call->program, call->version, call->procedure};
    for (unsigned i = 0; i < sizeof head / sizeof head[0]; i++)
        xdr_put(out, head[i]);
    xdr_put(out, RPC_AUTH_SYS);
    xdr_put(out, 5 * 4 + xdr_padded(n));
    xdr_put(out, 0);
    xdr_put_opaque(out, machine, n);
    xdr_put(out, call->uid);
    xdr_put(out, call->gid);
    xdr_put(out, 0);
    xdr_put(out, RPC_AUTH_NONE);
    xdr_put(out, 0);
}

int rpc_get_reply(struct xdr *in, uint32_t xid)
{
    uint32_t n;
    uint32_t its_xid = xdr_get(in), kind = xdr_get(in), denied = xdr_get(in);
    if (in->failed || its_xid != xid || kind != RPC_REPLY)
        return -EAGAIN;
    if (denied)
        return xdr_get(in) == RPC_AUTH_ERROR ? -EACCES : -EIO;
    xdr_get(in);
    xdr_get_opaque(in, RPC_AUTH_MOST, &n);
    uint32_t status = xdr_get(in);
    if (in->failed)
        return -EIO;
    return status == RPC_SUCCESS ? 0 : status <= RPC_PROC_UNAVAIL ? -EPROTONOSUPPORT : -EIO;
}
