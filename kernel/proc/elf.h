/*
 * Loads a program, an ELF file for RV32 (System V gABI, chapters 4 and 5), into a map. The file's contents are checked,
 * so a damaged one is refused and does no harm.
 */
#ifndef USER_ELF_H
#define USER_ELF_H

#include <stdint.h>

#include "vm/map.h"

/* A file that lies in memory, or, if `bytes` is null, is read in pieces. */
struct elf_file {
    const void *bytes;
    uint32_t size;
    /* `n` bytes from `at` on, within the file: 0, or minus an error number. May sleep. */
    int (*read)(const struct elf_file *file, uint32_t at, void *to, uint32_t n);
    void *with; /* of `read` */
};

struct elf_program {
    uint32_t entry; /* where it starts */
    uint32_t end;   /* of its highest segment: where its break begins, page-aligned */
};

/*
 * Map the segments of the file. 0; -ENOEXEC if it is no such file, lies outside of user mode's addresses, uses a page
 * twice or has writable code; -ENOMEM; -EIO, if it cannot be read. On an error, mapped segments stay mapped.
 */
int elf_load(struct vm_map *map, const struct elf_file *file, struct elf_program *program);
#endif
