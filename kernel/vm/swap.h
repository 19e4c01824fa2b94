/*
 * Where the default pager (swap.c) puts pages of 0 that have to leave main RAM: a RAM disk (boot argument vm.swap, its
 * pages), and a store that whoever has one gives it, such as a file's blocks (fs/swap_file.h).
 */
#ifndef VM_SWAP_H
#define VM_SWAP_H

#include <stdbool.h>
#include <stdint.h>

struct vm_swap_store {
    uint32_t pages;
    /*
     * Page `n` of the store to or from `data`, a page of main RAM: 0 or -EIO. It is called so that memory becomes free:
     * it takes none, nor a lock that somebody may hold who waits for memory. By several threads at once, for different
     * pages.
     */
    int (*move)(uint32_t n, void *data, bool write);
};

/* -EBUSY: there is one; -ENOMEM: no room for 16 bytes a page in a row. The RAM disk is filled first. */
int vm_swap_on(const struct vm_swap_store *store);
int vm_swap_off(void); /* -EBUSY: there are pages in it; 0 without one too */
#endif
