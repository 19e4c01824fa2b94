"""The protocols between nodes (kernel/ipc, kernel/xmm) as models that are searched for all states, and a check of real
frames.

    python -m tests.kernel.remote_model [--sends N]

`Rights` is how rights to one port are counted over nodes, which may give each other up (port.c). `Epochs` is how two
nodes agree on what is over when one has given the other up, over a wire that loses, repeats and reorders (transport.c).
`Share` is how a page that several nodes write is kept coherent (xmm/share.h). Each has its invariants in `wrong`; a
`flaw` plants an error in it, and the search finds a path to a wrong state. `check_frames` reads the frames that nodes
have sent in a run, and reports those that no model allows.
"""

import argparse
import struct
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace


class Wrong(Exception):
    """A forbidden state, and the path to it."""


def search(model, most: int = 5_000_000) -> int:
    """Visits all reachable states, breadth first; their number. Wrong, with the shortest path, if one is wrong."""
    first = model.first()
    before: dict[Hashable, tuple | None] = {first: None}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        said = model.wrong(state)
        for action, then in [] if said else model.next(state):
            if isinstance(then, str):
                raise Wrong(f"{then}: {', '.join([*way(before, state), action])}")
            if then not in before:
                before[then] = (state, action)
                waiting.append(then)
        if said:
            raise Wrong(f"{said}: {', '.join(way(before, state))}")
        if len(before) > most:
            raise Wrong(f"more than {most} states: make it smaller")
    return len(before)


def way(before: dict, state) -> list[str]:
    actions = []
    while before[state]:
        state, action = before[state]
        actions.append(action)
    return actions[::-1]


# ---- Rights to one port, whose home is node 0.

HOME = 0


@dataclass(frozen=True)
class Held:
    """What a node knows of the port: send rights, from which node and how many, and how many it gave to which."""

    rights: int = 0
    parent: int = 0
    had: int = 0
    given: tuple = ()
    dead: int = 0           # rights that are no longer valid
    heard_of: bool = False  # of the home: there were senders since the last "no senders"


@dataclass(frozen=True)
class World:
    nodes: tuple
    wires: tuple            # of each pair, in order: "right", a number of returned rights, or "void"
    sends: int = 0
    parted: int = 0


