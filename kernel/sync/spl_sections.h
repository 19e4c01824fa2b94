/*
 * What the schemes have in common whose sections are levels of the hart: spl_pessim.h and spl_optim.h. Interrupts stay
 * on, on chip; what a section does not keep out runs at once, in a handler too.
 */
#define CRIT_BASE SPL_NONE
#define CRIT_SWITCH_MIE 1
#define SOFTINT_NEEDS_KICK 0
#define CRIT_MASKS_ALL 0
#define HANDLERS_NEST 1
#define QUEUE_GOES_FIRST 0
#define crit_is_base(saved) ((saved) == SPL_NONE)
#define crit_level(saved) (saved)
