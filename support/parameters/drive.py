"""Drives in the simulator, `--disk IMAGE[,NAME=VALUE...]`: how slow they are, and their other options."""

from dataclasses import dataclass
from pathlib import Path

from support.parameters.declared import Parameter, ParameterError, close_match, fields_of, number

MOST = 1_000_000_000


def _of(least: int, unit: str, help: str, most: int = MOST):
    return number(None, least, most, unit, help, ways=("disk",))


@dataclass(frozen=True)
class Drive:
    """How a drive takes its time. The head is over one place at a time, which follows from the rotation alone;
    from one cylinder to another `d` away it goes in seek_near_us + (seek_far_us - seek_near_us) * sqrt(d / cylinders).
    """

    rpm: int = _of(0, "turns/min", "0: no mechanism, nothing to wait for but the overhead and the bus")
    sectors_per_track: int = _of(1, "sectors", "of a track")
    heads: int = _of(1, "tracks", "of a cylinder")
    cylinders: int = _of(1, "cylinders", "which a seek's length is a part of; the image may have more or less")
    seek_near_us: int = _of(0, "us", "to the next cylinder")
    seek_far_us: int = _of(0, "us", "over all cylinders")
    overhead_us: int = _of(0, "us", "of each command")
    result_us: int = _of(0, "us", "from the last data to the answer")
    bus_kb_s: int = _of(1, "1000 bytes/s", "between the drive's buffer and the controller")
    burst: int = _of(1, "sectors", "that the drive moves at once, by DMA", 1023)
    cache_kb: int = _of(0, "KiB", "data of writes that end before they are on the medium; 0: none does")
    read_ahead: int = _of(0, "", "1: goes on reading behind a request, into its buffer", 1)
    queue: int = _of(1, "requests", "among which it takes the one that is reached first")

    def __post_init__(self):
        for name, parameter in FIELDS.items():
            parameter.checked(getattr(self, name))


FIELDS = fields_of(Drive)

# The papers give the duration of their tests (`sync`, Table 7) and an average access (`mach`) of their drives; the rest
# is typical of drives of those years, chosen to give these figures (hw/disk/README.md, "Profiles").
PROFILES = {
    "ide": Drive(rpm=4500, sectors_per_track=68, heads=16, cylinders=1000, seek_near_us=3000, seek_far_us=20_000,
                 overhead_us=300, result_us=0, bus_kb_s=16_600, burst=16, cache_kb=32, read_ahead=1, queue=1),
    "scsi": Drive(rpm=5400, sectors_per_track=74, heads=8, cylinders=2000, seek_near_us=1500, seek_far_us=18_000,
                  overhead_us=700, result_us=0, bus_kb_s=10_000, burst=16, cache_kb=0, read_ahead=0, queue=8),
    "cdrom": Drive(rpm=2000, sectors_per_track=36, heads=1, cylinders=9000, seek_near_us=20_000, seek_far_us=350_000,
                   overhead_us=500, result_us=0, bus_kb_s=5000, burst=4, cache_kb=0, read_ahead=1, queue=1),
    "floppy": Drive(rpm=300, sectors_per_track=18, heads=2, cylinders=80, seek_near_us=18_000, seek_far_us=240_000,
                    overhead_us=1000, result_us=200, bus_kb_s=250, burst=4, cache_kb=0, read_ahead=0, queue=1),
    "sabre": Drive(rpm=6000, sectors_per_track=64, heads=15, cylinders=1900, seek_near_us=600, seek_far_us=5600,
                   overhead_us=100, result_us=0, bus_kb_s=3000, burst=16, cache_kb=0, read_ahead=0, queue=8),
    "fast": Drive(rpm=0, sectors_per_track=64, heads=1, cylinders=1, seek_near_us=0, seek_far_us=0, overhead_us=5,
                  result_us=0, bus_kb_s=480_000, burst=128, cache_kb=0, read_ahead=0, queue=16),
}
DEFAULT_PROFILE = "fast"
# The other options: names; and values, and what they do.
WORDS = {one.name: one for one in (
    Parameter("profile", "how the drive takes its time; any number of a profile can be given itself", DEFAULT_PROFILE,
              choices=tuple(PROFILES), ways=("disk",)),
    Parameter("write", "where what was written goes when the run ends: nowhere, to DIR/diskN.img, back", "no",
              choices=("no", "copy", "inplace"), ways=("disk",)))}
OTHER = {**{name: (", ".join(one.choices), one.help) for name, one in WORDS.items()},
         "bad": ("SECTOR[:TIMES]", "cannot be read: so often, or until it is written; may be repeated"),
         "silent": ("N", "the command of this number, from 0, is never answered; may be repeated"),
         "cut": ("CYCLE", "the power goes in this cycle"),
         "left": ("CYCLE", "what a cut there would leave goes to DIR/diskN-CYCLE.img; may be repeated")}
NAMES = (*OTHER, *FIELDS)


def parted(text: str) -> tuple[str, list[str]]:
    """IMAGE of "IMAGE[,NAME=VALUE...]", and the rest in parts. A path may hold commas: the longest that is a file is
    the image, as in sim/harness/devices/disk_options.cpp; if none is, all before the first option of a drive."""
    parts = text.split(",")
    for count in range(len(parts), 1, -1):
        if Path(",".join(parts[:count])).is_file():
            return ",".join(parts[:count]), parts[count:]
    if Path(parts[0]).is_file():
        return parts[0], parts[1:]
    first = next((n for n, part in enumerate(parts) if n and part.partition("=")[0] in NAMES), len(parts))
    return ",".join(parts[:first]), parts[first:]


def checked(text: str) -> str:
    """IMAGE of "IMAGE[,NAME=VALUE...]"; ParameterError for an invalid option of a drive."""
    image, parts = parted(text)
    if not image:
        raise ParameterError(f"'{text}' begins with no image: give IMAGE[,NAME=VALUE...]")
    for part in parts:
        name, _, value = part.partition("=")
        if name in FIELDS:
            FIELDS[name].parse(value)
        elif name not in OTHER:
            raise ParameterError(f"there is no '{part}'{close_match(name, NAMES)}")
        elif name == "profile" and value not in PROFILES:
            raise ParameterError(f"there is no profile '{value}'{close_match(value, PROFILES)}")
        elif name in WORDS:
            WORDS[name].parse(value)
        elif name in ("bad", "silent", "cut", "left"):
            _checked_numbers(part, name, value)
    return image


def _checked_numbers(part: str, name: str, value: str):
    numbers = value.split(":") if name == "bad" else [value]
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise ParameterError(f"'{part}': give {name}={OTHER[name][0]}")
    if numbers[1:] == ["0"]:
        raise ParameterError(f"{part}: a sector that is bad 0 times is none")


def table() -> str:
    """The profiles as Markdown, for hw/disk/README.md."""
    rows = [["profile", *(f"`{name}`" for name in FIELDS)], ["---"] * (1 + len(FIELDS)),
            *([f"`{name}`", *(str(getattr(drive, field)) for field in FIELDS)] for name, drive in PROFILES.items())]
    return "".join("| " + " | ".join(row) + " |\n" if row[0] != "---" else "|" + "|".join(row) + "|\n" for row in rows)
