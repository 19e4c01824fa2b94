/*
 * The common part of the schemes whose sections set the hart's level: spl_pessim.h and spl_optim.h. Interrupts stay on,
 * on chip; an interrupt that a section does not mask runs at once, also in a handler.
 */
#define CRIT_BASE SPL_NONE
#define CRIT_SWITCH_MIE 1
#define SOFTINT_NEEDS_KICK 0
#define CRIT_MASKS_ALL 0
#define HANDLERS_NEST 1
#define QUEUE_GOES_FIRST 0
#define crit_is_base(saved) ((saved) == SPL_NONE)
#define crit_level(saved) (saved)