class Rights:
    """`sends`: rights sent in all; `parts`: pairs that give each other up."""

    def __init__(self, nodes=3, sends=4, parts=0, flaw=""):
        self.count, self.sends, self.parts, self.flaw = nodes, sends, parts, flaw

    def first(self):
        empty = Held(given=(0,) * self.count)
        return World((empty,) * self.count, ((),) * self.count ** 2)

    def wire(self, a, b):
        return a * self.count + b

    def put(self, world, a, b, what):
        wires = list(world.wires)
        wires[self.wire(a, b)] += (what,)
        return replace(world, wires=tuple(wires))

    def with_node(self, world, n, **changes):
        nodes = list(world.nodes)
        nodes[n] = replace(nodes[n], **changes)
        return replace(world, nodes=tuple(nodes))

    def next(self, world) -> Iterator[tuple[str, World | str]]:
        for a in range(self.count):
            node = world.nodes[a]
            for b in range(self.count):
                if a != b and world.sends < self.sends and (node.rights or a == HOME):
                    yield f"{a} sends a right to {b}", self.send(world, a, b)
                if world.wires[self.wire(a, b)]:
                    yield f"{b} gets {world.wires[self.wire(a, b)][0]} of {a}", self.get(world, a, b)
                if a < b and world.parted < self.parts:
                    yield f"{a} and {b} give each other up", self.part(world, a, b)
            if node.rights:
                yield f"{a} drops one", self.settle(self.with_node(world, a, rights=node.rights - 1), a)
            if node.dead:
                yield f"{a} drops a dead one", self.with_node(world, a, dead=node.dead - 1)

    def gives(self, world, a, b, by):
        given = list(world.nodes[a].given)
        given[b] += by
        return self.with_node(world, a, given=tuple(given))

    def send(self, world, a, b):
        world = self.put(self.gives(replace(world, sends=world.sends + 1), a, b, 1), a, b, "right")
        return self.with_node(world, a, heard_of=True) if a == HOME else world

    def get(self, world, a, b):
        wires = list(world.wires)
        what, *rest = wires[self.wire(a, b)]
        wires[self.wire(a, b)] = tuple(rest)
        world = replace(world, wires=tuple(wires))
        node = world.nodes[b]
        if what == "void":
            return self.lose(world, b, a) if node.had and node.parent == a else world
        if what != "right":
            return self.returned(world, b, a, what)
        world = self.with_node(world, b, rights=node.rights + 1, heard_of=node.heard_of or b == HOME)
        if b != HOME and (not node.had or node.parent == a or self.flaw == "any node is the parent"):
            return self.with_node(world, b, parent=a, had=node.had + 1)
        return self.put(world, b, a, 1)

    def returned(self, world, n, node, count):
        least = min(count, world.nodes[n].given[node])
        if least < count and (not world.parted or self.count == 2):
            return "more comes back than was given"
        return self.settle(self.gives(world, n, node, -least), n)

    def settle(self, world, n):
        """The node has no right any more, and no node has one from it: its home, or its giver, is told."""
        node = world.nodes[n]
        if node.rights or (any(node.given) and self.flaw != "what is abroad does not count"):
            return world
        if n == HOME:
            if not node.heard_of:
                return world
            in_flight = any("right" in wire for wire in world.wires)
            if (not world.parted or self.count == 2) and (in_flight or any(other.rights for other in world.nodes)):
                return "no senders, but there is one"
            return self.with_node(world, n, heard_of=False)
        if not node.had:
            return world
        return self.put(self.with_node(world, n, had=0, parent=0), n, node.parent, node.had)

    def part(self, world, a, b):
        wires = list(world.wires)
        wires[self.wire(a, b)] = wires[self.wire(b, a)] = ()
        world = replace(world, wires=tuple(wires), parted=world.parted + 1)
        for one, other in ((a, b), (b, a)):
            world = self.gives(world, one, other, -world.nodes[one].given[other])
            node = world.nodes[one]
            if one != HOME and node.had and other in (HOME, node.parent) and self.flaw != "rights of a dead node stay":
                world = self.lose(world, one, other)
            world = self.settle(world, one)
            if isinstance(world, str):
                return world
        return world

    def lose(self, world, n, other):
        """The node's rights are dead, as it has given up `other`, or that says so; nodes that it gave any are told."""
        node = world.nodes[n]
        if node.parent != other and self.flaw != "the parent is not told":
            world = self.put(world, n, node.parent, node.had)
        for child, count in enumerate(node.given):
            if count and child != other and self.flaw != "a node that got it from here is not told":
                world = self.put(world, n, child, "void")
        return self.with_node(world, n, dead=node.dead + node.rights, rights=0, had=0, parent=0,
                              given=(0,) * self.count)

    def wrong(self, world):
        """Nothing is left when nothing is under way and no node has a right."""
        if any(world.wires) or any(node.rights or node.dead for node in world.nodes):
            return None
        if any(any(node.given) or node.had for node in world.nodes):
            return "rights are counted that no node has"
        return "the home was not told that there are no senders" if world.nodes[HOME].heard_of else None


# ---- Two nodes that give each other up.


@dataclass(frozen=True)
class Peer:
    """A node's state of the other, as in transport.c: epochs, what is sent and not acknowledged, what is expected."""

    epoch: int = 1
    theirs: int = 0
    seen: int = 0
    first: int = 0          # the first message that is not acknowledged: its number of this epoch
    next: int = 0
    expected: int = 0
    taken: frozenset = frozenset()  # (epoch, number) of received messages: only for `get`
    left: int = 2           # messages still to send
    ends: int = 1           # how often it may still give the other up by itself


