"""Where the wires between a SoC and the controller's chip are on the boards: eight pins of a connector, and ground.

A cable leads each pin to the same pin of the other board: one board's outputs are the other's inputs.
"""

from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal

# Strobe and data of each direction, as LiteX's platforms call the pins.
FROM_SOC = {"ulx3s": "B11 A10 A9 B9", "colorlight_i5": "pmodf:0 pmodf:1 pmodf:2 pmodf:3",
            "ecpix5": "pmod0:0 pmod0:1 pmod0:2 pmod0:3"}
TO_SOC = {"ulx3s": "C11 A11 B10 C10", "colorlight_i5": "pmodf:4 pmodf:5 pmodf:6 pmodf:7",
          "ecpix5": "pmod0:4 pmod0:5 pmod0:6 pmod0:7"}


def request_wires(platform, board, controller=False):
    """The pins of `board`, a record of hw.pic.pins.wires.pads_layout; with `controller` those of the controller's side.

    Inputs are pulled down: without a cable they are quiet."""
    sent, received = (FROM_SOC, TO_SOC)[::-1 if controller else 1]

    def direction(name, pins, *settings):
        strobe, _, data = pins[board].partition(" ")
        return (Subsignal(f"{name}_strobe", Pins(strobe), *settings), Subsignal(f"{name}_data", Pins(data), *settings))

    platform.add_extension([("pic_wires", 0, *direction("tx", sent),
                             *direction("rx", received, Misc("PULLMODE=DOWN")), IOStandard("LVCMOS33"))])
    return platform.request("pic_wires")
