"""The kernel's layers (kernel/README.md, "Layers"): a file includes, and an object needs, only what is in its own row
of the table or in an earlier one."""

import re
import subprocess
from pathlib import Path

import pytest

from sim.images.kernel import CROSS, SCHEMES, kernel_objects
from soc.config import SoCConfig
from support.cache import REPO
from tests.kernel.machine import CHECKED, TIMED

KERNEL = REPO / "kernel"
# What a header of a lower layer declares and a higher layer defines: each with its reason.
UPCALLS = {
    "kernel_main": "arch/start.S ends in the start of the kernel, on hart 0",
    "hart_main": "and on the others",
    "harts": "the per-hart area has a part of each layer",
    "hart_count": "how many of them there are is known when the kernel starts",
    "panic": "a unit that finds itself wrong cannot go on; what to stop and to print is known above (arch/panic.c)",
    "interrupt": "from the trap to the scheme, by a jump without a look-up",
    "interrupt_other": "the same for the CLINT's interrupts",
    "user_trap": "from a trap in user mode to the process, by a jump without a look-up",
    "bootargs": "the loader writes into it where the image's header says, which arch/start.S holds",
    "softint_dispatch": "leaving a section runs what was put off, by a jump without a look-up",
    "softint_dispatch_above": "the same, above a level",
    "sched_preempt_from_interrupt": "the way back to base level switches threads, by a jump without a look-up",
    "thread_block": "a waiter of a lock or an event sleeps: the interface lock/threads.h",
    "thread_unblock": "the same",
    "thread_name": "the same",
    "thread_runs": "the same",
    "thread_locks": "the same",
}
OPEN = {"user/abi.h"}    # the interface of programs and kernel: any layer can have system calls
OF_RUNS = "user/programs/"      # shared by a run of bench/ or test/ and the program that it starts
ASSEMBLY_CALLS = {"kernel_main", "hart_main"}


def rows(text):
    """The table of layers: one list of folders for each row, the lowest first."""
    section = text.partition("\n## Layers\n")[2].partition("\n## ")[0]
    return [re.findall(r"`(\w+)/`", line.split("|")[1]) for line in section.splitlines() if line.startswith("| `")]


TABLE = rows((KERNEL / "README.md").read_text())
ROW = {folder: row for row, folders in enumerate(TABLE) for folder in folders}


def sources():
    for path in sorted(KERNEL.rglob("*.[chS]")):
        inside = path.relative_to(KERNEL)
        # The host tests are programs of their own.
        if not str(inside).startswith("test/host/"):
            yield inside, path.read_text()


def goes_up(inside, text):
    """The includes of the file `inside` that go to a later row, or to no row at all, as lines."""
    for line, name in re.findall(r'^([ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"])', text, re.MULTILINE):
        folder = name.partition("/")[0]
        if name in OPEN or name.startswith(OF_RUNS) and inside.parts[0] in TABLE[-1]:
            continue
        if folder in ROW and (KERNEL / name).is_file():
            if ROW[folder] > ROW[inside.parts[0]]:
                yield f"{inside} ({inside.parts[0]}/) includes {name}"
        elif '"' in line and not name.startswith("../firmware/"):
            yield f"{inside} includes {name}, which is not a path from kernel/"


def test_the_table_has_each_folder_of_the_kernel_once():
    folders = [folder for row in TABLE for folder in row]
    assert len(TABLE) > 8 and len(folders) == len(set(folders))
    assert set(folders) == {path.name for path in KERNEL.iterdir() if path.is_dir()}


def test_no_include_goes_up():
    up = [problem for inside, text in sources() for problem in goes_up(inside, text)]
    assert not up, f"{len(up)} includes go up:\n" + "\n".join(up)


@pytest.mark.parametrize("inside, text, problems", [
    ("lib/a.c", '#include "lib/printf.h"\n#include <string.h>\n#include <generated/csr.h>\n', 0),
    ("lib/a.c", '  # include "sched/sched.h"\n', 1),
    ("lib/a.c", "#include <sched/sched.h>\n", 1),
    ("sched/a.c", '#include "lib/printf.h"\n#include "sched/sleep.h"\n#include "proc/process.h"\n', 1),
    ("sched/a.c", '#include "sched.h"\n', 1),
    ("dev/a.c", '#include "user/abi.h"\n#include "proc/syscall.h"\n', 1),
    ("test/a.c", '#include "user/programs/toucher.h"\n', 0),
    ("proc/a.c", '#include "user/programs/toucher.h"\n', 1),
    ("dev/host.c", '#include "../firmware/service.h"\n', 0),
    ("bench/a.c", '#include "test/test.h"\n#include "proc/process.h"\n', 0),
])
def test_an_include_that_goes_up_is_found(inside, text, problems):
    assert len(list(goes_up(Path(inside), text))) == problems


