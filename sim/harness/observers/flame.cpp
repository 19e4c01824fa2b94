#include "observers/flame.h"

#include <algorithm>

#include "observers/timeline.h"
#include "watch/transfer.h"

Flame::Flame(const Watch &watch, const Inspector &inspector, const std::map<std::string, Program> &programs,
             const Window &window, const std::string &path)
    : watch(watch), inspector(inspector), window(window), harts(watch.harts.size()), user_mode(text("[user mode]"))
{
    file.open(path);
    nodes.push_back({0, 0, 0, {}}); // above all harts
    for (const auto &[name, program] : programs)
        this->programs.emplace(name, known(program));
}

Flame::Known Flame::known(const Program &program)
{
    Known made{program.entry, program.begin, {}, {}};
    const std::vector<Function> &functions = program.functions;
    auto function_at = [&](uint32_t pc) {
        auto after = std::upper_bound(functions.begin(), functions.end(), pc,
                                      [](uint32_t value, const Function &f) { return value < f.address; });
        return after - functions.begin();
    };
    for (size_t i = 0; i < program.code.size(); i++) {
        uint32_t pc = program.begin + uint32_t(4 * i);
        auto function = function_at(pc);
        made.names.push_back(function ? text(functions[size_t(function - 1)].name) : user_mode);
        Transfer transfer = transfer_of(program.code[i]);
        bool inside = transfer == Transfer::DIRECT_JUMP && function_at(jump_target(pc, program.code[i])) == function;
        made.transfers.push_back(inside ? Transfer::NONE : transfer);
    }
    return made;
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
    nodes[stack.node].cycles += window.shared(stack.since, end);
    stack.since = end;
}

// The place of the hart's stack in the tree.
void Flame::find_node(Stack &stack, unsigned hart)
{
    stack.node = child(stack.root, text(inspector.thread(*watch.harts[hart].thread)));
    for (const Frame &frame : stack.calls->frames)
        stack.node = child(stack.node, frame.name);
}

void Flame::begin(uint64_t cycle)
{
    for (unsigned hart = 0; hart < harts.size(); hart++) {
        Stack &stack = harts[hart];
        stack.root = child(0, text("hart " + std::to_string(hart)));
        stack.calls = &threads[watch.harts[hart].thread->id];
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

// A return goes to the innermost call's return address. If it does not, frames were left in another way, or the thread
// is a new one with a reused number: then the innermost frame that fits is taken, or this is a new outermost one.
void Flame::returned_to(Stack &stack, Name name, uint32_t pc)
{
    Frames &frames = stack.calls->frames;
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

bool Flame::function(unsigned hart, uint16_t function, uint32_t pc, uint64_t cycle)
{
    constexpr uint8_t PRIVILEGE = 3, USER = 0;
    bool user = !function && (watch.harts[hart].state & PRIVILEGE) == USER;
    if (user)
        in_user_mode(hart, pc, cycle);
    else
        entered(hart, function, pc, cycle);
    return user && harts[hart].calls->program;
}

// One of its instructions retires: called for each one, if the program is known.
void Flame::in_user_mode(unsigned hart, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    Calls &calls = *stack.calls;
    if (!stack.user) {
        calls.program = begins_user_mode(hart, pc);
        stack.user = true;
    }
    entered(hart, name_in_user_mode(stack, pc), pc, cycle);
    size_t at = calls.program ? (pc - calls.program->begin) / 4 : 0;
    if (calls.program && at < calls.program->transfers.size() && calls.program->transfers[at] != Transfer::NONE)
        transfer(hart, calls.program->transfers[at], pc, cycle);
}

Flame::Name Flame::name_in_user_mode(const Stack &stack, uint32_t pc) const
{
    const Known *program = stack.calls->program;
    size_t at = program ? (pc - program->begin) / 4 : 0;
    return program && at < program->names.size() ? program->names[at] : user_mode;
}

// The kernel returns to its caller, to a new program, to a signal's handler or to what that interrupted.
const Flame::Known *Flame::begins_user_mode(unsigned hart, uint32_t pc)
{
    Stack &stack = harts[hart];
    Frames &frames = stack.calls->frames;
    auto found = programs.find(inspector.name(*watch.harts[hart].thread));
    const Known *program = found == programs.end() ? nullptr : &found->second;
    if (program != stack.calls->program || (program && pc == program->entry)) {
        frames.clear();
    } else if (program && !frames.empty()) {
        Name name = name_in_user_mode(stack, pc);
        size_t keep = frames.size();
        while (keep && frames[keep - 1].name != name)
            keep--;
        if (keep)
            frames.resize(keep);
        else
            frames.push_back({text("[signal]"), 0, true});
    }
    find_node(stack, hart);
    return program;
}

// It runs in the function of this name.
void Flame::entered(unsigned hart, Name name, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    Frames &frames = stack.calls->frames;
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
        count(stack, cycle); // it fell through from one function into the next
    if (frames.empty() || frames.back().trap)
        frames.push_back({name, 0, false});
    frames.back().name = name; // a jump: its target returns to the same place
    find_node(stack, hart);
}

void Flame::trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle)
{
    Stack &stack = harts[hart];
    if (stack.pending != Transfer::NONE && stack.user) // it was entered, but none of its instructions has retired
        entered(hart, name_in_user_mode(stack, pc), pc, cycle);
    else if (stack.pending != Transfer::NONE && watch.function_at(pc) >= 0)
        entered(hart, Name(watch.function_at(pc) + 1), pc, cycle);
    stack.pending = Transfer::NONE;
    stack.user = false;
    count(stack, cycle + 1);
    Name name = text("[" + trap_name(cause) + "]");
    stack.calls->frames.push_back({name, 0, true});
    stack.node = child(stack.node, name);
}

void Flame::trap_return(unsigned hart, uint32_t, uint64_t cycle)
{
    Stack &stack = harts[hart];
    count(stack, cycle + 1);
    Frames &frames = stack.calls->frames;
    stack.user = false;
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
    stack.calls = &threads[watch.harts[hart].thread->id];
    stack.user = false;
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
