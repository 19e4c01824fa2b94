"""The shell's commands do what the host's do: the short form of commands.py, which has the long one. COMMANDS_PART=67
has more cases, 1 all."""

import os

from tests.kernel import commands

PART = int(os.environ.get("COMMANDS_PART", "151"))


def test_commands_do_what_the_hosts_do(tmp_path):
    count, wrong = commands.compared(tmp_path, PART)
    assert count > len(commands.ALWAYS) and not wrong, "\n".join(wrong)


def test_what_is_listed_as_different_is_a_case():
    assert set(commands.DIFFERENT) | set(commands.ALWAYS) <= set(commands.CASES)
    assert len(set(commands.CASES)) == len(commands.CASES)
