// What this simulator is of, for code that is the same in all of them and so is compiled once: sim/model/build.py makes
// the file that has the values. Code that is compiled for each machine has them as constants as well (ports.h).
#pragma once

extern const unsigned HART_COUNT;
extern const unsigned long CLOCK_HZ;
extern const char *const HARNESS_FINGERPRINT;
