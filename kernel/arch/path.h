/*
 * The short path: from an interrupt's wire to the thread that waits for it, and from one thread to the next. Its functions lie
 * together, so that none evicts another from the instruction cache (arch/kernel.ld); so what is not for most passages, is not
 * in there. A function above a few hundred bytes earns no place in it.
 */
#ifndef ARCH_PATH_H
#define ARCH_PATH_H

#define SHORT_PATH __attribute__((section(".text.path")))

/* Not all of it is for one passage: what only some need lies at its two ends. */
#define SHORT_PATH_ITHREAD __attribute__((section(".text.path.ithread")))
#define SHORT_PATH_EVENT __attribute__((section(".text.path.event")))

/* The way of a frame through the network, behind it: in one piece, so that its lines are spread over the cache's evenly. */
#define NET_PATH __attribute__((section(".text.net_path")))

/* The way of user mode into the kernel and back, behind it. */
#define USER_PATH __attribute__((section(".text.user_path")))

/* A short system call on that way, behind it. */
#define USER_PATH_CALL __attribute__((section(".text.user_path.call")))

/* The way of a page fault that finds its page or clears one (vm/), behind that. */
#define FAULT_PATH __attribute__((section(".text.fault_path")))

/*
 * The way of a read or write to a block in the cache (fs/), behind all other code, which it is not to move: what only one of them
 * needs lies at the two ends.
 */
#define FILE_PATH __attribute__((section(".file_path")))
#define FILE_PATH_READ __attribute__((section(".file_path.read")))
#define FILE_PATH_WRITE __attribute__((section(".file_path.write")))

/* The way along a path whose names are in the name cache (fs/), behind that. */
#define NAME_PATH __attribute__((section(".name_path")))

/*
 * A device's handler that does little. What runs between two interrupts evicts it from the instruction cache, so each line that it
 * has costs a refill: it begins with one, and has no frame of its own.
 */
#define DEVICE_HANDLER __attribute__((aligned(64), optimize("omit-frame-pointer")))

/* What is not to move all that lies behind it in the caches: behind all other code. */
#define BEHIND_ALL __attribute__((noinline, section(".behind_all")))

/* What such a function does rarely: not inlined there. */
#define OFF_PATH __attribute__((noinline, cold))

/*
 * Its data, likewise: the first KB of the data cache is for it and the harts' blocks (arch/kernel.ld), the rest for threads
 * with their stacks (sched/sched.h).
 */
#define SHORT_PATH_DATA __attribute__((section(".data.path")))
#endif
