"""The number that identifies a SoC: a hash of what was generated, so that a change that does not change the hardware
leaves its number, and all that is built from it, as they were."""

import hashlib
import re

UNSIGNED = 0x7573_696e_6765_6421  # the reset value of the CSR `identity_fingerprint` until the SoC is signed
RESET = re.compile(rf"\b64'd{UNSIGNED}\b")


def signed(verilog: str, *others: bytes) -> tuple[str, int]:
    """The Verilog of a SoC with its fingerprint (64 bits) inserted, and the fingerprint: a hash of the Verilog, which
    holds the boot ROM too, and of the `others`. RuntimeError unless there is exactly one place for it."""
    if len(RESET.findall(verilog)) != 1:
        raise RuntimeError(f"the fingerprint has {len(RESET.findall(verilog))} places in the Verilog, not one")
    total = hashlib.sha256()
    for content in (verilog.encode(), *others):
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    fingerprint = int.from_bytes(total.digest()[:8], "little")
    return RESET.sub(f"64'd{fingerprint}", verilog), fingerprint
