/*
 * Processes share MPD_THREADS threads of the operating system, one list of those that are ready, and one lock of all
 * that the run-time system has. A process that waits holds the lock while it switches; the one that goes on gives it
 * up.
 */
#ifndef MPD_MANY_H
#define MPD_MANY_H

extern __thread struct mpd_state mpd_of_thread;

/* Never from before a switch, behind which a process may find itself on another thread. */
static inline struct mpd_state *mpd_this_thread(void)
{
    struct mpd_state *at;
#if defined(__riscv)
    __asm__ volatile("lui %0, %%tprel_hi(mpd_of_thread)\n add %0, %0, tp, %%tprel_add(mpd_of_thread)\n"
                     "addi %0, %0, %%tprel_lo(mpd_of_thread)"
                     : "=r"(at));
#else
    __asm__ volatile("mov %%fs:0, %0\n lea mpd_of_thread@tpoff(%0), %0" : "=r"(at));
#endif
    return at;
}

#define mpd_now (*mpd_this_thread())

void mpd_lock(void); /* as often as a thread likes */
void mpd_unlock(void);
void mpd_P(struct mpd_sem *s, const char *location);
void mpd_V(struct mpd_sem *s);
mpd_int mpd_value(struct mpd_sem *s);

void mpd_exclude(enum mpd_exclusive what);
void mpd_admit(enum mpd_exclusive what);
void mpd_ending(void); /* returns to one thread only: another error, or the end, is not said besides */

/* What a statement writes stays together. */
static inline void mpd_hold(mpd_file file, const char *location)
{
    mpd_usable(file, location);
    flockfile(file);
    mpd_now.held_file = file;
}

static inline void mpd_release_file(mpd_file file)
{
    mpd_now.held_file = NULL;
    funlockfile(file);
}

#endif
