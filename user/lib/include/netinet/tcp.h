/* Options of TCP. */
#ifndef _NETINET_TCP_H
#define _NETINET_TCP_H

#define TCP_NODELAY 1
#define TCP_MAXSEG 2
#define TCP_KEEPIDLE 3 /* seconds without a segment until the first probe */
#define TCP_KEEPINTVL 5 /* seconds from probe to probe */
#define TCP_KEEPCNT 6   /* probes without an answer until the connection ends */
#endif
