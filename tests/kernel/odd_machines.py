"""Boots machines at the ends of what can be built: `python -m tests.kernel.odd_machines [--each]`.

Each parameter of a machine has its least and its greatest value in some machine, all least values together, and all
greatest ones, or with --each in a machine of its own. A machine boots `run=hello` and succeeds, or is refused in
one line before anything is built; each kind of machine takes a minute or two of processor time to build. Exit status 1
if one does neither.
"""

import argparse
import subprocess
import sys

from support.cache import REPO
from support.parameters.machine import MACHINE

CYCLES = 200_000_000
# A read of main RAM that takes 65,535 cycles makes a boot that takes hours: the kernel sets it, once it runs.
SET = ("run=hello", "ram_read_latency=8")


def machines(each: bool):
    """Name -> parameters: the ends of each that has a range or choices."""
    ends = {name: parameter.range or (parameter.choices[0], parameter.choices[-1])
            for name, parameter in MACHINE.items()}
    if each:
        return {f"{name}={value}": {name: value} for name, values in ends.items() for value in values}
    return {"all at the least": {name: values[0] for name, values in ends.items()},
            "all at the greatest": {name: values[1] for name, values in ends.items()}}


def tried(parameters) -> str:
    """The result of a machine: `boots`, `refused: ...`, or what is wrong."""
    words = [f"--harts={parameters.get('harts', 1)}", f"--max-cycles={CYCLES}",
             *(f"--machine={name}={value}" for name, value in parameters.items() if name != "harts"),
             *(f"--set={word}" for word in SET)]
    done = subprocess.run(["./interlock", "sim", *words], cwd=REPO, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode == 0 and "hello" in done.stdout.lower():
        return "boots"
    lines = done.stderr.strip().splitlines()
    if done.returncode == 2 and len(lines) == 1 and not done.stdout:
        return f"refused: {lines[0]}"
    return f"WRONG: status {done.returncode}: {' / '.join([*done.stdout.splitlines()[-3:], *lines[-3:]])}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", action="store_true", help="one parameter at a time")
    found = {}
    for name, parameters in machines(parser.parse_args().each).items():
        found[name] = tried(parameters)
        print(f"{name}: {found[name]}", flush=True)
    return int(any(text.startswith("WRONG") for text in found.values()))


if __name__ == "__main__":
    sys.exit(main())
