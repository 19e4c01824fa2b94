#include "observers/flame.h"

#include <algorithm>

#include "observers/timeline.h"

Flame::Flame(const Watch &watch, const Inspector &inspector, const std::string &path)
    : watch(watch), inspector(inspector), harts(watch.harts.size())
{
    file.open(path);
    nodes.push_back({0, 0, 0, {}}); // above all harts
}

Flame::Name Flame::text(const std::string &name)
{
    auto [known, is_new] = texts.emplace(name, TEXT + Name(texts.size()));
    if (is_new)
        spelled.push_back(&known->first);
    return known->second;
}

std::string Flame::spell(Name name) const
{
    if (name == 0)
        return "[outside the image]";
    return name < TEXT ? watch.function_name(uint16_t(name)) : *spelled[name - TEXT];
}

size_t Flame::child(size_t node, Name name)
{
    auto [known, is_new] = nodes[node].children.emplace(name, nodes.size());
    size_t index = known->second;
    if (is_new)
        nodes.push_back({node, name, 0, {}});
    return index;
}

void Flame::count(Stack &stack, uint64_t end)
{
    nodes[stack.node].cycles += end - stack.since;
    stack.since = end;
}

// The place of the hart's stack in the tree.
void Flame::find_node(Stack &stack, unsigned hart)
{
    stack.node = child(stack.root, text(inspector.thread(*watch.harts[hart].thread)));
    for (const Frame &frame : *stack.frames)
        stack.node = child(stack.node, frame.name);
}

void Flame::begin(uint64_t cycle)
{
    for (unsigned hart = 0; hart < harts.size(); hart++) {
        Stack &stack = harts[hart];
        stack.root = child(0, text("hart " + std::to_string(hart)));
        stack.frames = &threads[watch.harts[hart].thread->id];
        stack.since = cycle;
        find_node(stack, hart);
    }
}

void Flame::transfer(unsigned hart, Transfer transfer, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    count(stack, cycle + 1);
    stack.pending = transfer;
    stack.back = pc + 4;
}

// A return goes to where the innermost call came from. If it does not, frames were left in another way, or the thread
// is a new one with an old number: then the innermost frame that fits is the one, or this is a new outermost one.
void Flame::returned_to(Stack &stack, Name name, uint32_t pc)
{
    Frames &frames = *stack.frames;
    size_t bottom = frames.size();
    while (bottom && !frames[bottom - 1].trap)
        bottom--;
    size_t keep = frames.size();
    while (keep > bottom && frames[keep - 1].back != pc)
        keep--;
    if (keep > bottom) {
        frames.resize(keep - 1);
        return;
    }
    keep = frames.size();
    while (keep > bottom && frames[keep - 1].name != name)
        keep--;
    frames.resize(keep);
}

void Flame::function(unsigned hart, uint16_t function, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    Frames &frames = *stack.frames;
    constexpr uint8_t PRIVILEGE = 3, USER = 0;
    Name name = function;
    if (!function && (watch.harts[hart].state & PRIVILEGE) == USER)
        name = text("[user mode]");
    bool in_it = !frames.empty() && !frames.back().trap && frames.back().name == name;
    Transfer pending = stack.pending;
    stack.pending = Transfer::NONE;
    if (pending == Transfer::CALL) {
        frames.push_back({name, stack.back, false});
        stack.node = child(stack.node, name);
        return;
    }
    if (pending == Transfer::RETURN)
        returned_to(stack, name, pc);
    else if (in_it)
        return;
    else if (pending == Transfer::NONE && cycle > stack.since)
        count(stack, cycle); // it ran over from one function into the next
    if (frames.empty() || frames.back().trap)
        frames.push_back({name, 0, false});
    frames.back().name = name; // a jump, and what it leads to returns to the same place
    find_node(stack, hart);
}

void Flame::trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    if (stack.pending != Transfer::NONE && watch.function_at(pc) >= 0)
        function(hart, uint16_t(watch.function_at(pc) + 1), pc, cycle); // it got there, but nothing of it has retired
    stack.pending = Transfer::NONE;
    count(stack, cycle + 1);
    Name name = text("[" + trap_name(cause) + "]");
    stack.frames->push_back({name, 0, true});
    stack.node = child(stack.node, name);
}

void Flame::trap_return(unsigned hart, uint32_t, uint64_t cycle)
{
    Stack &stack = harts[hart];
    count(stack, cycle + 1);
    Frames &frames = *stack.frames;
    while (!frames.empty() && !frames.back().trap)
        frames.pop_back();
    if (!frames.empty()) // else the thread enters user mode for the first time, and gives up its kernel stack
        frames.pop_back();
    find_node(stack, hart);
}

void Flame::thread(unsigned hart, uint64_t cycle)
{
    Stack &stack = harts[hart];
    if (cycle > stack.since)
        count(stack, cycle);
    stack.frames = &threads[watch.harts[hart].thread->id];
    find_node(stack, hart);
}

void Flame::finish(uint64_t cycle)
{
    std::vector<std::string> lines;
    for (Stack &stack : harts)
        if (cycle > stack.since)
            count(stack, cycle);
    for (const Node &node : nodes) {
        if (!node.cycles)
            continue;
        std::string line = spell(node.name);
        for (size_t at = node.parent; at; at = nodes[at].parent)
            line = spell(nodes[at].name) + ";" + line;
        lines.push_back(line + " " + std::to_string(node.cycles) + "\n");
    }
    std::sort(lines.begin(), lines.end());
    for (const std::string &line : lines)
        file.write(line);
    file.close();
}
