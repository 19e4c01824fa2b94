// What a command line asks for: the nodes, each with its own arguments, and the wires between them.
#pragma once
#include <string>
#include <vector>

#include "options/arguments.h"
#include "run/wire.h"

struct Plan {
    Arguments common;             // for the whole run: limits, progress, checkpoints, the folder
    std::vector<Arguments> nodes; // at least one; the common ones, and the differences
    bool several = false;         // --nodes was given: outputs are in a folder for each node
    std::vector<Wire> wires;
    unsigned jobs = otherwise::JOBS; // threads that simulate nodes
    unsigned ranks = otherwise::RANKS; // processes that do; ...
    std::string ranks_library; // ... or what joins those that were started beforehand
    uint64_t shuffle = otherwise::SHUFFLE; // order of service: 0 by number, else a generator's seed
};

// Throws Failure with one line; returns false when the help was asked for and printed.
bool parse_arguments(int argc, char **argv, uint64_t clock_hz, Plan &plan);
