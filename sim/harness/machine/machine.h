// What of a node is compiled for each machine: the model, where its harts' pins are, and how its idle cycles are left
// out.
#pragma once
#include "machine/model.h"
#include "machine/skip.h"

struct Machine {
    explicit Machine(Skip::Mode mode) : pins(hart_pins(model.pins())), skip(model, mode) {}

    Model model;
    const HartPins pins;
    Skip skip;
};
