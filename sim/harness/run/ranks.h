// The processes that carry the nodes of one run. Each carries some of them, and hears what all say of theirs: so all
// take the same decisions. Node K is carried by rank K modulo their number.
#pragma once
#include <memory>
#include <string>
#include <vector>

class Ranks {
  public:
    // `count` processes of this machine, which are made here; or, with a library (ranks_mpi.c), those that a launcher
    // has started. Must come before any thread is made. Throws Failure.
    static std::unique_ptr<Ranks> make(unsigned count, const std::string &library, unsigned nodes);
    virtual ~Ranks() = default;

    // What each says, by rank: all call it in the same order. Throws Failure if another process has ended.
    virtual std::vector<std::string> all(const std::string &mine) = 0;

    bool carries(unsigned node) const { return node % count == self; }
    bool several() const { return count > 1; }

    unsigned self = 0, count = 1;
    bool together = false; // all have reached the end: none waits for another one
};
