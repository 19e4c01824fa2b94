/*
 * The scheme of units on the host (sync/sync.h): there are no interrupts, so a section only notes its level, in
 * sync_hart()->level, which a test may read. Like the real ones, sections nest and the level never falls.
 */
#define CRIT_BASE SPL_NONE
#define CRIT_SWITCH_MIE 1
#define SOFTINT_NEEDS_KICK 0
#define CRIT_MASKS_ALL 0
#define HANDLERS_NEST 1
#define QUEUE_GOES_FIRST 0
#define crit_is_base(saved) ((saved) == SPL_NONE)
#define crit_level(saved) (saved)

/* If set: called where an interrupt could last come, at base level before a section. */
extern void (*host_section_begins)(void);

static inline crit_t crit_sec_enter(unsigned level)
{
    crit_t saved = sync_hart()->level;
    if (host_section_begins && saved == SPL_NONE)
        host_section_begins();
    if (level > saved)
        sync_hart()->level = level;
    return saved;
}

static inline void crit_sec_raise(unsigned level)
{
    crit_sec_enter(level);
}

static inline void crit_sec_leave(crit_t saved)
{
    sync_hart()->level = saved;
}
