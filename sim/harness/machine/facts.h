// The constants of this simulator's machine, for code that is the same for all and so compiled once: sim/model/build.py
// makes the file with the values. Code compiled for each machine has them as constants, too (ports.h).
#pragma once

extern const unsigned HART_COUNT;
extern const unsigned long CLOCK_HZ;
extern const char *const HARNESS_FINGERPRINT;
