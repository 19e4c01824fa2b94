/*
 * Where the default pager (swap.c) puts pages of zero-filled memory that have to leave main RAM: a RAM disk (boot
 * argument vm.swap, its pages), and a store that another part provides, such as a file's blocks (fs/swap_file.h).
 */
#ifndef VM_SWAP_H
#define VM_SWAP_H

#include <stdbool.h>
#include <stdint.h>

struct vm_swap_store {
    uint32_t pages;
    /*
     * Moves page `n` of the store to or from `data`, a page of main RAM: 0 or -EIO. It is called to free memory: so it
     * allocates none, and takes no lock whose holder may wait for memory. Several threads may call it at once, for
     * different pages.
     */
    int (*move)(uint32_t n, void *data, bool write);
};

/* -EBUSY: there is one; -ENOMEM: no room for 16 bytes a page in a row. The RAM disk is filled first. */
int vm_swap_on(const struct vm_swap_store *store);
int vm_swap_off(void); /* -EBUSY: it holds pages; 0 without one too */
#endif
