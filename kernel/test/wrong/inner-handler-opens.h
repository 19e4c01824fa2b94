/*
 * A scheme that is wrong on purpose, to test the tests: cli-spl-pessim where a handler that interrupted another one
 * unmasks, at its end, what the other masks.
 */
#include "sync/pic.h"
#define pic_set_level(level) pic_set_level((level) == prev_level ? SPL_NONE : (level))
#include "sync/cli_spl_pessim.h"
#undef pic_set_level
