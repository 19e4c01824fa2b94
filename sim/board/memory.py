"""A board's memory over its link: reads, compares, and writes where it differs."""

import zlib
from dataclasses import dataclass

from sim.board.link import MOST_TRIES, LinkError, Lost
from sim.board.pack import packed
from sim.board.protocol import DATA, Request, numbers, words

BATCH = 64                  # chunks of DATA bytes between checks of the line's quality
GROUP = 4                   # chunks that are compared at a time
LEAST_FRAME = 64            # bytes in a frame on the worst line
FEW_TRIES = 8               # for a frame that could be shorter
ROUNDS = 5                  # of writing missing content


@dataclass(frozen=True)
class Upload:
    """The result of an upload, in bytes."""

    total: int
    there: int      # already in the board's memory


class Memory:
    """The memory of the board at the other end of `link`, whose receiver buffers `room` characters while it works."""

    def __init__(self, link, room):
        self.link = link
        self.room = room
        self.frame = DATA       # bytes per frame

    def upload(self, pieces, progress=lambda done, total: None):
        """Writes pairs of address and bytes to main RAM, except those already there; an Upload.

        `progress(done, total)` gets bytes. LinkError if the memory does not keep its content.
        """
        chunks = [(address + at, content[at:at + DATA]) for address, content in pieces
                  for at in range(0, len(content), DATA)]
        total = size(chunks)
        left = self._different(chunks)
        there = total - size(left)
        for _ in range(ROUNDS):
            if not left:
                progress(total, total)
                return Upload(total, there)
            done = total - size(left)
            for first in range(0, len(left), BATCH):
                batch = left[first:first + BATCH]
                progress(done, total)
                self._carry(lambda batch=batch: [(Request.PACKED, words(address) + block)
                                                 for at, content in joined(batch)
                                                 for address, block in packed(at, content, self.frame)])
                done += size(batch)
            left = self._different(left)
        raise LinkError(f"main RAM of the board does not keep what is written to {left[0][0]:#x}: run its self-test: "
                        f"./interlock board self-test --port {self.link.port.device}")

    def read(self, address, count):
        """`count` bytes of main RAM, or whole words of I/O."""
        content = b""
        while len(content) < count:
            batch = min(count - len(content), BATCH * DATA)
            start = address + len(content)
            content += b"".join(self._carry(lambda start=start, batch=batch: [
                (Request.READ, words(start + at, min(self.frame, batch - at)))
                for at in range(0, batch, self.frame)]))
        return content

    def _different(self, chunks):
        """Those of the `chunks` that main RAM does not hold. Contiguous ones are first checked together."""
        # Uploads go upwards, and the self-test uses the first words: a few chunks show whether anything is there. Those
        # of zeroes do not: memory may begin as such.
        probes = [chunks[2 ** n - 1] for n in range(len(chunks).bit_length())]
        if all(self._wrong([chunk for chunk in probes if any(chunk[1])])):
            return chunks
        groups = [group for first in range(0, len(chunks), GROUP) for group in runs(chunks[first:first + GROUP])]
        wrong = self._wrong([joined(group)[0] for group in groups])
        suspects = [chunk for group, bad in zip(groups, wrong, strict=True) if bad for chunk in group]
        return [chunk for chunk, bad in zip(suspects, self._wrong(suspects), strict=True) if bad]

    def _wrong(self, pieces):
        """For each of the `pieces`, whether main RAM holds something else."""
        answers = self.link.exchange([(Request.CRC, words(address, len(content))) for address, content in pieces],
                                     self.room)
        return [numbers(answer, 1)[0] != zlib.crc32(content)
                for answer, (_, content) in zip(answers, pieces, strict=True)]

    def _carry(self, requests):
        """The answers to the requests that `requests` makes for the current frame length.

        A line that loses long frames gets short ones.
        """
        while True:
            made = requests()
            repeated = self.link.repeated
            try:
                answers = self.link.exchange(made, self.room,
                                             most_tries=MOST_TRIES if self.frame == LEAST_FRAME else FEW_TRIES)
            except Lost:
                if self.frame == LEAST_FRAME:
                    raise
                self.link.ask(Request.HELLO)        # Lost if even that fails
                self.frame //= 4
                continue
            if self.link.repeated - repeated > len(made) and self.frame > LEAST_FRAME:
                self.frame //= 4
            return answers


def size(chunks):
    """Bytes of pairs of address and bytes."""
    return sum(len(content) for _, content in chunks)


def runs(chunks):
    """The `chunks`, in lists of contiguous ones."""
    found = []
    for chunk in chunks:
        if found and found[-1][-1][0] + len(found[-1][-1][1]) == chunk[0]:
            found[-1].append(chunk)
        else:
            found.append([chunk])
    return found


def joined(chunks):
    """The `chunks`, with contiguous ones merged."""
    return [(run[0][0], b"".join(content for _, content in run)) for run in runs(chunks)]
