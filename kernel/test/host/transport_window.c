/*
 * The same as transport.c, with ipc=window. Sources: ipc/message.c net/mbuf.c mem/zone.c mem/page.c lock/simple_lock.c
 * lib/printf.c. Options: ZONE_DEBUG=0 TRANSPORT_FILE="ipc/transport/window.h"
 */
#include "test/host/transport.c"
