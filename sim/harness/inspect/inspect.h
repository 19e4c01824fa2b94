// The names of the target's threads and its stacks, as its memory has them, read from outside.
#pragma once
#include <string>
#include <vector>

#include "machine/image.h"
#include "machine/target_memory.h"
#include "watch/watch.h"

class Inspector {
  public:
    Inspector(const Image &image, TargetMemory memory) : image(image), memory(memory) {}

    std::string name(const Thread &thread) const; // empty: it has none
    std::string thread(const Thread &thread) const; // "thread 3 worker"; a hart's first one is "boot of hart 1"

    // The calls that a hart or a waiting thread is in, innermost first, each as function+offset. Walks the frame
    // pointers, through traps too.
    std::vector<std::string> backtrace(uint32_t pc, const uint32_t *registers) const;
    std::vector<std::string> backtrace(const Thread &waiting) const;

  private:
    void walk(uint32_t frame, std::vector<uint32_t> &calls) const;
    std::vector<std::string> describe(const std::vector<uint32_t> &calls) const;
    bool entry(const Thread &thread, uint32_t offset, uint32_t &value) const;

    const Image &image;
    TargetMemory memory;
};
