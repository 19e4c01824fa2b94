// What a command line asks for: the nodes, each with its own arguments, and the wires between them.
#pragma once
#include <string>
#include <vector>

#include "options/arguments.h"
#include "run/wire.h"

struct Plan {
    Arguments common;             // what holds for the run: limits, progress, checkpoints, the folder
    std::vector<Arguments> nodes; // one at least; the common ones, and what differs
    bool several = false;         // --nodes was given: outputs are in a folder for each node
    std::vector<Wire> wires;
    unsigned jobs = otherwise::JOBS; // threads that carry nodes
    uint64_t shuffle = otherwise::SHUFFLE; // order of service: 0 by number, else what a generator begins with
};

// Throws Failure with one line; returns false when the help was asked for and printed.
bool parse_arguments(int argc, char **argv, uint64_t clock_hz, Plan &plan);
