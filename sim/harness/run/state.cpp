// The state of a run, saved in a checkpoint and restored from it: all of the chip, and what the harness knows of it.
#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>

#include "run/simulation.h"
#include "support/failure.h"

// Saving and restoring go through the same list. What is missing in it is made from the command line, or is the
// machine's that runs the simulator.
template <class Archive> void Simulation::state(Archive &archive)
{
    archive(watch, uart0_in, uart1_in, uart0_out, uart1_out, console_text, uart1_mix, trace_mix, trace_records, blobs,
            cycle, fed_at, feed_due, wires, source_wires, pokes, poked);
}

// Called in the cycle that the moment belongs to: the checkpoint is taken behind it.
void Simulation::at_moment(uint64_t now)
{
    if (checkpoint_written || end != End::NONE)
        return;
    moment_reached = true;
    until = now + 1;
}

void Simulation::save_checkpoint()
{
    Doing doing("writing a checkpoint");
    Checkpoint checkpoint{cycle, inputs, model.save(), ""};
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    state(archive);
    hang.save(archive);
    archive(trace_file.kept(), uart1_file.kept());
    checkpoint.harness = stream.str();
    write_checkpoint(arguments.checkpoint, checkpoint, image.sha256);
    checkpoint_written = true;
    moment_reached = false;
    trace_file.forget();
    uart1_file.forget();
    for (Blob &blob : blobs)
        blob.content = {};
    if (!arguments.quiet)
        std::fprintf(stderr, "checkpoint at cycle %llu: %s\n", (unsigned long long)cycle, arguments.checkpoint.c_str());
    if (arguments.checkpoint_stop)
        stop(End::CHECKPOINT, "");
}

void Simulation::restore(const Checkpoint &checkpoint)
{
    model.restore(checkpoint.model);
    std::istringstream stream(checkpoint.harness);
    cereal::BinaryInputArchive archive(stream);
    state(archive);
    hang.load(archive, cycle);
    archive(trace_before, uart1_before);
    if (inputs.other_feed && feed_due)
        throw Failure(format("--uart1-in, --uart1-start: at cycle %llu, of the checkpoint %s, the data line has begun "
                             "already: leave them out, or boot anew",
                             (unsigned long long)cycle, arguments.restore.c_str()));
}

// The outputs of the run, from its first cycle on.
void Simulation::write_again()
{
    console_file.write(console_text);
    trace_file.write(trace_before);
    uart1_file.write(uart1_before);
    for (Blob &blob : blobs) {
        write_blob(blob.kind, blob.content.data(), blob.content.size());
        if (arguments.checkpoint.empty())
            blob.content = {};
    }
}

void Simulation::apply_pokes()
{
    for (; poked < pokes.size() && pokes[poked].cycle == cycle; poked++)
        model.poke(pokes[poked]);
}
