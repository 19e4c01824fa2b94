"""LiteX's CSRs of a core as data, for tables and tests, and access to them from a bus: whole words only."""

from collections.abc import Iterable
from typing import Any

from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStatus
from migen import Mux

from hw.common.regmap import WIDTH, Field, Register


def access_of(csr: Any) -> str:
    """"ro" or "rw"."""
    return "ro" if isinstance(csr, CSRStatus) else "rw"


def reset_of(csr: Any) -> int | None:
    """The reset value; None for a bare CSR, which has no state of its own: a write is a command, a read gives a value
    of the core."""
    state = getattr(csr, "storage", getattr(csr, "status", None))
    return None if state is None else state.reset.value


def fields_of(csr: Any) -> list[Any]:
    """The CSRFields, lowest first."""
    return list(getattr(getattr(csr, "fields", None), "fields", []))


def words_of(csr: Any) -> int:
    """Words of the bus: of several, the most significant comes first."""
    return -(-csr.size // WIDTH)


def csr_rows(csrs: Iterable[Any], prefix: str = "", first: int | None = None, resets: dict[str, int] | None = None
             ) -> list[str]:
    """A Markdown table: a row for each CSR, called `prefix` and its name, and one for each field. With `first`, the
    address of the first CSR, each row has an address. `resets` are values that the declarations lack."""
    place, gap, dot = ("| address ", "| ", "") if first is not None else ("", "", ".")
    lines = [f"{place}| CSR | bits | access | reset | description |", "|---" * (6 if place else 5) + "|"]
    address = first or 0
    for csr in csrs:
        value = (resets or {}).get(csr.name, reset_of(csr))
        reset = f"`0x{value:x}`" if value is not None else ""
        bits = f"{csr.size - 1}:0" if csr.size > 1 else "0"
        description = " ".join((getattr(csr, "description", "") or "").split())
        where = f"| `0x{address:08x}` " if place else ""
        lines += [f"{where}| **`{prefix}{csr.name}`** | {bits} | {access_of(csr)} | {reset} | {description} |"]
        for part in fields_of(csr):
            bits = f"{part.offset + part.size - 1}:{part.offset}" if part.size > 1 else f"{part.offset}"
            values = "".join(f" {value[0]}: {value[-1]}." for value in part.values or [])
            lines += [f"{gap}| `{dot}{part.name}` | {bits} | | `0x{part.reset.value:x}` | {part.description}{values} |"]
        address += 4 * words_of(csr)
    return lines


def csr_table(module: Any, prefix: str = "") -> str:
    """The CSRs of a module as such a table, in the order of their declaration."""
    return "\n".join(csr_rows(module.get_csrs(), prefix)) + "\n"


def csr_registers(csrs: Iterable[Any]) -> tuple[Register, ...]:
    """The CSRs as registers, one after the other from offset 0. One of several words is as many registers: `name[1]`
    is the high word of two."""
    registers: list[Register] = []
    for csr in csrs:
        words, reset = words_of(csr), reset_of(csr) or 0
        for word in reversed(range(words)):
            bits = min(WIDTH, csr.size - WIDTH * word)
            fields = tuple(Field(part.name, part.offset, part.size, part.description, part.reset.value)
                           for part in fields_of(csr)) if words == 1 else ()
            value = reset >> WIDTH * word & (1 << bits) - 1
            registers.append(Register(
                f"{csr.name}[{word}]" if words > 1 else csr.name, 4 * len(registers), access_of(csr), "",
                fields or (Field("value", 0, bits, "", value),)))
    return tuple(registers)


def whole_words(bridge: wishbone.Interface) -> tuple[wishbone.Interface, list[Any]]:
    """A bus before `bridge`, LiteX's from Wishbone to CSRs, and the statements that connect them: a store of less than
    a word does nothing, where LiteX would take the bus's other bytes for the rest of the register."""
    whole = wishbone.Interface(data_width=bridge.data_width, address_width=bridge.address_width,
                               addressing=bridge.addressing)
    all_bytes = (1 << len(whole.sel)) - 1
    return whole, [
        whole.connect(bridge, omit={"sel"}),
        bridge.sel.eq(Mux(~whole.we | (whole.sel == all_bytes), all_bytes, 0)),
    ]
