/*
 * The first members of every lock, simple (simple_lock.h) or blocking: its class and its name. Locks that guard the
 * same kind of object share a class; checks and counts are per class. All classes of an image are contiguous, from
 * lock_classes to lock_classes_end.
 *
 * The simulator reads class, name and kind of a lock in memory, at these offsets (sim/harness/README.md).
 */
#ifndef LOCK_LOCK_CLASS_H
#define LOCK_LOCK_CLASS_H

#include <stddef.h>
#include <stdint.h>

enum lock_kind { LOCK_SIMPLE, LOCK_MUTEX, LOCK_RW };

struct lock_class {
    const char *name;
    uint8_t kind;  /* enum lock_kind */
    uint8_t level; /* of a simple lock: the highest level at which any handler takes it (sync/spl.h) */
    uint8_t tree;  /* two of them are ordered by their place in a tree, which their user knows, not by address */
};

struct lock_object {
    struct lock_class *class;
    const char *name;
#if LOCK_DEBUG
    uintptr_t locked_at, unlocked_at; /* pc of the last acquisition and of the last release; 0: none */
#endif
};

_Static_assert(offsetof(struct lock_object, class) == 0 && offsetof(struct lock_object, name) == sizeof(void *) &&
                   offsetof(struct lock_class, name) == 0 && offsetof(struct lock_class, kind) == sizeof(void *),
               "the simulator relies on it");

extern struct lock_class lock_classes[], lock_classes_end[];

#define LOCK_TREE_CLASS(id, class_name, lock_kind) \
    struct lock_class id                           \
        __attribute__((section(".lock_classes"))) = {.name = (class_name), .kind = (lock_kind), .tree = 1}

#define LOCK_CLASS(id, class_name, lock_kind, lock_level) \
    struct lock_class id                                  \
        __attribute__((section(".lock_classes"))) = {.name = (class_name), .kind = (lock_kind), .level = (lock_level)}
#endif
