/* The bare trap (bare_trap.S): what mtvec may point to. */
#ifndef BENCH_BARE_TRAP_H
#define BENCH_BARE_TRAP_H

void bare_trap(void);
void bare_trap_stamped(void); /* leaves the cycle of its first instruction in t6 */

#endif
