"""The commands of README.md, as written there."""

import re
import subprocess

from support.cache import REPO

BLOCKS = re.findall(r"^```sh\n(.*?)^```", (REPO / "README.md").read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
FIVE = [line for line in COMMANDS if line.startswith("./interlock")]


def test_it_has_two_commands_and_five_more():
    verbs = re.findall(r"^([a-z-]+):.*## ", (REPO / "Makefile").read_text(), re.MULTILINE)
    two = [line.split()[1] for line in COMMANDS if line.startswith("make ")]
    assert two == ["run", "test"] and set(two) <= set(verbs)
    assert len(FIVE) == 5 and len(COMMANDS) == 7


def test_the_five_work_as_printed_in_their_order():
    for command in FIVE:
        wanted = int((re.findall(r"exit status (\d+)", command) or ["0"])[0])
        done = subprocess.run(command, shell=True, executable="/bin/bash", cwd=REPO, text=True, timeout=900,
                              stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == wanted, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
