"""ULX3S whose interrupt controller is on a second board (soc/boards/picchip.py), at pins 0 to 3 of its first header."""

from soc.boards import ulx3s
from soc.boards.pic_wires import request_wires
from soc.pins import PinnedPIC


class Target(PinnedPIC, ulx3s.Target):
    def pic_pads(self, config):
        return request_wires(self.platform, "ulx3s")
