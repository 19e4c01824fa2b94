/*
 * Calls of NFS version 2 on the descriptor that the first word names, encoded and decoded by code that rpcgen makes
 * from the protocol's definition and by libtirpc (tests/unit/test_nfs_judge.py). Exits with 0 if each answer is right.
 */
#include <assert.h>
#include <rpc/rpc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mount.h"
#include "nfs_prot.h"

#define MESSAGE 1472
#define TEXT 2500u
#define KEEP UINT32_MAX

static int fd;

static void all_of(void *data, size_t n, int writes)
{
    for (char *at = data; n;) {
        ssize_t moved = writes ? write(fd, at, n) : read(fd, at, n);
        assert(moved > 0);
        at += moved;
        n -= (size_t)moved;
    }
}

static void call(u_int program, u_int version, u_int procedure, void *encode, void *args, void *decode, void *results)
{
    static u_int xid;
    char message[MESSAGE];
    XDR x;
    AUTH *auth = authunix_create("judge", 7, 8, 0, 0);
    struct rpc_msg m = {.rm_xid = ++xid, .rm_direction = CALL};
    m.rm_call = (struct call_body){RPC_MSG_VERSION, program, version, procedure, auth->ah_cred, auth->ah_verf};
    xdrmem_create(&x, message, sizeof message, XDR_ENCODE);
    assert(xdr_callmsg(&x, &m) && ((xdrproc_t)encode)(&x, args));
    u_int n = xdr_getpos(&x), size = htonl(n);
    all_of(&size, sizeof size, 1);
    all_of(message, n, 1);
    all_of(&size, sizeof size, 0);
    n = ntohl(size);
    assert(n <= sizeof message);
    all_of(message, n, 0);
    m = (struct rpc_msg){0};
    m.acpted_rply.ar_verf = _null_auth;
    m.acpted_rply.ar_results.where = results;
    m.acpted_rply.ar_results.proc = (xdrproc_t)decode;
    xdrmem_create(&x, message, n, XDR_DECODE);
    assert(xdr_replymsg(&x, &m) && m.rm_xid == xid && m.rm_reply.rp_stat == MSG_ACCEPTED);
    assert(m.acpted_rply.ar_stat == SUCCESS && xdr_getpos(&x) == n); /* and nothing is left */
    auth_destroy(auth);
}

#define NFS(PROCEDURE, encode, args, decode, results) \
    (memset(results, 0, sizeof *(results)), call(NFS_PROGRAM, NFS_VERSION, PROCEDURE, encode, args, decode, results))

static nfs_fh mounted(void)
{
    nfs_fh root;
    fhstatus status = {0};
    dirpath path = "/", nowhere = "/nowhere";
    call(MOUNTPROG, MOUNTVERS, MOUNTPROC_MNT, xdr_dirpath, &nowhere, xdr_fhstatus, &status);
    assert(status.fhs_status == NFSERR_NOENT);
    call(MOUNTPROG, MOUNTVERS, MOUNTPROC_MNT, xdr_dirpath, &path, xdr_fhstatus, &status);
    assert(!status.fhs_status);
    memcpy(root.data, status.fhstatus_u.fhs_fhandle, sizeof root.data);
    return root;
}

static nfs_fh made(nfs_fh in, char *name, u_int procedure, u_int mode)
{
    diropres r;
    createargs create = {{in, name}, {mode, 3, 4, KEEP, {KEEP, KEEP}, {KEEP, KEEP}}};
    NFS(procedure, xdr_createargs, &create, xdr_diropres, &r);
    assert(!r.status);
    const fattr *a = &r.diropres_u.diropres.attributes;
    assert(a->type == (procedure == NFSPROC_MKDIR ? NFDIR : NFREG) && (a->mode & 07777) == mode);
    assert(a->uid == 3 && a->gid == 4);
    return r.diropres_u.diropres.file;
}