def test_a_header_open_to_all_needs_nothing_of_the_kernel():
    assert not [name for name in OPEN if '#include "' in (REPO / name).read_text()]


def test_a_program_is_made_of_what_lies_in_user_alone():
    """So that it is built anew if that changes, and not for each change of the kernel (sim/images/kernel.py)."""
    files = [path for folder in ("lib", "programs") for path in sorted((REPO / "user" / folder).rglob("*.[chS]"))]
    line = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
    included = [(path.name, name) for path in (*files, REPO / "user/abi.h")
                for name in line.findall(path.read_text())]
    assert len(included) > 100
    assert not [(file, name) for file, name in included
                if ".." in name or (KERNEL / name).is_file() or
                (REPO / name).is_file() and not name.startswith("user/")]


def test_each_system_call_stands_once_beside_what_it_is_about():
    """None of them is beside those that carry calls out; each has a number of its own that programs know."""
    numbers = dict(re.findall(r"^#define (SYS_\w+) (\d+)\b", (REPO / "user/abi.h").read_text(), re.MULTILINE))
    most = int(numbers.pop("SYS_CALLS"))
    assert len(set(numbers.values())) == len(numbers) > 100 and all(int(number) < most for number in numbers.values())
    where = [(name, str(inside)) for inside, text in sources()
             for name in re.findall(r"^SYSCALL\((\w+), \w+\);$", text, re.MULTILINE)]
    assert len(dict(where)) == len(where) and set(dict(where)) <= set(numbers)
    assert "proc/syscall.c" not in dict(where).values() and len(set(dict(where).values())) > 3


def test_boot_arguments_of_subsystems_are_read_beside_them():
    keys = re.findall(r'bootargs_\w+\("([\w.]+)"', (KERNEL / "init/main.c").read_text())
    assert set(keys) <= {"run", "zones"}


def symbols(paths):
    """For each object: the names it defines for others, and those it needs from them."""
    listing = subprocess.run([f"{CROSS}nm", "-A", "-g", *paths], check=True, capture_output=True, text=True).stdout
    found = {path: (set(), set()) for path in paths}
    for line in listing.splitlines():
        path, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        found[Path(path)][kind in "Uwv"].add(name)
    return found


def objects(folder):
    return sorted(path for path in folder.rglob("*.o") if path.parent.name in ROW)


def needs_up(folder):
    """Lines that say which object of `folder` needs a name that a later row defines, with no hook between."""
    found = symbols(objects(folder))
    where = {name: path for path, (defined, _) in found.items() for name in defined}
    for path, (_, needed) in found.items():
        for name in sorted(needed & where.keys() - UPCALLS.keys()):
            if ROW[where[name].parent.name] > ROW[path.parent.name]:
                yield (f"{path.relative_to(folder).with_suffix('')} needs {name} of "
                       f"{where[name].relative_to(folder).with_suffix('')}")


# Those that tests of the kernel build, too: each more costs its compilation.
IMAGES = [("spl-optim", {}), ("cli-optim", CHECKED["cli-optim"]), ("spl-pessim", TIMED),
          ("cli-spl-pessim", {"spinlock": "clh"})]


@pytest.mark.parametrize("sync, options", IMAGES)
def test_no_object_needs_a_later_row(sync, options):
    assert sync in SCHEMES
    up = list(needs_up(kernel_objects(SoCConfig(harts=1), sync, options)))
    assert not up, f"{len(up)} names go up:\n" + "\n".join(up)


def test_each_upcall_is_one():
    """Each name on the list is one that a lower layer needs from a higher one, and lower layers' headers declare it."""
    headers = {row: "".join(path.read_text() for folder in folders for path in (KERNEL / folder).rglob("*.h"))
               for row, folders in enumerate(TABLE)}
    users, where = {}, {}
    for sync, options in IMAGES:
        found = symbols(objects(kernel_objects(SoCConfig(harts=1), sync, options)))
        where |= {name: path for path, (defined, _) in found.items() for name in defined}
        for path, (_, needed) in found.items():
            for name in needed & UPCALLS.keys():
                users.setdefault(name, []).append(path)
    for name in UPCALLS:
        row = ROW[where[name].parent.name]
        assert any(ROW[path.parent.name] < row for path in users.get(name, [])), f"{name} is no upcall"
        if name not in ASSEMBLY_CALLS:
            assert any(re.search(rf"\b{name}\b[(\[;]", headers[lower]) for lower in range(row)), f"{name}: no header"
