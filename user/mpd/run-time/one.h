/* Processes share one thread of the operating system: no locks. */
#ifndef MPD_ONE_H
#define MPD_ONE_H

extern struct mpd_state mpd_only;
#define mpd_now mpd_only

static inline void mpd_lock(void) {}

static inline void mpd_unlock(void) {}

static inline void mpd_exclude(enum mpd_exclusive what)
{
    (void)what;
}

static inline void mpd_admit(enum mpd_exclusive what)
{
    (void)what;
}

static inline void mpd_ending(void) {}

static inline void mpd_hold(mpd_file file, const char *location)
{
    (void)file;
    (void)location;
}

static inline void mpd_release_file(mpd_file file)
{
    (void)file;
}

/* P and V are inline where no process waits: they decide what the cheap rows of the paper's Table 3 cost. */
static inline void mpd_P(struct mpd_sem *s, const char *location)
{
    if (s->value > 0)
        s->value--;
    else
        mpd_wait(s, location);
}

static inline mpd_int mpd_value(struct mpd_sem *s)
{
    return s->value;
}

static inline void mpd_V(struct mpd_sem *s)
{
    if (s->waiting.head)
        mpd_wake(s);
    else
        s->value++;
}

#endif
