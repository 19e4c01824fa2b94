/*
 * A module of LiteX's simulator that makes callgrind count from one moment of simulated time to another, and then ends
 * the process: `modules/counting.so` with the arguments from_ps and to_ps (sim/bench/counts.py).
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "error.h"
#include "modules.h"

struct counting {
    uint64_t from_ps, to_ps;
};

static int start(void *base)
{
    (void)base;
    return RC_OK;
}

static int new_session(void **session, char *args)
{
    struct counting *counting = malloc(sizeof *counting);
    json_object *parsed = json_tokener_parse(args), *from = NULL, *to = NULL;
    if (!counting || !json_object_object_get_ex(parsed, "from_ps", &from) ||
        !json_object_object_get_ex(parsed, "to_ps", &to))
        return RC_INVARG;
    counting->from_ps = (uint64_t)json_object_get_int64(from);
    counting->to_ps = (uint64_t)json_object_get_int64(to);
    *session = counting;
    return RC_OK;
}

static int add_pads(void *session, struct pad_list_s *pads)
{
    (void)session;
    (void)pads;
    return RC_OK;
}

static int tick(void *session, uint64_t time_ps)
{
    struct counting *counting = session;
    if (time_ps < counting->from_ps)
        return 0;
    if (time_ps >= counting->to_ps) {
        CALLGRIND_STOP_INSTRUMENTATION;
        CALLGRIND_DUMP_STATS;
        _exit(0);
    }
    if (counting->from_ps) {
        CALLGRIND_START_INSTRUMENTATION;
        counting->from_ps = 0;
    }
    return 0;
}

static struct ext_module_s module = {"counting", start, new_session, add_pads, NULL, tick};

int litex_sim_ext_module_init(int (*register_module)(struct ext_module_s *))
{
    return register_module(&module);
}
