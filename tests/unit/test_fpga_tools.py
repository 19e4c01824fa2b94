"""The programs that make bitstreams are found and started so that no two of a kind interfere."""

import os
import subprocess
import sys

from support.cache import REPO

# Like the registry's programs: the first run writes a file that all others read while they run.
PROGRAM = """#!/bin/sh
compiled=$YOWASP_CACHE_DIR/compiled
if [ ! -e "$compiled" ]; then
    echo begun > "$compiled"
    sleep 0.5
    echo whole > "$compiled"
fi
read state < "$compiled"
[ "$state" = whole ] || kill -s BUS $$
echo "Yosys 1.2"
"""


def test_the_first_runs_of_a_program_do_not_overlap(tmp_path):
    """Four processes need a program that has never run."""
    program = tmp_path / "yowasp-thing"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "YOWASP_CACHE_DIR": str(tmp_path)}
    asked = [subprocess.Popen([sys.executable, "-c", "from soc.fpga.tools import version; print(version('thing'))"],
                              cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0] for process in asked] == ["thing 1.2 (registry)\n"] * 4
