"""The same C program on the host's Linux and on the machine: what it prints is the same, line by line. One program for
each family of calls (programs/both); where the two differ on purpose, a program does not ask."""

import signal
import subprocess
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.machine import boot

BOTH = Path(__file__).parent / "programs/both"
MAX_CYCLES = 60_000_000


def build_for_host(folder, name):
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-D_GNU_SOURCE", "-Wall", "-Wno-unused-result", "-Wno-clobbered",
                    BOTH / f"{name}.c", "-o", folder / name], check=True)


def as_by_login():
    """What was ignored or masked where the tests were started (nohup, a shell's background) is so no more."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def lines_of_host(folder, name, args):
    done = subprocess.run([folder / name, *args], cwd=folder, capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=as_by_login)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def lines_of_machine(folder, harts, sync, program, args, files):
    run = boot(folder, harts, sync, f"run=user program={program} args={','.join(args)} hz=1000", files=files,
               max_cycles=MAX_CYCLES)
    assert run.status == 0, run.report()
    return run.console.replace("\r", "").splitlines()[1:]    # behind the kernel's own line


@pytest.mark.parametrize("name, harts, sync, args",
                         [("vfork", 2, "spl-optim", ["1"]), ("waits", 2, "spl-optim", ["3"]),
                          ("signals", 2, "spl-optim", []), ("threads", 2, "spl-optim", []),
                          ("pipes", 2, "spl-optim", ["1", "75"]), ("contexts", 2, "spl-optim", [])])
def test_prints_what_it_prints_on_the_host(tmp_path, name, harts, sync, args):
    build_for_host(tmp_path, name)
    built = programs.build_program([BOTH / f"{name}.c"])
    assert lines_of_machine(tmp_path / "run", harts, sync, name, args, {name: built}) == lines_of_host(
        tmp_path, name, args)


def scripts(folder, program, path):
    """Of all kinds, in `folder`, which is `path` where `program` runs."""
    folder.mkdir(exist_ok=True)
    texts = {"shows": f"#!{program} shows\n", "with-word": f"#!{program} shows \nrest", "nested": f"#!{path}/shows\n",
             "with-words": f"#! \t{program} shows  many words \n", "no-interpreter": "#!/nonsense/interpreter\n",
             "no-newline": f"#!{program} shows", "blanks": "#!   \n", "text": "exit 9\n", "empty": "",
             "loops": f"#!{path}/loops\n", "long": "#!" + "/x" * 200 + "\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {name: folder / name for name in texts}


def test_executes_what_the_host_executes(tmp_path):
    build_for_host(tmp_path, "exec")
    scripts(tmp_path, tmp_path / "exec", tmp_path)
    files = scripts(tmp_path / "files", "/bin/exec", "/bin")
    files |= programs.commands() | {"exec": programs.build_program([BOTH / "exec.c"])}
    assert lines_of_machine(tmp_path / "run", 2, "spl-optim", "/bin/exec", ["/bin"], files) == lines_of_host(
        tmp_path, "exec", [str(tmp_path)])
