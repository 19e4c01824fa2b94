"""Writes the register tables into the cores' READMEs, from the declarations: `python -m hw.docs`.

A table is between `<!-- NAME: python -m hw.docs -->` and `<!-- end of NAME -->`."""

import re
from collections.abc import Callable
from pathlib import Path

from litex.gen import LiteXModule
from migen import Signal

from hw.arrivals.core import ArrivalPlayer
from hw.common.csr import csr_table
from hw.disk.medium import Medium
from hw.disk.registers import REGISTERS as DISK
from hw.disk.sdcard import SDCardDrive
from hw.dma.core import CopyEngine
from hw.ether.core import Ether
from hw.ether.phy import WirePHY
from hw.host.core import HostPort, Identity
from hw.pic.counters import Accounting
from hw.pic.link import Link
from hw.pic.pins.near import PinLink, RemotePIC
from hw.pic.pins.wires import Pads
from hw.pic.registers import COUNTERS
from hw.pic.registers import REGISTERS as PIC
from hw.player.core import LinePlayer
from hw.ram.core import MainRAM
from hw.serial.registers import REGISTERS as SERIAL
from hw.trace.core import TracePort
from hw.trace.registers import PORT, buffer_map

CLOCK_HZ = 60_000_000
RAM_BYTES = 1 << 25
HW = Path(__file__).parent


def ether() -> Ether:
    ports = MainRAM(RAM_BYTES).ports
    for port in ports:
        port.busy = Signal()
    return Ether(WirePHY(CLOCK_HZ), ports, RAM_BYTES, Signal(32))


def sd_card() -> SDCardDrive:
    return SDCardDrive(Medium(), None, CLOCK_HZ, lambda *_: LiteXModule())


def csrs(make: Callable[[], LiteXModule], prefix: str) -> Callable[[], str]:
    return lambda: csr_table(make(), prefix + "_")


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "arrivals": {"csrs": csrs(ArrivalPlayer, "arrivals")},
    "disk": {"registers": DISK.markdown, "csrs of an SD card": csrs(sd_card, "sdcard")},
    "dma": {"csrs": csrs(CopyEngine, "dma")},
    "ether": {"csrs": csrs(ether, "ether")},
    "host": {"csrs": csrs(HostPort, "host"),
             "csrs of the identity": csrs(lambda: Identity(0, 1, CLOCK_HZ), "identity")},
    "pic": {"registers": PIC.markdown, "counters": COUNTERS.markdown, "csrs": csrs(lambda: Link(1), "link"),
            "csrs of the controller": csrs(Accounting, "pic_accounting")},
    "pic/pins": {"csrs": csrs(lambda: RemotePIC(PinLink(1), Pads(3)), "pic")},
    "player": {"csrs": csrs(lambda: LinePlayer(CLOCK_HZ), "player")},
    "ram": {"csrs": csrs(lambda: MainRAM(RAM_BYTES), "ram")},
    "serial": {"registers": SERIAL.markdown},
    "trace": {"registers": PORT.markdown, "buffer": lambda: buffer_map(1024).markdown(),
              "csrs": csrs(lambda: TracePort(1, 1024), "trace")},
}


def readme(core: str) -> Path:
    return HW / core / "README.md"


def with_tables(core: str, text: str) -> str:
    """The README's text with the tables from the declarations; ValueError if one does not have exactly one place."""
    for name, table in TABLES[core].items():
        parts = re.split(rf"(?s)(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", text)
        if len(parts) != 4:
            raise ValueError(f"{core}/README.md has {len(parts) // 3} places for the table of {name}, not one")
        before, begin, end, after = parts
        text = before + begin + table() + end + after
    return text


if __name__ == "__main__":
    for core in TABLES:
        readme(core).write_text(with_tables(core, readme(core).read_text()))
