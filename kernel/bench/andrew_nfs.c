/*
 * run=andrew-nfs: the Modified Andrew Benchmark on another node's files (paper `sync`, section 5.1, Andrew NFS): node
 * 0 serves its disk, as run=nfsd, and node 1 does what run=andrew does, with the tree and its copy on /mnt and commands
 * on a disk of its own. With nfs=10.0.0.2:/ and the image of ./interlock run andrew-nfs on both.
 */
#include "bench/andrew.h"
#include "dev/node.h"
#include "init/nfsd.h"
#include "init/run.h"

static int andrew_nfs(void)
{
    return node_number() ? andrew_run() : nfsd_until_unmounted();
}

RUN("andrew-nfs", "the Modified Andrew Benchmark on another node's files (paper sync, section 5.1)", andrew_nfs);
