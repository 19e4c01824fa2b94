/*
 * What a program has in its address space when it starts: the segments of its file (elf.h), its stack with its
 * arguments, and the break behind the highest segment, which it may raise. Hardware-free: the host's tests run it.
 *
 * Locking: whoever loads, or raises the break, keeps others from it.
 */
#ifndef USER_PROGRAM_H
#define USER_PROGRAM_H

#include <stdint.h>

#include "user/abi.h"
#include "vm/space.h"

/* The strings of argv, one behind the other, each with its final 0. */
struct arguments {
    unsigned count, size;
    char text[USER_ARGUMENTS_MOST];
};

/* Where a thread starts, and with what in which registers. */
struct user_start {
    uint32_t pc, sp, a0, a1;
};

/* Pages up to `mapped` are there. A break that begins beyond USER_BREAK_LIMIT cannot be raised. */
struct user_break {
    uint32_t now, mapped;
};

#define USER_BREAK_LIMIT (USER_STACK_TOP - USER_STACK_SIZE - PAGE_SIZE) /* a page between break and stack faults */

/* Into an empty space. 0; -ENOEXEC: a file that is no program, or wants the stack's pages; -ENOMEM. */
int program_load(struct space *space, const void *file, uint32_t size, const struct arguments *arguments,
                 struct user_start *start, struct user_break *brk);

/* The old break, or -EINVAL: `bytes` is negative; -ENOMEM: no page is left, or it would pass its limit. */
int program_raise_break(struct space *space, struct user_break *brk, int32_t bytes);
#endif
