/*
 * A scheme that is wrong on purpose, to test the tests: cli-spl-pessim where a handler that interrupted another one
 * lets in, at its end, what that one keeps out.
 */
#include "sync/pic.h"
#define pic_set_level(level) pic_set_level((level) == prev_level ? SPL_NONE : (level))
#include "sync/cli_spl_pessim.h"
#undef pic_set_level
