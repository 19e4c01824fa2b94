// The state of a node, saved in a checkpoint and restored from it: the whole chip, and the harness's own state of it.
#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>

#include "run/node.h"
#include "support/failure.h"

// Saving and restoring use the same list. Members that are not in it are made from the command line, or belong to the
// host.
template <class Archive> void Node::state(Archive &archive)
{
    archive(watch, cycle, wires, source_wires, pokes, poked, end, ended, reason, failed, exit_code, draining,
            drain_limit, drain_last, drain_quiet);
}

// Called in the moment's cycle: the checkpoint is taken after it.
void Node::at_moment(uint64_t now)
{
    if (checkpoint_written || end != End::NONE)
        return;
    moment_reached = true;
    until = now + 1;
}

std::string Node::outside() const
{
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    archive(watch, wires, source_wires, sent);
    for (const Device *device : devices)
        device->save(archive);
    archive(arrivals.size()); // each is delivered in a cycle that is not skipped
    return stream.str();
}

Checkpoint Node::save()
{
    catch_up();
    Checkpoint checkpoint{cycle, inputs, model_state(), ""};
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    state(archive);
    hang.save(archive);
    for (const Device *device : devices)
        device->save(archive);
    archive(arrivals.size());
    for (const Arrival &arrival : arrivals)
        archive(arrival.message, arrival.to->name);
    checkpoint.harness = stream.str();
    checkpoint_written = true;
    moment_reached = false;
    for (Device *device : devices)
        device->forget();
    return checkpoint;
}

void Node::restore(const Checkpoint &checkpoint)
{
    restore_model(checkpoint.model);
    std::istringstream stream(checkpoint.harness);
    cereal::BinaryInputArchive archive(stream);
    state(archive);
    hang.load(archive, cycle);
    for (Device *device : devices)
        device->load(archive);
    size_t on_their_way;
    archive(on_their_way);
    for (size_t i = 0; i < on_their_way; i++) {
        Message message;
        std::string name;
        archive(message, name);
        arrivals.push_back({message, device(name)});
    }
    if (inputs.other_feed && data_line.player.is_due())
        throw Failure(format("--uart1-in, --uart1-start: at cycle %llu, of the checkpoint %s, the data line has begun "
                             "already: leave them out, or boot anew",
                             (unsigned long long)cycle, arguments.restore.c_str()));
}

void Node::apply_pokes()
{
    if (poked == pokes.size() || pokes[poked].cycle != time())
        return;
    catch_up();
    for (; poked < pokes.size() && pokes[poked].cycle == cycle; poked++)
        poke(pokes[poked]);
}