@dataclass(frozen=True)
class Frame:
    to: int
    kind: str
    epoch: int
    to_epoch: int
    number: int


@dataclass(frozen=True)
class Two:
    peers: tuple = (Peer(), Peer())
    wire: frozenset = frozenset()   # frames, each of which may come any number of times


class Epochs:
    def __init__(self, messages=1, ends=1, flaw=""):
        self.start, self.flaw = Peer(left=messages, ends=ends), flaw

    def first(self):
        return Two((self.start, self.start))

    def next(self, two) -> Iterator[tuple[str, Two | str]]:
        for n, peer in enumerate(two.peers):
            if peer.left:
                then = self.with_peer(two, n, next=peer.next + 1, left=peer.left - 1)
                yield f"{n} sends {peer.next}", self.put(then, n, "data", peer.next)
            for number in range(peer.first, peer.next):
                yield f"{n} sends {number} again", self.put(two, n, "data", number)
            if peer.ends:
                yield f"{n} gives up", self.end(self.with_peer(two, n, ends=peer.ends - 1), n)
        for frame in two.wire:
            yield f"{frame.to} gets {frame.kind} {frame.number} of epoch {frame.epoch} for {frame.to_epoch}", self.get(
                two, frame)

    def with_peer(self, two, n, **changes):
        peers = list(two.peers)
        peers[n] = replace(peers[n], **changes)
        return replace(two, peers=tuple(peers))

    def put(self, two, n, kind, number, to_epoch=None):
        peer = two.peers[n]
        frame = Frame(1 - n, kind, peer.epoch, peer.theirs if to_epoch is None else to_epoch, number)
        return replace(two, wire=two.wire | {frame})

    def end(self, two, n):
        peer = two.peers[n]
        return self.with_peer(two, n, epoch=peer.epoch + 1, theirs=0, seen=peer.theirs or peer.seen, first=0, next=0,
                              expected=0)

    def get(self, two, frame):
        n = frame.to
        peer = two.peers[n]
        if peer.theirs and frame.epoch > peer.theirs:
            two = self.end(two, n)
            peer = two.peers[n]
        old = frame.epoch != peer.theirs if peer.theirs else peer.seen and frame.epoch <= peer.seen
        if old and not (self.flaw == "what was seen is forgotten" and not peer.theirs):
            if frame.to_epoch and peer.epoch > frame.to_epoch:
                two = self.put(two, n, "epoch", 0, frame.to_epoch)
            return two
        two = self.with_peer(two, n, theirs=frame.epoch)
        peer = two.peers[n]
        if frame.kind == "epoch" or (frame.to_epoch and frame.to_epoch != peer.epoch):
            return two
        if frame.kind == "ack":
            if frame.number > peer.next:
                return "what was never sent is acknowledged"
            return self.with_peer(two, n, first=max(peer.first, frame.number))
        if frame.number == peer.expected:
            other = two.peers[1 - n]
            if frame.epoch == other.epoch and frame.number >= other.next:
                return "a message is taken that was not sent"
            if (frame.epoch, frame.number) in peer.taken:
                return "a message is taken twice"
            two = self.with_peer(two, n, expected=peer.expected + 1, taken=peer.taken | {(frame.epoch, frame.number)})
        return self.put(two, n, "ack", two.peers[n].expected)

    def wrong(self, two):
        """A node's messages from the other are those that the other has sent since both agreed."""
        for n, peer in enumerate(two.peers):
            other = two.peers[1 - n]
            if peer.theirs == other.epoch and other.theirs == peer.epoch and (
                    peer.expected > other.next or other.first > peer.expected):
                return f"{n} has {peer.expected} messages of {other.next}, {other.first} acknowledged"
            if peer.theirs > other.epoch:
                return f"{n} knows an epoch that has not begun"
        return None


# ---- A page that several nodes write, and that node 0 manages.


