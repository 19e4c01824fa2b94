"""The serial port to a board: opened, read, reopened after its cable was out; errors are a PortError of one line."""

import contextlib
import errno
import os
import time

import serial

LOOK_S = 0.2    # between checks whether a vanished port is back


class PortError(Exception):
    """The port cannot be used; the text is one line that names it and the remedy."""


def _reason(error):
    number = getattr(error, "errno", None)
    if number in (errno.EAGAIN, errno.EBUSY):
        return "another program has it open"
    return os.strerror(number) if number else str(error) or type(error).__name__


class Port:
    """A serial device at 8N1 without flow control."""

    def __init__(self, device, baud):
        self.device = device
        self.baud = baud
        self._serial = None
        self._open()

    def _open(self):
        try:
            self._serial = serial.Serial(self.device, self.baud, timeout=0, write_timeout=5, exclusive=True)
        except (OSError, ValueError) as error:
            raise PortError(f"{self.device} cannot be opened: {_reason(error)}; see which ports there are with: "
                            "python -m serial.tools.list_ports") from error
        # FTDI's adaptors delay an answer by 16 ms otherwise. Not every driver supports it.
        with contextlib.suppress(ValueError):
            self._serial.set_low_latency_mode(True)

    def set_baud(self, baud):
        """Sets the bit rate. PortError if the adaptor does not support it."""
        self.baud = baud
        try:
            self._serial.baudrate = baud
        except (OSError, ValueError) as error:
            raise PortError(f"{self.device} cannot have {baud} bit/s: {_reason(error)}") from error

    def read(self, timeout):
        """Received bytes, waiting up to `timeout` seconds for some; PortError if the port is gone."""
        try:
            self._serial.timeout = max(0.0, timeout)
            first = self._serial.read(1)
            return first + self._serial.read(self._serial.in_waiting) if first else b""
        except (OSError, TypeError) as error:       # pyserial: TypeError if it is closed during a read
            raise PortError(f"{self.device} is gone: {_reason(error)}") from error

    def write(self, content):
        """Passes bytes to the adaptor; PortError if it does not accept them."""
        try:
            self._serial.write(content)
        except OSError as error:
            raise PortError(f"{self.device} takes nothing: {_reason(error)}") from error

    def send_break(self, seconds):
        """Holds the line low. False if the port cannot do that: a pseudo-terminal has no line."""
        try:
            self._serial.break_condition = True
            time.sleep(seconds)
            self._serial.break_condition = False
        except OSError:
            return False
        return True

    def discard(self):
        """Drops received bytes and those still to be sent."""
        try:
            self._serial.reset_input_buffer()
            self._serial.reset_output_buffer()
        except OSError as error:
            raise PortError(f"{self.device} is gone: {_reason(error)}") from error

    def open_again(self, seconds):
        """Reopens the port once it is back, as after its cable was out. PortError after `seconds`."""
        self.close()
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._open()
                return
            except PortError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_S)

    def close(self):
        """Closes the port."""
        if self._serial:
            try:
                self._serial.close()
            except OSError:     # its cable is out
                pass