static void written_and_read(nfs_fh file)
{
    char text[TEXT], back[TEXT];
    attrstat status;
    for (u_int i = 0; i < TEXT; i++)
        text[i] = (char)('a' + i % 26);
    for (u_int at = 0, n; at < TEXT; at += n) {
        n = TEXT - at < 1000 ? TEXT - at : 1000;
        writeargs write = {file, 0, at, n, {n, text + at}};
        NFS(NFSPROC_WRITE, xdr_writeargs, &write, xdr_attrstat, &status);
        assert(!status.status && status.attrstat_u.attributes.size == at + n);
    }
    for (u_int at = 0, n; at < TEXT; at += n) {
        readres r;
        readargs read = {file, at, 700, 700};
        NFS(NFSPROC_READ, xdr_readargs, &read, xdr_readres, &r);
        n = r.readres_u.reply.data.data_len;
        assert(!r.status && n && r.readres_u.reply.attributes.size == TEXT);
        memcpy(back + at, r.readres_u.reply.data.data_val, n);
    }
    assert(!memcmp(text, back, TEXT));
    sattrargs cut = {file, {0600, KEEP, KEEP, 2000, {KEEP, KEEP}, {9, 0}}};
    NFS(NFSPROC_SETATTR, xdr_sattrargs, &cut, xdr_attrstat, &status);
    NFS(NFSPROC_GETATTR, xdr_nfs_fh, &file, xdr_attrstat, &status);
    const fattr *a = &status.attrstat_u.attributes;
    assert(a->size == 2000 && (a->mode & 07777) == 0600 && a->uid == 3 && a->mtime.seconds == 9);
}

static void names(nfs_fh root, nfs_fh folder, nfs_fh file)
{
    nfsstat status;
    diropres found;
    readlinkres text;
    statfsres fs;
    linkargs link = {file, {root, "hard"}};
    symlinkargs symlink = {{root, "soft"}, "folder/file", {0777, KEEP, KEEP, KEEP, {KEEP, KEEP}, {KEEP, KEEP}}};
    renameargs rename = {{root, "hard"}, {folder, "moved"}};
    diropargs soft = {root, "soft"}, moved = {folder, "moved"}, full = {root, "folder"};
    NFS(NFSPROC_LINK, xdr_linkargs, &link, xdr_nfsstat, &status);
    assert(!status);
    NFS(NFSPROC_SYMLINK, xdr_symlinkargs, &symlink, xdr_nfsstat, &status);
    assert(!status);
    NFS(NFSPROC_LOOKUP, xdr_diropargs, &soft, xdr_diropres, &found);
    assert(!found.status && found.diropres_u.diropres.attributes.type == NFLNK);
    NFS(NFSPROC_READLINK, xdr_nfs_fh, &found.diropres_u.diropres.file, xdr_readlinkres, &text);
    assert(!text.status && !strcmp(text.readlinkres_u.data, "folder/file"));
    NFS(NFSPROC_RENAME, xdr_renameargs, &rename, xdr_nfsstat, &status);
    assert(!status);
    NFS(NFSPROC_REMOVE, xdr_diropargs, &moved, xdr_nfsstat, &status);
    assert(!status);
    NFS(NFSPROC_LOOKUP, xdr_diropargs, &moved, xdr_diropres, &found);
    assert(found.status == NFSERR_NOENT);
    NFS(NFSPROC_RMDIR, xdr_diropargs, &full, xdr_nfsstat, &status);
    assert(status == NFSERR_NOTEMPTY);
    NFS(NFSPROC_STATFS, xdr_nfs_fh, &root, xdr_statfsres, &fs);
    assert(!fs.status && fs.statfsres_u.reply.tsize == 1024 && fs.statfsres_u.reply.blocks == 8192);
}

static unsigned entries(nfs_fh in)
{
    unsigned count = 0;
    readdirargs args = {.dir = in, .count = 64};
    readdirres r;
    do {
        NFS(NFSPROC_READDIR, xdr_readdirargs, &args, xdr_readdirres, &r);
        assert(!r.status);
        for (const entry *e = r.readdirres_u.reply.entries; e; e = e->nextentry, count++)
            memcpy(args.cookie, e->cookie, sizeof args.cookie);
    } while (!r.readdirres_u.reply.eof);
    return count;
}

int main(int argc, char **argv)
{
    attrstat status;
    assert(argc == 2);
    fd = atoi(argv[1]);
    nfs_fh root = mounted(), none = {{0}}, folder = made(root, "folder", NFSPROC_MKDIR, 0750);
    nfs_fh file = made(folder, "file", NFSPROC_CREATE, 0640);
    written_and_read(file);
    names(root, folder, file);
    assert(entries(root) == 4);
    NFS(NFSPROC_GETATTR, xdr_nfs_fh, &none, xdr_attrstat, &status);
    assert(status.status == NFSERR_STALE);
    puts("all is as it should be");
}
