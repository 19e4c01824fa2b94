"""Lists the boards: `python -m soc.boards`."""

from soc.boards.catalog import BOARDS


def listing() -> str:
    """A line for each FPGA of each board, as text."""
    rows = [("board", "FPGA", "harts", "MHz", "RAM, MiB", "caches", "SD", "Ethernet", "LEDs", "console")]
    for board in BOARDS.values():
        for size, device in board.devices.items():
            harts = str(device.harts) if device.fits else "too small"
            rows.append((board.name, size, harts, f"{device.clock_hz / 1e6:g}", str(board.ram_mib), device.caches,
                         "yes" if board.serves_sd(size) else "-",
                         board.ethernet if board.serves_ethernet(size) else "-", str(board.leds), board.serial))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
                     for row in rows)


if __name__ == "__main__":
    print(listing())
