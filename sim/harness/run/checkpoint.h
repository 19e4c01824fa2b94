// A checkpoint: one file with all that a run goes on from (README, "Checkpoints"). A line of text that says what it is,
// then an LZ4 frame, whose checksum finds a damaged file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "options/arguments.h"

// What a run is made from: the content of its files, and what of the command line has shaped its past.
struct Inputs : Shape {
    std::string image_name, feed_name;
    std::vector<uint8_t> image, feed; // the program; bytes for the data line
    bool other_feed = false; // other_feed: it is not the checkpoint's

    template <class Archive> void serialize(Archive &archive)
    {
        archive(image_name, feed_name, image, feed);
        Shape::serialize(archive);
    }
};

struct Checkpoint {
    uint64_t cycle = 0; // the next one to simulate
    Inputs inputs;
    std::string model, harness; // states

    template <class Archive> void serialize(Archive &archive) { archive(cycle, inputs, model, harness); }
};

// All throw Failure with one line.
Inputs read_inputs(const Arguments &arguments);
// A restored run's command line may leave out what the checkpoint knows, and contradict it only where the past does not
// depend on it. Fills in `arguments`, gives the inputs to go on with.
Inputs merge_inputs(const Checkpoint &checkpoint, Arguments &arguments);

void write_checkpoint(const std::string &path, const Checkpoint &checkpoint, const std::string &image_sha256);
Checkpoint read_checkpoint(const std::string &path);
