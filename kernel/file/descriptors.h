/*
 * Descriptor tables. All threads of a process share one, so one of them may change a descriptor while another uses it:
 * each descriptor has a lock of its own, for as much parallelism through the table as there can be, and whoever needs
 * two takes them in the order of their addresses, so that dup2(x, y) and dup2(y, x) do not wait for each other for ever
 * (paper `mach`, section 3.2). A lock is held while the descriptor is looked at or changed, not while its file is used:
 * a call keeps the file by a reference.
 *
 * A table grows by chunks of DESCRIPTOR_CHUNK, which stay where they are until the table goes. Limits: DESCRIPTORS_MOST
 * for each process, or fewer (RLIMIT_NOFILE; EMFILE), and memory (ENOMEM).
 */
#ifndef FILE_DESCRIPTORS_H
#define FILE_DESCRIPTORS_H

#include "file/file.h"
#include "lib/syscall.h"

#define DESCRIPTOR_CHUNK 32
#define DESCRIPTOR_CHUNKS 32
#define DESCRIPTORS_MOST (DESCRIPTOR_CHUNK * DESCRIPTOR_CHUNKS)

struct descriptors;

/* The table of a process: user/ says where it is. */
extern struct descriptors *(*descriptors_of)(struct process *p);
extern uint32_t (*process_id_of)(const struct process *p);

struct descriptors *descriptors_create(void); /* with none open; 0: memory is out */
struct descriptors *descriptors_fork(struct descriptors *parent);
void descriptors_destroy(struct descriptors *d); /* closes them; nobody else uses the table any more */
void descriptors_exec(struct descriptors *d);    /* closes those that are to be closed then */

/* No new one is from `most` on, which is DESCRIPTORS_MOST at most; those that are open there stay. */
void descriptors_limit(struct descriptors *d, uint32_t most);
uint32_t descriptors_most(const struct descriptors *d);

/* The file of a descriptor, with a reference, which the caller releases; 0: it is not open. */
struct file *descriptor_file(struct descriptors *d, uint32_t fd);

/*
 * Let the lowest descriptor from `from` on that is not open refer to `f`, whose reference becomes the table's. It, or
 * -EMFILE, -ENOMEM: the reference is the caller's still.
 */
int descriptor_open(struct descriptors *d, struct file *f, uint32_t from, bool close_on_exec);
/*
 * As many for two files, whose references they become or which are released, and their numbers at `to`: 0, or an
 * error, and none is open.
 */
int descriptor_open_both(struct descriptors *d, struct vm_map *map, uint32_t to, struct file *f[2], bool close_on_exec);
int descriptor_close(struct descriptors *d, uint32_t fd);
int descriptor_close_file(struct descriptors *d, uint32_t fd, const struct file *f); /* if it still is `f` */

int descriptor_dup(struct descriptors *d, uint32_t fd, uint32_t from, bool close_on_exec);
int descriptor_dup2(struct descriptors *d, uint32_t fd, uint32_t to, bool close_on_exec);

/* FD_CLOEXEC; `change`: as `to`. What it was, or -EBADF. */
int descriptor_close_on_exec(struct descriptors *d, uint32_t fd, bool change, bool to);
#endif
