/* The machine as the protocol sees it. */
#ifndef DEBUG_TARGET_H
#define DEBUG_TARGET_H

#include "debug/rsp.h"

extern struct rsp_target debug_target; /* debug_init sets `threads` */
extern const char debug_target_xml[];
#endif
