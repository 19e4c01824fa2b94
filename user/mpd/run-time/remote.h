/*
 * Virtual machines on other nodes, as the code that the compiler makes sees them; only programs that use some are
 * linked with it.
 */
#ifndef MPD_REMOTE_H
#define MPD_REMOTE_H

#include "mpd.h"

/* A message's contents, which are written or read in one order. */
struct mpd_wire {
    char *data;
    size_t at, size, room;
    bool get;
    void **kept; /* whose memory what is read becomes */
    const char *location; /* of the statement that sends */
};

/* An mpd_wire_block is of arguments (`out` false) or results of an invocation; where `block` is null it is made. */
typedef void (*mpd_wire_value)(struct mpd_wire *w, void *value);

void mpd_wire_bytes(struct mpd_wire *w, void *value, size_t size);
void mpd_wire_string(struct mpd_wire *w, void *string, mpd_int maximum);
void mpd_wire_text(struct mpd_wire *w, struct mpd_text *text);
/* `each` may be null: elements are their bytes. `there`: the array exists, and is of that size. */
void mpd_wire_array(struct mpd_wire *w, struct mpd_array *array, size_t size, int dims, mpd_wire_value each,
                    bool there);
void mpd_wire_cap(struct mpd_wire *w, void *cap);
void mpd_wire_rcap(struct mpd_wire *w, void *rcap);
void mpd_wire_never(struct mpd_wire *w, void *value);

struct mpd_resource {
    struct mpd_rcap (*create)(void *block, const char *location); /* here */
    mpd_wire_block wire;
};

struct mpd_rcap mpd_create_vm(struct mpd_text place, const char *location);
struct mpd_text mpd_place_of_node(mpd_int node, const char *location);
struct mpd_rcap mpd_create_on(void *block, const struct mpd_resource *resource, struct mpd_rcap vm,
                              const char *location);
/* For an input statement: brings copies of what waits at an operation of another virtual machine into the queue of what
 * stands for it here; then takes the chosen one, unless another process was faster. */
void mpd_refresh(struct mpd_cap cap, const char *location);
bool mpd_claim(struct mpd_invocation **chosen, const char *location);
struct mpd_rcap mpd_my_vm(void);
mpd_int mpd_my_machine(void);
void mpd_locate(mpd_int node, struct mpd_text place, const char *location);
void mpd_execution_manager(int argc, char **argv);

/* The program. */
extern const uint32_t mpd_program_number; /* of its text */

#endif
