/*
 * Common to all of vm/ (README.md here explains it): rights, user addresses, and the names of types that are passed by
 * pointer. Addresses and sizes of user mode are in bytes; places in an object are in pages.
 *
 * Errors are minus a number of <errno.h>, as everywhere in the kernel; 0 is success.
 */
#ifndef VM_TYPES_H
#define VM_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/page.h"

/* What user mode may do with a page: the bits of a page table entry. */
#define PAGE_READ (1u << 1)
#define PAGE_WRITE (1u << 2)
#define PAGE_EXECUTE (1u << 3)
#define PAGE_RIGHTS (PAGE_READ | PAGE_WRITE | PAGE_EXECUTE)

/*
 * The range of user mode's pages: above page 0, so that a null pointer faults, and below the kernel's own
 * addresses.
 */
#define VM_BEGIN 0x00001000u
#define VM_END 0x40000000u

struct vm_map;
struct vm_object;
struct vm_page;
struct pmap;

/* What a child gets of a region when its parent is copied (vm_map_fork). */
enum vm_inherit {
    VM_INHERIT_SHARE, /* the same memory */
    VM_INHERIT_COPY,  /* a copy, made page by page when either writes */
    VM_INHERIT_NONE,  /* nothing */
};
#endif
