/*
 * Descriptor tables. All threads of a process share one, so one of them may change a descriptor while another uses it:
 * each descriptor has a lock of its own, for as much parallelism through the table as possible, and a call that needs
 * two acquires them in the order of their addresses, so that dup2(x, y) and dup2(y, x) do not deadlock
 * (paper `mach`, section 3.2). A lock is held while the descriptor is read or changed, not while its file is used:
 * a call keeps the file by a reference.
 *
 * A table grows by chunks of DESCRIPTOR_CHUNK, which are not freed before the table. Limits: DESCRIPTORS_MOST
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

/* The table of a process: set by user/. */
extern struct descriptors *(*descriptors_of)(struct process *p);
extern uint32_t (*process_id_of)(const struct process *p);

struct descriptors *descriptors_create(void); /* no descriptor is open; 0: memory is out */
struct descriptors *descriptors_fork(struct descriptors *parent);
void descriptors_destroy(struct descriptors *d); /* closes all; no other thread uses the table any more */
void descriptors_exec(struct descriptors *d);    /* closes those marked close-on-exec */

/* No new descriptor from `most` on, which is DESCRIPTORS_MOST at most; those already open there stay open. */
void descriptors_limit(struct descriptors *d, uint32_t most);
uint32_t descriptors_most(const struct descriptors *d);

/* The file of a descriptor, with a reference, which the caller releases; 0: it is not open. */
struct file *descriptor_file(struct descriptors *d, uint32_t fd);

/*
 * Let the lowest free descriptor from `from` on refer to `f`, whose reference becomes the table's. Returns it, or
 * -EMFILE, -ENOMEM: the caller keeps the reference.
 */
int descriptor_open(struct descriptors *d, struct file *f, uint32_t from, bool close_on_exec);
/*
 * The same for two files, whose references are taken over or released; stores their numbers at `to`. 0, or an
 * error, and none is open.
 */
int descriptor_open_both(struct descriptors *d, struct vm_map *map, uint32_t to, struct file *f[2], bool close_on_exec);
int descriptor_close(struct descriptors *d, uint32_t fd);
int descriptor_close_file(struct descriptors *d, uint32_t fd, const struct file *f); /* if it still refers to `f` */

int descriptor_dup(struct descriptors *d, uint32_t fd, uint32_t from, bool close_on_exec);
int descriptor_dup2(struct descriptors *d, uint32_t fd, uint32_t to, bool close_on_exec);

/* FD_CLOEXEC; `change`: sets it to `to`. Returns the previous value, or -EBADF. */
int descriptor_close_on_exec(struct descriptors *d, uint32_t fd, bool change, bool to);
#endif