@dataclass(frozen=True)
class User:
    """A proxy: its page ("", "r" readable, "w" writable) and its value; what a thread there waits for."""

    page: str = ""
    value: int = 0
    waits: str = ""         # "r", "w": the page is absent; "u": an upgrade to write
    held: str = ""          # the manager's view of it: "", "r", "w"
    asked: bool = False     # to give it up


@dataclass(frozen=True)
class Shared:
    users: tuple
    up: tuple               # messages of each user, in order: (what, ...)
    down: tuple
    queue: tuple = ()       # (user, wanted)
    home: str = ""          # what a thread of node 0 waits for
    turn: bool = False      # it comes before the queue
    value: int = 0          # of node 0's page
    newest: int = 0         # the last written value
    asks: int = 0
    evictions: int = 0


class Share:
    """`asks`: accesses that need a message; `writes`: how many writes; `evictions`: pages that are evicted."""

    def __init__(self, users=2, asks=4, writes=2, evictions=1, flaw=""):
        self.users, self.asks, self.writes, self.evictions, self.flaw = range(users), asks, writes, evictions, flaw

    def first(self):
        return Shared(tuple(User() for _ in self.users), tuple(() for _ in self.users), tuple(() for _ in self.users))

    def next(self, s) -> Iterator[tuple[str, Shared | str]]:
        for k in self.users:
            user = s.users[k]
            if user.page == "w" and s.newest < self.writes:
                yield f"{k} writes", self.user(replace(s, newest=s.newest + 1), k, value=s.newest + 1)
            if s.asks < self.asks and not user.waits:
                more = replace(s, asks=s.asks + 1)
                for wanted in () if user.page else ("r", "w"):
                    yield f"{k} asks for {wanted}", self.send(self.user(more, k, waits=wanted), k, wanted)
                if user.page == "r":
                    yield f"{k} asks to write", self.send(self.user(more, k, waits="u"), k, "u")
            stays = user.waits and self.flaw != "a page leaves that waits"
            if s.evictions < self.evictions and user.page and not stays:
                gone = self.user(replace(s, evictions=s.evictions + 1), k, page="")
                yield f"{k}'s page leaves", self.send(gone, k, "back", user.value) if user.page == "w" else gone
            if s.up[k]:
                yield f"0 gets {s.up[k][0]} of {k}", self.manage(replace(s, up=self.rest(s.up, k)), k, *s.up[k][0])
            if s.down[k]:
                yield f"{k} gets {s.down[k][0]}", self.use(replace(s, down=self.rest(s.down, k)), k, *s.down[k][0])
        if self.here(s) == "w" and s.newest < self.writes:
            yield "0 writes", replace(s, newest=s.newest + 1, value=s.newest + 1)
        if s.asks < self.asks and not s.home:
            for wanted in ("r", "w"):
                if self.here(s) < wanted:
                    yield f"0 asks for {wanted}", self.serve(replace(s, home=wanted, asks=s.asks + 1))

    @staticmethod
    def rest(channels, k):
        return (*channels[:k], channels[k][1:], *channels[k + 1:])

    def user(self, s, k, **changes):
        return replace(s, users=(*s.users[:k], replace(s.users[k], **changes), *s.users[k + 1:]))

    def send(self, s, k, *what):
        return replace(s, up=(*s.up[:k], (*s.up[k], what), *s.up[k + 1:]))

    def tell(self, s, k, *what):
        return replace(s, down=(*s.down[:k], (*s.down[k], what), *s.down[k + 1:]))

    def here(self, s):
        """What node 0 may do: "" nothing, "r" read, "w" write."""
        held = {user.held for user in s.users}
        return "" if "w" in held else "r" if "r" in held else "w"

    # Of the manager (share.c).

    def manage(self, s, k, what, value=0):
        user = s.users[k]
        if what in ("r", "w", "u"):
            return self.serve(replace(s, queue=(*s.queue, (k, what))))
        data = what in ("back", "gone with data", "kept with data")
        if not user.held or (what not in ("back", "not there") and not user.asked):
            return s
        if user.held == "w" and data:
            s = replace(s, value=value)
        if what in ("back", "not there"):
            s = self.user(s, k, held="r" if user.asked else "")
        else:
            s = self.user(s, k, held="r" if what.startswith("kept") else "", asked=False)
        return self.serve(s)

    def serve(self, s):
        while not any(user.asked for user in s.users):
            if s.home and (s.turn or not s.queue):
                then = self.step(s, None, s.home)
            elif s.queue:
                then = self.step(s, *s.queue[0])
            else:
                break
            s, waits = then
            if waits:
                break
        return s

    def step(self, s, k, wanted):
        own = s.users[k] if k is not None else None
        rest = replace(s, queue=s.queue[1:], turn=True) if own else replace(s, home="", turn=False)
        if own and own.held == "w" and self.flaw != "what was asked before counts":
            return rest, False
        writes = wanted != "r"
        for other in self.users:
            held = s.users[other].held
            if other != k and held and (held == "w" or (writes and self.flaw != "readers keep it")):
                s = self.tell(self.user(s, other, asked=True), other, "give up" if writes else "keep")
        if any(user.asked for user in s.users):
            return s, True
        if not own:
            return rest, False
        has = wanted == "u" and (own.held or self.flaw == "a grant to a node without the page")
        rest = self.user(rest, k, held="w" if writes else "r")
        return self.tell(rest, k, "grant") if has else self.tell(rest, k, "supply", writes, rest.value), False

    # Of a proxy (proxy.c).

    def use(self, s, k, what, writes=False, value=0):
        user = s.users[k]
        if what == "supply":
            if user.waits in ("r", "w"):
                return self.user(s, k, page="w" if writes else "r", value=value, waits="")
            if user.page and writes and self.flaw != "what is there is not granted":
                return self.user(s, k, page="w", waits="")
            return self.send(s, k, "back", value) if writes and self.flaw != "an unwanted page stays" else s
        if what == "grant":
            return self.user(s, k, page="w", waits="") if user.page else self.send(s, k, "not there")
        answer = ("kept" if what == "keep" else "gone") + (" with data" if user.page == "w" else "")
        s = self.send(s, k, answer, user.value) if user.page == "w" else self.send(s, k, answer)
        if what == "keep" and user.page:
            return self.user(s, k, page="r")
        return self.user(s, k, page="", waits="" if user.waits == "u" else user.waits)

    def wrong(self, s):
        pages = [user.page for user in s.users if user.page]
        if "w" in pages and (len(pages) > 1 or self.here(s)):
            return "a page is written that others have"
        for k, user in enumerate(s.users):
            if user.page and user.value != s.newest:
                return f"{k} sees what is not the newest"
        if self.here(s) and s.value != s.newest:
            return "0 sees what is not the newest"
        if not any(s.up) and not any(s.down) and (s.home or any(user.waits for user in s.users)):
            return "a node waits for ever"
        return None


