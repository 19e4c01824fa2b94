"""C++ that counts how often each gate was open, and at the end of the run writes it to a file: for
`python -m sim.bench.activity`, which gives each node a gate of its own."""

from collections.abc import Sequence

FILE = "INTERLOCK_ACTIVITY"   # in the environment: its name


def declaration(names: Sequence[Sequence[str]], harts: Sequence[int]) -> str:
    """Of the counters of all gates: what stands behind each, and how many harts have it."""
    rows = "".join(f'    {{{n}, "{" ".join(of)}"}},\n' for of, n in zip(names, harts, strict=True))
    return ("#include <cstdio>\n#include <cstdlib>\n\nnamespace {\n\n"
            f"constexpr struct {{ unsigned harts; const char *names; }} GATES[] = {{\n{rows}}};\n\n"
            f"struct Counted {{\n    uint64_t cycles, of[{len(names)}];\n    ~Counted()\n    {{\n"
            f'        FILE *file = std::fopen(std::getenv("{FILE}"), "w");\n'
            f"        for (unsigned i = 0; i < {len(names)}; i++)\n"
            '            std::fprintf(file, "%llu %llu %s\\n", (unsigned long long)of[i],\n'
            "                         (unsigned long long)(cycles * GATES[i].harts), GATES[i].names);\n"
            "        std::fclose(file);\n    }\n} counted;\n\n} // namespace\n\n")
