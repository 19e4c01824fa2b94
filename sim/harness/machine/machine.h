// The part of a node that is compiled for each machine: the model, its harts' pins, and how its idle cycles are
// skipped.
#pragma once
#include "machine/model.h"
#include "machine/skip.h"

struct Machine {
    explicit Machine(Skip::Mode mode) : pins(hart_pins(model.pins())), skip(model, mode) {}

    Model model;
    const HartPins pins;
    Skip skip;
};
