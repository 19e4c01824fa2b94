"""Where `./interlock` begins: signals and errors are handled before anything else is imported, so that any error ends
in one line. The launcher blocks the signals until `take_signals`."""

import os
import signal
import sys
import threading
import time
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OURS = ("sim", "soc", "support", "firmware", "kernel", "user", "hw", "setup")
INTERRUPTED = "interrupted: what was built and what has run is kept, the same command goes on from it"
NO_MEMORY = "out of memory: close other programs, or give fewer --jobs"
STATUS = 130            # of an interrupted command
LOOP = "Symlink loop from "     # the message of Path.resolve()
_asked = 0              # how often the command was asked to end


def interrupted(number: int, frame: FrameType | None):
    """The first signal ends the work in an orderly way; a third does not wait for that."""
    global _asked
    _asked += 1
    if _asked == 1:
        raise KeyboardInterrupt
    if _asked == 2:
        os.write(2, b"interlock: it ends, and keeps what is finished; once more ends it at once\n")
    else:
        os.write(2, f"interlock: {INTERRUPTED}\n".encode())
        os._exit(STATUS)


def take_signals():
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:      # under nohup, or a shell's background job
            signal.signal(number, interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def standard_streams():
    """Ensures that the standard streams are open, as the next file opened would get the number of a closed one: a
    closed input is empty, a closed output ends the command."""
    for number, name in ((0, None), (1, "output"), (2, "error")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)      # gets the lowest free number: this one
            if name:
                os.write(2, f"interlock: standard {name} is closed: give it a file, or /dev/null\n".encode())
                os._exit(1)


def note(error: BaseException) -> str:
    """Writes an error's traceback to a file, and returns its path."""
    import tempfile
    import traceback
    text = "".join(traceback.format_exception(error))
    try:
        from support.cache import build_root
        folder = build_root() / "tracebacks"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{os.getpid()}.txt"
        path.write_text(text)
        return str(path)
    except Exception:       # any error there may be the cause of this one
        try:
            with tempfile.NamedTemporaryFile("w", prefix="interlock-", suffix=".txt", delete=False) as file:
                file.write(text)
            return file.name
        except OSError:
            return "its traceback, for which there is no room"


def one_line(error: BaseException) -> str:
    """The message to the user for an unexpected error."""
    from pathlib import Path
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] not in ("", *OURS):
        return (f"the Python environment .venv is damaged ({error}): "
                f"make -C {Path(__file__).resolve().parents[1]} setup")
    if isinstance(error, OSError) and error.strerror:
        names = " and ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        if names:
            return f"{names}: {error.strerror}"
    words = (f"{type(error).__name__}: {error}".splitlines() or [""])[0].rstrip(": ")
    return f"{words}: this is a fault of interlock, please report it with {note(error)}"


def say(text: str):
    """Prints a message to the user, in one line whatever a name in it holds."""
    try:
        text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
        print(f"interlock: {text}", file=sys.stderr, flush=True)
    except OSError:         # standard error is closed
        pass


def in_thread(args: threading.ExceptHookArgs):
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        say(one_line(args.exc_value))


def unraisable(args: "sys.UnraisableHookArgs"):
    """An error where none can be raised, as at exit: an interrupt is recorded by then, a closed output reported."""
    if args.exc_value is not None and not isinstance(args.exc_value, (KeyboardInterrupt, OSError)):
        note(args.exc_value)


def take_errors():
    threading.excepthook, sys.unraisablehook = in_thread, unraisable


def is_text(word: str) -> bool:
    """Whether a word of the command line was UTF-8; what was not can be neither printed nor recorded."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def command() -> tuple[str, int]:
    """Executes the command; returns its final message, if any, and its exit status."""
    import typer

    from sim.cli import app
    from sim.commands.common import Failed
    from sim.experiments.schema import SettingError
    from sim.results.record import RecordError, disk_is_full, out_of_memory
    for word in sys.argv[1:]:
        if not is_text(word):
            return f"{ascii(word)}: this is no UTF-8, in which names and values are given", 2
    try:
        status = app(prog_name="interlock", standalone_mode=False) or 0
        sys.stdout.flush()
        return INTERRUPTED if status == STATUS and _asked else "", status     # Typer's, for an interrupt
    except typer.Abort:
        return INTERRUPTED, STATUS
    except typer.Exit as error:
        return "", error.exit_code
    except typer.TyperException as error:
        return error.format_message(), 2
    except SettingError as error:
        return str(error), 2
    except Failed as error:
        return str(error), error.status
    except RecordError as error:
        return str(error), 1
    except RuntimeError as error:
        if str(error).startswith(LOOP):
            return f"{str(error).removeprefix(LOOP).strip(chr(39))}: a symbolic link that leads to itself", 1
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        if out_of_memory(error):
            return NO_MEMORY, 1
        if disk_is_full(error):
            return f"the disk is full{f': {error.filename}' if error.filename else ''}", 1
        raise


def own_files():
    """Whatever the umask: a command and the next one can read and write the files that it makes."""
    os.umask(os.umask(0) & ~0o700)


def main():
    text, status = "", 1
    try:
        take_signals()
        own_files()
        standard_streams()
        take_errors()
        text, status = command()
    except BrokenPipeError:     # the reader of the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        text, status = INTERRUPTED, STATUS
    except MemoryError:
        text = NO_MEMORY
    except SystemExit as error:
        text, status = (error.code, 1) if isinstance(error.code, str) else ("", error.code or 0)
    except Exception as error:
        text = one_line(error)
    if _asked and not status:       # what was to be interrupted has ignored it
        text, status = INTERRUPTED, STATUS
    if _asked:      # Python's end would let them end it in another way; an interrupt that exec() passed on, by SIGINT
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    if text:
        say(text)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(status)


if __name__ == "__main__":
    main()
