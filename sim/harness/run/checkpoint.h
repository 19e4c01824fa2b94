// A checkpoint: one file with all that a run is resumed from (README, "Checkpoints"). A line of text that identifies
// it, then LZ4 frames, each preceded by its length; their checksums detect a damaged file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "options/arguments.h"
#include "run/wire.h"
#include "support/files.h"

// What a run is made from: the content of its files, and the part of the command line that has shaped its past.
struct Inputs : Shape {
    std::string image_name, feed_name, frames_name;
    std::vector<uint8_t> image, feed, frames; // the program; bytes for the data line; a pcap file
    std::vector<std::vector<uint8_t>> disk_images; // of `disks`
    bool other_feed = false; // not saved: not the checkpoint's feed

    template <class Archive> void serialize(Archive &archive)
    {
        archive(image_name, feed_name, frames_name, image, feed, frames, disk_images);
        Shape::serialize(archive);
    }
};

struct Checkpoint { // of one node
    uint64_t cycle = 0; // the next one to simulate
    Inputs inputs;
    std::string model, harness; // states

    template <class Archive> void serialize(Archive &archive) { archive(cycle, inputs, model, harness); }
};

// All throw Failure with one line.
Inputs read_inputs(const Arguments &arguments);
// A restored run's command line may omit what the checkpoint has, and contradict it only where the past does not depend
// on it. Fills in `arguments`, returns the inputs for the rest of the run.
Inputs merge_inputs(const Checkpoint &checkpoint, Arguments &arguments);

// A file with the states of all nodes of a run. Node by node: not all states are in memory at once.
class CheckpointWriter {
  public:
    CheckpointWriter(const std::string &path, uint64_t cycle, unsigned nodes, const std::string &image_sha256,
                     const std::vector<Wire> &wires);
    void add(const Checkpoint &checkpoint);
    void finish(); // a file of that name is a whole checkpoint

  private:
    std::string path;
    OutFile file;
};

class CheckpointFile {
  public:
    explicit CheckpointFile(const std::string &path);
    Checkpoint node(unsigned number) const;
    unsigned nodes() const { return unsigned(frames.size()) - 1; }
    const std::vector<Wire> &wires() const { return joined; }

  private:
    std::string content(unsigned frame) const;

    std::string path;
    std::vector<uint8_t> bytes;
    std::vector<Wire> joined;
    std::vector<std::pair<size_t, size_t>> frames; // begin and length: the wires, then the nodes
};
