/*
 * The layer below vm/ on the host: main RAM as an array, a pmap that is a list, threads that cannot wait. Also
 * a user's accesses: by the pmap's translations, with faults where there is none.
 */
#ifndef TEST_HOST_FAKE_VM_H
#define TEST_HOST_FAKE_VM_H

#include "vm/map.h"
#include "vm/pmap.h"

#define FAKE_RAM 0x40000000u
#define FAKE_PAGES 2048 /* at most */
#define FAKE_HARTS 2    /* that cache translations, until they are told to flush them */

/* `swap` pages for the default pager, `pages` for all else; RAM keeps its contents. */
void fake_vm_init(uint32_t pages, uint32_t swap);

extern uint32_t fake_journal; /* the boot argument journal= */

/* The bytes at `address`, as user mode accesses them; 0: a fault that failed, whose error is at *error. */
void *fake_access(struct vm_map *map, uint32_t address, unsigned rights, int *error);

/* If set, the access is no hart's: it uses the translations as they are, and caches none. */
extern bool fake_looks;

extern unsigned fake_patience; /* how often one access may fault before it succeeds, at most */

/* Drops translations, as may happen at any time: each with a chance of 1 in `of`. */
void fake_forget(uint32_t number, uint32_t of);

unsigned fake_translations(void);

/* If set: called where a thread would sleep; what the thread waits for must have happened when this returns. */
extern void (*fake_sleep)(const void *channel);
#endif
