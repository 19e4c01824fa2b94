// Runs one program on the simulated SoC: see README.md.
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "machine/facts.h"
#include "options/plan.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "support/failure.h"

static void interrupt(int signal)
{
    interrupted_by = signal;
    std::signal(signal, SIG_DFL); // a second one ends the simulator at once
}

// A checkpoint of several nodes has their wires; one of a single machine can become several nodes.
static void go_on_from(const CheckpointFile &checkpoint, Plan &plan)
{
    if (checkpoint.nodes() == 1)
        return;
    if (plan.nodes.size() != checkpoint.nodes())
        throw Failure(format("the checkpoint %s is of %u nodes: give --nodes %u", plan.common.restore.c_str(),
                             checkpoint.nodes(), checkpoint.nodes()));
    if (!plan.wires.empty())
        throw Failure(
            format("--wire: the checkpoint %s has the wires: leave the option out", plan.common.restore.c_str()));
    plan.wires = checkpoint.wires();
}

static int run(Plan plan, Ranks &ranks)
{
    std::optional<CheckpointFile> checkpoint;
    std::unique_ptr<Run> run;
    std::string failure;
    try {
        if (!plan.common.restore.empty()) {
            checkpoint.emplace(plan.common.restore);
            go_on_from(*checkpoint, plan);
        }
        run = std::make_unique<Run>(std::move(plan), checkpoint ? &*checkpoint : nullptr, ranks);
    } catch (const Failure &its) {
        failure = its.what();
    }
    for (const std::string &said : ranks.all(failure))
        if (!said.empty())
            throw Failure(said);
    return run->run();
}

int main(int argc, char **argv)
{
    std::unique_ptr<Ranks> ranks; // ended after a failure has been reported
    try {
        Plan plan;
        if (!parse_arguments(argc, argv, CLOCK_HZ, plan))
            return 0;
#ifdef MODEL_LEVEL
        if (!__builtin_cpu_supports(MODEL_LEVEL))
            throw Failure("this simulator was built for processors of level " MODEL_LEVEL ", and this one is older: "
                          "build it on this machine, with a build folder of its own (INTERLOCK_BUILD)");
#endif
        std::signal(SIGINT, interrupt);
        std::signal(SIGTERM, interrupt);
        if (std::signal(SIGHUP, interrupt) == SIG_IGN) // nohup's
            std::signal(SIGHUP, SIG_IGN);
        std::signal(SIGPIPE, SIG_IGN);
        if (plan.ranks > 1 && !plan.common.checkpoint.empty())
            throw Failure("--ranks, --checkpoint: a checkpoint is written by one process: leave one of them out");
        ranks = Ranks::make(plan.ranks, plan.ranks_library, unsigned(plan.nodes.size()));
        return run(std::move(plan), *ranks);
    } catch (const Failure &failure) {
        if (!ranks || !ranks->self) // all fail together
            std::fprintf(stderr, "error: %s\n", failure.what());
        return 2;
    }
}
