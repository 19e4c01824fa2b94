/*
 * The number of this machine among several (hw/host, HOST_NODE): the simulator sets it from outside,
 * also in a machine that continues another one's checkpoint; else the boot arguments `node` and `nodes` do. Alone: 0
 * of 1.
 */
#ifndef DEV_NODE_H
#define DEV_NODE_H

#include <generated/csr.h>

#include "lib/bootargs.h"

static inline unsigned node_count(void)
{
    uint32_t said = host_node_read() >> 16;
    return said ? said : bootargs_number(BOOT(kernel, nodes));
}

static inline unsigned node_number(void)
{
    uint32_t said = host_node_read();
    return said >> 16 ? said & 0xffff : bootargs_number(BOOT(kernel, node));
}
#endif
