// Where every hart is when a run ends badly: its last instruction, calls, thread, and the locks that its thread holds
// or waits for; the same of threads that sleep for a lock; and which threads wait for each other in a cycle.
#pragma once
#include <string>
#include <vector>

#include "inspect/inspect.h"
#include "watch/watch.h"

// Lines of text, without their ends. `registers` are the harts' register files.
std::vector<std::string> report_harts(const Watch &watch, const Inspector &inspector,
                                      const std::vector<const uint32_t *> &registers);
