"""What a kernel image is built with: its synchronisation scheme, and its build options."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from support.parameters.declared import Parameter, ParameterError, close_match


@dataclass(frozen=True)
class Scheme:
    """A synchronisation scheme: `kernel/sync/NAME.h`, with _ for -."""

    name: str
    primitive: str          # a section's cost (paper `sync`, Table 2): an off-chip pair, an on-chip one, a flag's
    fall_back: str = ""     # its extra cost when it is interrupted

    @property
    def id(self) -> str:
        return self.name.replace("-", "_")


# A scheme is its header and a line here. Section 7.1: in the model of Table 2 cli-spl-pessim is cli-pessim, because the
# cost of its handlers is left out, as it is for every scheme.
SCHEME_LIST = (
    Scheme("spl-pessim", "off-chip"),
    Scheme("spl-optim", "flag", "off-chip"),
    Scheme("cli-pessim", "on-chip"),
    Scheme("cli-optim", "flag", "on-chip"),
    Scheme("cli-spl-pessim", "on-chip"),
)
SCHEMES = tuple(scheme.name for scheme in SCHEME_LIST)
SYNC = Parameter("sync", "the kernel's synchronisation scheme", "cli-spl-pessim", choices=SCHEMES, ways=("build",))

# The build option `layout`: 0 is the order in which the linker finds functions and data. A number N draws an order from
# N, in which ld.lld puts the sections of the kernel and of user programs, and from which the kernel takes where stacks,
# page frames, and a program's stack and heap begin (kernel/lib/layout.h). The same N is the same image. The order of a
# profile is made by sim/images/profile.py.
PROFILE = "profile"
LAYOUT = re.compile(rf"0|[1-9][0-9]{{0,8}}|{PROFILE}")
LAYOUT_DOMAIN = f"0 to 999999999, or {PROFILE}"


def _option(name: str, help: str, *choices: str) -> Parameter:
    return Parameter(name, help, choices[0], choices=choices, ways=("build",))


OPTIONS = {option.name: option for option in (
    _option("spinlock", "the algorithm of simple locks (kernel/lock/spin)", "ticket", "ttas", "tas", "mcs", "clh"),
    _option("runqueue", "one run queue, or one for each hart", "global", "per-hart"),
    _option("lock_debug", "1: locks record where they were taken, and their order is checked", "0", "1"),
    _option("lock_stats", "1: locks count, and the run ends with @lockstat lines", "0", "1"),
    _option("accounting", "1: cycles of each thread, of handlers and of idling", "0", "1"),
    _option("crit_timing", "1: the kernel times sections and polls", "0", "1"),
    _option("biodone", "completes disk requests: a thread, or a soft interrupt", "thread", "softint"),
    _option("unix", "the kernel's file and process code: with locks of its own, under one master, or with more of "
            "paper mach's steps", "parallel", "serial", "beyond"),
    _option("buffers", "the buffer cache: one lock, a lock for each bucket, or shared locks too", "mach", "buckets",
            "shared"),
    _option("alloc", "blocks and inodes: one lock, or one for each group", "one", "groups"),
    _option("inodes", "locks of inodes: exclusive, or shared by readers", "mutex", "rw"),
    _option("locks", "none: no blocking locks, a floor for measuring", "all", "none"),
    _option("net", "where received frames are processed (kernel/net/receive)", "threads", "softint", "interrupt",
            "poll"),
    _option("tcpip", "the kernel of the network (kernel/net/policy)", "connection", "serial", "global",
            "connection-rw", "krp-classic", "krp", "krp-many"),
    _option("ipc", "messages between nodes (kernel/ipc/transport)", "none", "norma", "window"),
    _option("nfs", "NFS client and server (kernel/nfs)", "none", "udp"),
    Parameter("layout", f"where functions and data lie: {LAYOUT_DOMAIN}", "0", ways=("build",)),
)}
LINKED = ("layout",)        # change how an image is linked, not what is compiled for it
# The defaults of other options with a value of `unix` other than its default; serial has these and no others.
KERNELS = {"serial": {"buffers": "mach", "alloc": "one", "inodes": "mutex", "biodone": "thread"},
           "beyond": {"buffers": "shared", "alloc": "groups", "inodes": "rw"}}
WITHOUT_LOCKS = {"unix": "parallel", "buffers": "mach", "lock_debug": "0", "lock_stats": "0"}   # with locks=none
# Macros of C: 1 where an option has one of these values. For an option of 0 and 1 the macro has its name.
MACROS = {"RUNQUEUE_PER_HART": ("runqueue", "per-hart"), "BIODONE_SOFTINT": ("biodone", "softint"),
          "UNIX_SERIAL": ("unix", "serial"), "BUFFERS_BUCKETS": ("buffers", "buckets", "shared"),
          "BUFFERS_SHARED": ("buffers", "shared"), "ALLOC_GROUPS": ("alloc", "groups"),
          "INODES_SHARED": ("inodes", "rw"), "LOCKS_NONE": ("locks", "none"),
          **{name.upper(): (name, "1") for name, option in OPTIONS.items() if option.choices == ("0", "1")}}


def checked_options(options: Mapping[str, str], more: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """All build options with their values, those of `options` and else the defaults; `more` values are possible, too.
    ParameterError in one line."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise ParameterError(f"there is no build option {name!r}{close_match(name, OPTIONS)}")
        if name == "layout" and not LAYOUT.fullmatch(value):
            raise ParameterError(f"build option {name}={value}: give {LAYOUT_DOMAIN}")
        if value not in more.get(name, ()):
            try:
                OPTIONS[name].checked(value)
            except ParameterError as error:
                raise ParameterError(f"build option {error}") from None
    defaults = KERNELS.get(options.get("unix", ""), {})
    if options.get("unix") == "serial":
        for name, value in defaults.items():
            if options.get(name, value) != value:
                raise ParameterError(f"build option {name}={options[name]}: the serial kernel has {name}={value} only; "
                                     "leave one of the two out")
    if options.get("locks") == "none":
        for name, value in WITHOUT_LOCKS.items():
            if options.get(name, defaults.get(name, value)) != value:
                raise ParameterError(f"build option locks=none: it has {name}={value} only; leave one of the two out")
    return {name: options.get(name, defaults.get(name, option.default)) for name, option in OPTIONS.items()}
