"""The interface of programs and kernel (user/abi.h): a test names each constant, or it is in a list here with the
reason why not. By its own name, or by its name for programs (SIGHUP, getpid)."""

import re
from pathlib import Path

REPO = Path(__file__).parents[2]
TESTS = ("tests/kernel", "user/programs", "kernel/test")
NO_TEST = {
    "there is no such call yet": "SYS_RECVMSG SYS_SENDMSG SYS_VM_FIRST",
    "no trap gives it": "USER_BUS_ADRALN USER_TRAP_BRKPT USER_SIGIO",
    "limits of the kernel's own tables, which programs meet as errors":
        "USER_NAME_SIZE USER_PATH_SIZE USER_SIGNALS USER_RLIMITS",
    "seen by what the library makes of it": "USER_W_GOES_ON USER_CANCELS SYS_SYSTEM_INFO SYS_THREAD_CANCEL",
}


def names(define):
    kind, short = define.split("_", 1)
    return {define, short if kind == "USER" else short.lower()}


def unnamed():
    defines = re.findall(r"^#define ((?:USER|SYS)_\w+)", (REPO / "user/abi.h").read_text(), re.MULTILINE)
    words: set[str] = set()
    for folder in TESTS:
        for path in sorted((REPO / folder).rglob("*.[chp]*")):
            words |= set(re.findall(r"\w+", path.read_text()))
    return {define for define in defines if not define.endswith("_H") and not names(define) & words}


def test_each_constant_is_named_by_a_test():
    known = {name for group in NO_TEST.values() for name in group.split()}
    found = unnamed()
    assert not found - known, "no test names these"
