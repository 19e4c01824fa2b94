#include "inspect/inspect.h"

namespace {

constexpr unsigned RA = 1, FP = 8;
constexpr size_t MOST_CALLS = 32;

} // namespace

bool Inspector::entry(const Thread &thread, uint32_t offset, uint32_t &value) const
{
    const ThreadTable &table = image.threads;
    return thread.id < table.count && memory.word(table.address + uint32_t(thread.id) * table.stride + offset, value);
}

std::string Inspector::name(const Thread &thread) const
{
    uint32_t name;
    return thread.named() && entry(thread, image.threads.name, name) ? memory.text(name) : "";
}

std::string Inspector::thread(const Thread &thread) const
{
    if (!thread.named())
        return "boot of hart " + std::to_string(thread.id - Thread::UNNAMED);
    std::string text = name(thread);
    return "thread " + std::to_string(thread.id) + (text.empty() ? "" : " ") + text;
}

// Below a frame pointer's target are the return address and the caller's frame pointer (kernel/lib/backtrace.c).
void Inspector::walk(uint32_t frame, std::vector<uint32_t> &calls) const
{
    uint32_t to, above;
    while (calls.size() < MOST_CALLS && memory.word(frame - 4, to) && memory.word(frame - 8, above) &&
           image.function_at(to) >= 0 && above > frame) { // the first frame of a thread has none above it
        calls.push_back(to);
        frame = above;
    }
}

// A leaf function keeps its return address in a register, and may have no frame, or one that holds only its caller's
// frame pointer. The register is a caller's if it points out of the function.
std::vector<std::string> Inspector::backtrace(uint32_t pc, const uint32_t *registers) const
{
    std::vector<uint32_t> calls{pc};
    uint32_t frame = registers[FP], to = 0;
    bool saved = memory.word(frame - 4, to) && image.function_at(to) >= 0;
    uint32_t last = registers[RA];
    if (image.function_at(last) >= 0 && image.function_at(last) != image.function_at(pc) && !(saved && last == to))
        calls.push_back(last);
    walk(saved ? frame : to, calls);
    return describe(calls);
}

std::vector<std::string> Inspector::backtrace(const Thread &waiting) const
{
    uint32_t pc, frame;
    if (!entry(waiting, image.threads.pc, pc) || !entry(waiting, image.threads.frame, frame))
        return {};
    std::vector<uint32_t> calls{pc};
    walk(frame, calls);
    return describe(calls);
}

std::vector<std::string> Inspector::describe(const std::vector<uint32_t> &calls) const
{
    std::vector<std::string> texts;
    for (uint32_t call : calls)
        texts.push_back(texts.empty() ? image.describe(call) : image.describe_return(call));
    return texts;
}