# ---- Frames of a run.

ETHERTYPE = 0x88b5
DATA, ACK, EPOCH = 1, 2, 3
WINDOW = 32
HEADER = struct.Struct("<HHIIIII")
HEAD = struct.Struct("<IIIHHIHH")
RELEASE = 2


@dataclass
class Way:
    """One node's frames to another in one epoch: message frames by number, and how far they are acknowledged."""

    sent: dict = field(default_factory=dict)
    acknowledged: int = 0


def check_frames(frames: Iterable[tuple[float, bytes]], transport: str) -> dict:
    """Raises Wrong if frames (time, bytes) of all nodes, by time, break a rule; else counts them by kind.

    A number stands for one content; nothing is acknowledged that has not been sent; no more is under way than the
    transport allows; a node's epochs do not decrease; rights return to a node no more often than it has sent them.
    """
    ways: dict[tuple, Way] = {}
    epochs: dict[tuple, int] = {}
    rights: dict[tuple, int] = {}
    counts = {DATA: 0, ACK: 0, EPOCH: 0, "again": 0, "rights": 0, "back": 0}
    for time, frame in frames:
        if struct.unpack(">H", frame[12:14])[0] != ETHERTYPE:
            continue
        kind, source, number, index, size, to_epoch, epoch = HEADER.unpack_from(frame, 14)
        to, where = frame[5] - 2, f"at {time:.0f} us, node {source}"
        if kind not in counts:
            raise Wrong(f"{where}: a frame of kind {kind}")
        counts[kind] += 1
        if epochs.setdefault((source, to), epoch) > epoch:
            raise Wrong(f"{where}: back from epoch {epochs[source, to]} to {epoch}")
        epochs[source, to] = epoch
        if kind == DATA:
            way = ways.setdefault((source, to, epoch), Way())
            content = frame[14 + HEADER.size:]
            key = (number, index) if transport == "norma" else number
            if key in way.sent:
                counts["again"] += 1
                if way.sent[key] != (index, content):
                    raise Wrong(f"{where}: frame {number} is another one when it is sent again")
                continue
            under_way = number - way.acknowledged
            if under_way >= (1 if transport == "norma" else WINDOW):
                raise Wrong(f"{where}: frame {number} is sent, {way.acknowledged} are acknowledged")
            way.sent[key] = (index, content)
            if index == 0:
                _count_rights(content, source, to, rights, counts, where)
        elif kind == ACK:
            way = ways.get((to, source, to_epoch))
            if way is None:
                raise Wrong(f"{where}: acknowledges epoch {to_epoch} of node {to}, which has sent nothing in it")
            numbers = {key[0] if transport == "norma" else key for key in way.sent}
            if transport == "norma":
                if number not in numbers:
                    raise Wrong(f"{where}: packet {number} is acknowledged, and was not sent")
                way.acknowledged = max(way.acknowledged, number + 1)
            else:
                if any(before not in numbers for before in range(way.acknowledged, number)):
                    raise Wrong(f"{where}: frames before {number} are acknowledged, and were not all sent")
                if any(index >> i & 1 and number + i not in numbers for i in range(WINDOW)):
                    raise Wrong(f"{where}: frame of {number} + {index:x} is acknowledged, and was not sent")
                way.acknowledged = max(way.acknowledged, number)
    return counts


