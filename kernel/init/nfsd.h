/* The run nfsd, for runs in which this node is the server of others. */
#ifndef INIT_NFSD_H
#define INIT_NFSD_H

int nfsd_until_unmounted(void); /* returns the exit code; panics if it cannot serve */
#endif
