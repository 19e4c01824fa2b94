/*
 * Loads a program, an ELF file for RV32 (System V gABI, chapters 4 and 5), into a map. What the file says
 * is checked, so a damaged one is refused and does no harm.
 */
#ifndef USER_ELF_H
#define USER_ELF_H

#include <stdint.h>

#include "vm/map.h"

struct elf_program {
    uint32_t entry; /* where it starts */
    uint32_t end;   /* of its highest segment: where its break begins, a multiple of the page size */
};

/*
 * Map the segments of the file of `size` bytes at `file`. 0; -ENOEXEC if it is no such file, lies outside of user
 * mode's addresses or wants a page twice or to write what it executes; -ENOMEM. What is mapped already stays mapped.
 */
int elf_load(struct vm_map *map, const void *file, uint32_t size, struct elf_program *program);
#endif