def _count_rights(content, source, to, rights, counts, where):
    """Rights that a message's header sends, and those that it returns. A vector, which has rights in its pages,
    is opaque here: its ports are left out."""
    uid, number, released, size, many, *reply = HEAD.unpack_from(content)
    body = content[HEAD.size + 8 * many:]
    for right_uid, home, kind in (tuple(reply), *(struct.unpack_from("<IHH", content, HEAD.size + 8 * n)
                                                  for n in range(many))):
        if kind:
            key = source, to, home, right_uid
            rights[key] = rights.get(key, 0) + 1
            counts["rights"] += 1
    back = [(released & 0x7fffffff, to, uid)]
    if number == RELEASE and uid == 1:
        right_uid, home, count = struct.unpack_from("<III", body)
        back.append((count, home, right_uid))
    for count, home, right_uid in back:
        key = to, source, home, right_uid
        counts["back"] += count
        if count and key in rights:
            rights[key] -= count
            if rights[key] < 0:
                raise Wrong(f"{where}: {count} rights of port {right_uid} of node {home} go back, more than were sent")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sends", type=int, default=5, help="rights that are sent in all")
    parser.add_argument("--asks", type=int, default=5, help="accesses to a shared page that need something")
    given = parser.parse_args()
    for name, model in (("rights", Rights(sends=given.sends)), ("rights, nodes part", Rights(sends=4, parts=1)),
                        ("epochs", Epochs()), ("a shared page", Share(asks=given.asks))):
        print(f"{name}: {search(model)} states, none is wrong", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
