// Runs one program on the simulated SoC: see README.md.
#include <csignal>
#include <cstdio>

#include "options/arguments.h"
#include "run/checkpoint.h"
#include "run/simulation.h"
#include "support/failure.h"

static void interrupt(int signal)
{
    interrupted_by = signal;
    std::signal(signal, SIG_DFL); // a second one ends the simulator at once
}

int main(int argc, char **argv)
{
    try {
        Arguments arguments;
        if (!parse_arguments(argc, argv, CLOCK_HZ, arguments))
            return 0;
#ifdef MODEL_LEVEL
        if (!__builtin_cpu_supports(MODEL_LEVEL))
            throw Failure("this simulator was built for processors of level " MODEL_LEVEL ", and this one is older: "
                          "build it on this machine, with a build folder of its own (INTERLOCK_BUILD)");
#endif
        std::signal(SIGINT, interrupt);
        std::signal(SIGTERM, interrupt);
        std::signal(SIGPIPE, SIG_IGN);
        if (arguments.restore.empty())
            return Simulation(arguments, read_inputs(arguments), nullptr).run();
        Checkpoint checkpoint = read_checkpoint(arguments.restore);
        return Simulation(arguments, merge_inputs(checkpoint, arguments), &checkpoint).run();
    } catch (const Failure &failure) {
        std::fprintf(stderr, "error: %s\n", failure.what());
        return 2;
    }
}
