/*
 * The map of a program when it starts: the segments of its file (elf.h), its stack with its arguments and its
 * environment, and the break above the highest segment, which it may move. Hardware-free: the host's tests run it.
 *
 * Locking: callers that load, or move the break, exclude each other.
 */
#ifndef USER_PROGRAM_H
#define USER_PROGRAM_H

#include <stdint.h>

#include "user/abi.h"
#include "vm/map.h"

#define ARGUMENTS_PIECE 4096u
#define ARGUMENTS_PIECES (USER_ARGUMENTS_MOST / ARGUMENTS_PIECE)

/*
 * The strings of argv, followed by those of envp, each with its final 0: `size` bytes, in
 * pieces.
 */
struct arguments {
    unsigned count, environment, size;
    char *piece[ARGUMENTS_PIECES];
    char own[1024]; /* the first piece for programs that the kernel itself starts */
};

static inline char arguments_byte(const struct arguments *a, uint32_t at)
{
    return a->piece[at / ARGUMENTS_PIECE][at % ARGUMENTS_PIECE];
}

/* The address and the registers with which a thread starts. */
struct user_start {
    uint32_t pc, sp, a0, a1, a2;
};

/* Pages from `begin` up to `now`, rounded, are mapped. A break that begins beyond USER_BREAK_LIMIT cannot be raised. */
struct user_break {
    uint32_t begin, now;
};

/* Between break and stack lies what mmap maps; a page next to the stack, and one next to the break, faults. */
#define USER_MAP_BEGIN 0x20000000u
#define USER_MAP_END (USER_STACK_TOP - USER_STACK_SIZE - PAGE_SIZE)
#define USER_BREAK_LIMIT (USER_MAP_BEGIN - PAGE_SIZE)

struct elf_file; /* elf.h */

/* Into an empty map. 0; -ENOEXEC: a file that is no program, or uses the stack's pages; -ENOMEM; -EIO; -E2BIG. */
int program_load(struct vm_map *map, const struct elf_file *file, const struct arguments *arguments,
                 struct user_start *start, struct user_break *brk);

/* The old break, or -EINVAL: below its begin; -ENOMEM: out of memory, or beyond its limit. */
int program_move_break(struct vm_map *map, struct user_break *brk, int32_t bytes);
#endif
