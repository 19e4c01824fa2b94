// The pins of a disk controller's streams (soc/sim.py), in the model.
#pragma once
#include <cstdint>

#include "verilated.h"

struct DiskPins {
    // driven by the drive
    CData *answer_valid;
    IData *answer;
    CData *data_in_valid;
    QData *data_in;
    IData *sectors;
    // driven by the controller
    const CData *answer_ready, *data_in_ready, *command_valid, *command_op, *command_tag;
    const IData *command_lba;
    const SData *command_count;
    const CData *command_burst, *data_out_valid;
    const QData *data_out;
    const CData *reset;

    bool says() const { return *command_valid | *data_out_valid | *reset; }
    bool takes() const { return (*answer_valid & *answer_ready) | (*data_in_valid & *data_in_ready); }
};
