"""The number that identifies a SoC: a hash of what was generated, so that a change that does not change the hardware
leaves its number, and all that is built from it, as they were."""

import hashlib
import re

UNSIGNED = 0x7573_696e_6765_6421  # what the CSR `identity_fingerprint` resets to until the SoC is signed
RESET = re.compile(rf"\b64'd{UNSIGNED}\b")


def signed(verilog: str, *others: bytes) -> tuple[str, int]:
    """The Verilog of a SoC with its fingerprint (64 bits) in place, and that: a hash of the Verilog, which holds the
    boot ROM too, and of the `others` that go with it. RuntimeError if the fingerprint has not one place there."""
    if len(RESET.findall(verilog)) != 1:
        raise RuntimeError(f"the fingerprint has {len(RESET.findall(verilog))} places in the Verilog, not one")
    total = hashlib.sha256()
    for content in (verilog.encode(), *others):
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    fingerprint = int.from_bytes(total.digest()[:8], "little")
    return RESET.sub(f"64'd{fingerprint}", verilog), fingerprint
