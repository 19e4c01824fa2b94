/*
 * A scheme that is wrong on purpose, to test the tests: cli-spl-pessim whose handlers do not mask their own level
 * and below.
 */
#include "sync/pic.h"
#define pic_set_level(level) ((void)(level)) /* not raised, so there is nothing to restore */
#include "sync/cli_spl_pessim.h"
#undef pic_set_level
