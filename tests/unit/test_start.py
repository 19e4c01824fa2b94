"""The start of `./interlock`: signals at any moment, and unexpected errors, end in one line."""

import errno
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from sim import start
from sim.commands.common import Failed
from sim.commands.flame import flame
from sim.commands.latency import latency
from sim.commands.run import run
from support.cache import REPO

KNOWN = (start.INTERRUPTED, "it ends, and keeps what is finished; once more ends it at once")


def begun(*command, **how):
    """A process with a login's signal handling: a shell's background job ignores Ctrl-C and passes that on."""
    def signals():
        for number in start.ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPO,
                            preexec_fn=signals, **how)


@pytest.mark.parametrize("number, times", [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 1),
                                           (signal.SIGHUP, 3)])
def test_a_signal_at_any_moment_ends_in_one_line(number, times):
    """While bash, Python and our modules start, while the command works and while it ends. INTERRUPTS=50 for more."""
    moments = int(os.environ.get("INTERRUPTS", "4"))
    for moment in range(moments):
        process = begun(REPO / "interlock", "list", "pic-latency")
        time.sleep(0.7 * moment / moments)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.005)
        output, messages = process.communicate(timeout=60)
        lines = messages.splitlines()
        assert all(line.removeprefix("interlock: ") in KNOWN for line in lines), messages
        # It was faster, the shell was ended before Python was there, or it was interrupted and says so.
        assert process.returncode in (0, -number) or process.returncode == 130 and start.INTERRUPTED in messages, (
            process.returncode, messages)
        assert process.returncode or output.startswith("pic-latency: ")


def test_a_signal_that_nobody_heard_ends_the_command():
    """Python swallows exceptions in a destructor, and libraries those in themselves."""
    code = """import os, signal, sim.start as start
def command():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass
    return '', 0
start.command = command
start.main()"""
    process = begun(sys.executable, "-c", code)
    assert process.communicate(timeout=60) == ("", f"interlock: {start.INTERRUPTED}\n") and process.returncode == 130


def test_an_interrupt_within_exec_ends_with_the_same_status(tmp_path):
    """As while a dataclass is made: `python -m` remembers such an interrupt, and ends itself by SIGINT."""
    (tmp_path / "interrupts.py").write_text("""import os, signal, sim.start as start
def command():
    exec('os.kill(os.getpid(), signal.SIGTERM)', globals())
    return '', 0
start.command = command
start.main()""")
    process = begun(sys.executable, "-m", "interrupts", env=os.environ | {"PYTHONPATH": f"{tmp_path}:{REPO}"})
    assert process.communicate(timeout=60) == ("", f"interlock: {start.INTERRUPTED}\n") and process.returncode == 130


RAISED = {
    "KeyError('x')": r"KeyError: 'x': this is a fault of interlock, please report it with (/\S+\.txt)",
    "RuntimeError('a\\nb')": r"RuntimeError: a: this is a fault of interlock, please report it with (/\S+\.txt)",
    "RecursionError()": r"RecursionError: this is a fault of interlock, please report it with (/\S+\.txt)",
    "FileNotFoundError(2, 'No such file or directory', '/x/y')": "/x/y: No such file or directory",
    "PermissionError(13, 'Permission denied', '/x', None, '/y')": "/x and /y: Permission denied",
    "ModuleNotFoundError('No module named \\'typer\\'', name='typer')":
        r"the Python environment .venv is damaged \(No module named 'typer'\): make -C \S+ setup",
    "ImportError('cannot import name', name='sim.cli')":
        r"ImportError: cannot import name: this is a fault of interlock, please report it with (/\S+\.txt)",
    "MemoryError()": re.escape(start.NO_MEMORY),
    "KeyboardInterrupt()": re.escape(start.INTERRUPTED),
    "SystemExit('words')": "words",
}


@pytest.mark.parametrize("where", ["here", "thread"])
@pytest.mark.parametrize("raised", RAISED)
def test_no_traceback_reaches_the_user(tmp_path, raised, where):
    if where == "thread" and raised.startswith(("Memory", "Keyboard", "System")):
        return
    do = f"raise {raised}" if where == "here" else "threading.Thread(target=fails).start(); return '', 0"
    code = (f"import threading, sim.start as start\ndef fails():\n    raise {raised}\n"
            f"def command():\n    {do}\nstart.command = command\nstart.main()")
    process = begun(sys.executable, "-c", code, env=os.environ | {"INTERLOCK_BUILD": str(tmp_path / "build")})
    output, messages = process.communicate(timeout=60)
    assert not output and process.returncode == (0 if where == "thread" else 130 if "Keyboard" in raised else 1)
    found = re.fullmatch(f"interlock: {RAISED[raised]}\n", messages)
    assert found, messages
    if found.groups():
        assert raised.partition("(")[0] in open(found[1]).read()


def test_a_traceback_is_kept_where_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "file" / "build"))
    (tmp_path / "file").write_text("")      # no folder can be made in it
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = start.note(ValueError("of a test"))
    assert "ValueError: of a test" in open(path).read()
    os.unlink(path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_an_output_that_cannot_be_written_gets_one_line(number):
    if number == errno.ENOSPC:
        process = subprocess.run(["bash", "-c", "./interlock list >/dev/full"], cwd=REPO, text=True,
                                 capture_output=True)
        assert process.returncode == 1 and process.stderr == "interlock: the disk is full\n"
    else:
        assert start.one_line(OSError(number, os.strerror(number))).startswith("OSError: [Errno 5] Input/output error")


@pytest.mark.parametrize("command", [flame, latency])
@pytest.mark.parametrize("what, said", [("fifo", "this is no file"), ("folder", "this is no file"),
                                        ("none", "there is no such file")])
def test_what_is_no_file_is_not_waited_for(tmp_path, command, what, said):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Failed, match=said):
        command(tmp_path / what, None)


def test_an_empty_address_is_no_scheduler():
    """It used to count as none, and the runs were made here."""
    with pytest.raises(Failed, match="--scheduler: give the address"):
        run("pic-latency", scheduler="")
