"""Paper `sync`: its published figures, and the model of its Table 2 that turns costs and rates into an overhead."""

from support.parameters.build import SCHEME_LIST

CLOCK_HZ = 120_000_000      # section 4.2

# Table 2: what a section costs in each scheme, and what it costs more when it is interrupted.
SCHEMES = tuple(scheme.name for scheme in SCHEME_LIST)
PRIMITIVE = {scheme.name: scheme.primitive for scheme in SCHEME_LIST}
FALL_BACK = {scheme.name: scheme.fall_back for scheme in SCHEME_LIST if scheme.fall_back}

# Table 5: cycles, and microseconds as printed.
PAIR_CYCLES = {"off-chip": 304, "on-chip": 21, "flag": 6}
PAIR_US = {"off-chip": 2.5, "on-chip": 0.18, "flag": 0.05}

SERIAL_BAUD = 115_200       # of its load Serial 115.2

LOADS = ("Andrew local", "Andrew NFS", "WebStone", "Serial 115.2")

# Table 3 (measured with cli-pessim): sections entered per second, the deviation of that in per cent, the most in a
# second, and their mean duration in microseconds.
PESSIMISTIC_ENTERED = dict(zip(LOADS, (36048, 25867, 34468, 47762), strict=True))
PESSIMISTIC_DEVIATION = dict(zip(LOADS, (60, 68, 31, 0.05), strict=True))
PESSIMISTIC_MOST = dict(zip(LOADS, (72521, 72940, 82653, 47807), strict=True))
SECTION_US = dict(zip(LOADS, (3.1, 4.6, 3.3, 0.6), strict=True))

# Table 4 (measured with spl-optim): sections entered per second, the deviation of that in per cent, and sections
# interrupted per second; section 6.4: what one byte
# takes at 115.2 kbit/s, the longest handler, and the buffer of the port.
OPTIMISTIC_ENTERED = dict(zip(LOADS, (31904, 25172, 33890, 45269), strict=True))
OPTIMISTIC_DEVIATION = dict(zip(LOADS, (69, 67, 33, 8), strict=True))
OPTIMISTIC_INTERRUPTED = dict(zip(LOADS, (15, 50, 300, 140), strict=True))

# Table 6: per cent of the time, as printed.
OVERHEAD = {
    "spl-pessim": dict(zip(LOADS, (9.0, 6.5, 8.6, 11.9), strict=True)),
    "spl-optim": dict(zip(LOADS, (0.2, 0.1, 0.3, 0.3), strict=True)),
    "cli-pessim": dict(zip(LOADS, (0.7, 0.5, 0.6, 0.9), strict=True)),
    "cli-optim": dict(zip(LOADS, (0.2, 0.1, 0.2, 0.2), strict=True)),
}


def printed_overhead(scheme, load):
    """A cell of Table 6 as it is printed; "-" where there is none."""
    return f"{OVERHEAD[scheme][load]:.1f}" if scheme in OVERHEAD else "-"


# Table 7, measured with spl-optim: bytes moved, seconds, interrupts, those a second, and how long handling one takes in
# microseconds: mean, deviation in per cent of it, least, median, greatest. Section 6.1: a floppy's interrupts by kind.
def _table7(*figures):
    return dict(zip(("bytes", "seconds", "interrupts", "per_second", "mean", "deviation", "min", "median", "max"),
                    figures, strict=True))


TABLE7 = {
    "ide": _table7(8 << 20, 3.2, 1027, 321, 1519, 7, 15, 1545, 2003),
    "scsi": _table7(8 << 20, 8.8, 553, 61, 65, 15, 16, 64, 86),
    "cdrom": _table7(8 << 20, 13.4, 3931, 293, 27, 7, 20, 26, 40),
    "floppy": _table7(1 << 20, 64.2, 506, 8, 169, 57, 4, 200, 271),
    "serial-300": _table7(8 << 10, 274, 8221, 30, 9, 5, 9, 9, 12),
    "serial-38400": _table7(64 << 10, 17.4, 8195, 471, 27, 2, 19, 27, 42),
    "serial-115200": _table7(64 << 10, 5.8, 8176, 1410, 27, 4, 11, 27, 54),
    "ether-small": _table7(1000 * 64, 2.4, 1003, 418, 78, 25, 44, 78, 370),
    "ether-large": _table7(1000 * 1024, 3.4, 1703, 501, 487, 8, 45, 491, 1194),
}
FLOPPY_US = {"seek": 4, "data": 250, "done": 25}


def overhead_percent(scheme, entered_per_s, interrupted_per_s, pair_us):
    """Table 2: per cent of one hart's time that `scheme` spends in its primitives.

    `pair_us` gives the microseconds that an off-chip, on-chip and flag pair costs. Over 100 means that no hart could
    do it.
    """
    busy_us = entered_per_s * pair_us[PRIMITIVE[scheme]]
    if scheme in FALL_BACK:
        busy_us += interrupted_per_s * pair_us[FALL_BACK[scheme]]
    return 100 * busy_us / 1e6
