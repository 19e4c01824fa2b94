// Where each hart spends its cycles, by call stack: every cycle of the window, none sampled. The stacks are tracked
// from the retired instructions: calls, jumps out of a function and returns, through traps and thread switches. A cycle
// belongs to the instruction that retires at its end or after it. In user mode a thread's program is that of its name.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/inspect.h"
#include "machine/image.h"
#include "options/window.h"
#include "support/files.h"
#include "watch/observer.h"
#include "watch/watch.h"

class Flame final : public Observer {
  public:
    // Writes at the end a line for each stack: names separated by ;, outermost first, and its cycles.
    Flame(const Watch &watch, const Inspector &inspector, const std::map<std::string, Program> &programs,
          const Window &window, const std::string &path);

    void begin(uint64_t cycle) override;
    void transfer(unsigned hart, Transfer transfer, uint32_t pc, uint64_t cycle) override;
    bool function(unsigned hart, uint16_t function, uint32_t pc, uint64_t cycle) override;
    void trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle) override;
    void trap_return(unsigned hart, uint32_t pc, uint64_t cycle) override;
    void thread(unsigned hart, uint64_t cycle) override;
    void finish(uint64_t cycle) override;

  private:
    // The name of a frame or node: a function, or a text of our own.
    using Name = uint32_t;
    static constexpr Name TEXT = 1u << 16; // and up: texts
    struct Frame {
        Name name;
        uint32_t back; // the return address
        bool trap;
    };
    using Frames = std::vector<Frame>;
    struct Known { // a program
        uint32_t entry, begin;
        std::vector<Name> names; // by instruction
        std::vector<Transfer> transfers; // those that may leave the function
    };
    struct Calls { // of a thread
        Frames frames;
        const Known *program = nullptr; // in user mode
    };
    struct Node {
        size_t parent;
        Name name;
        uint64_t cycles;
        std::map<Name, size_t> children;
    };
    struct Stack {
        Calls *calls = nullptr; // of the thread that runs
        bool user = false; // the last instruction was one of user mode, of `calls->program`
        size_t root = 0, node = 0;
        uint64_t since = 0; // not yet counted
        Transfer pending = Transfer::NONE; // the last instruction was one
        uint32_t back = 0; // its return address
    };

    Known known(const Program &program);
    const Known *begins_user_mode(unsigned hart, uint32_t pc);
    Name name_in_user_mode(const Stack &stack, uint32_t pc) const;
    void in_user_mode(unsigned hart, uint32_t pc, uint64_t cycle);
    void entered(unsigned hart, Name name, uint32_t pc, uint64_t cycle);
    Name text(const std::string &name);
    std::string spell(Name name) const;
    size_t child(size_t node, Name name);
    void count(Stack &stack, uint64_t end);
    void find_node(Stack &stack, unsigned hart);
    void returned_to(Stack &stack, Name name, uint32_t pc);

    const Watch &watch;
    const Inspector &inspector;
    const Window &window;
    OutFile file;
    std::vector<Node> nodes;
    std::vector<Stack> harts;
    std::unordered_map<uint64_t, Calls> threads;
    std::map<std::string, Name> texts;
    std::vector<const std::string *> spelled;
    std::map<std::string, Known> programs;
    const Name user_mode; // where nothing is known
};
