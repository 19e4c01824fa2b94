"""Flame graphs of the cycles that a simulator counted by call stack (`--flame`, sim/harness/observers/flame.h): as a
plot, and as a file for https://www.speedscope.app."""

import json
from dataclasses import dataclass, field

from sim.results.plot.drawing import Drawing, colour
from sim.results.record import RecordError

LEAST_SHARE = 1 / 2000      # of all cycles: narrower ones are not drawn
ROW_INCHES = 0.17
WIDTH_INCHES = 14
LETTERS = 150               # that fit across the whole width


@dataclass
class Node:
    """A function at one call stack. Cycles: `own` in itself, `all` with its callees."""

    name: str
    own: int = 0
    all: int = 0
    below: dict = field(default_factory=dict)      # name -> Node

    @property
    def depth(self):
        """The number of rows of it and all below it."""
        return 1 + max((node.depth for node in self.below.values()), default=0)


def read(path):
    """The tree of a folded file: lines of names separated by ;, outermost first, and cycles; RecordError."""
    root = Node("all harts")
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    for number, line in enumerate(lines, 1):
        stack, _, cycles = line.rpartition(" ")
        if not stack or not cycles.isdigit():
            raise RecordError(f"{path}, line {number}: not a call stack and its cycles; give a file that "
                              "'./interlock sim --flame' wrote")
        node = root
        node.all += int(cycles)
        for name in stack.split(";"):
            node = node.below.setdefault(name, Node(name))
            node.all += int(cycles)
        node.own += int(cycles)
    if not root.all:
        raise RecordError(f"{path}: no cycles in it")
    return root


def stacks(node, above=()):
    """Every stack below `node` that has cycles of its own: (names, cycles)."""
    for name in sorted(node.below):
        one = node.below[name]
        names = (*above, name)
        if one.own:
            yield names, one.own
        yield from stacks(one, names)


def speedscope(root, title):
    """The text of a speedscope file: a profile a hart, weighted in cycles."""
    frames, profiles = {}, []
    for hart in sorted(root.below.values(), key=lambda node: node.name):
        found = list(stacks(hart))
        samples = [[frames.setdefault(name, len(frames)) for name in names] for names, _ in found]
        profiles.append({"type": "sampled", "name": hart.name, "unit": "none", "startValue": 0, "endValue": hart.all,
                         "samples": samples + [[]] * bool(hart.own),
                         "weights": [cycles for _, cycles in found] + [hart.own] * bool(hart.own)})
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "name": title,
                       "exporter": "interlock", "activeProfileIndex": 0,
                       "shared": {"frames": [{"name": name} for name in frames]}, "profiles": profiles}) + "\n"


@dataclass
class FlameGraph(Drawing):
    """Cycles by call stack, callers above; a box is as wide as its cycles."""

    root: Node

    def rows(self):
        return [["stack", "cycles"], *([";".join(names), cycles] for names, cycles in stacks(self.root))]

    def _boxes(self, node, left=0, row=0):
        """The boxes wide enough to be visible: node, first cycle, row."""
        if node.all < LEAST_SHARE * self.root.all:
            return
        yield node, left, row
        for below in sorted(node.below.values(), key=lambda one: one.name):
            yield from self._boxes(below, left, row + 1)
            left += below.all

    def size(self):
        return WIDTH_INCHES, 1 + ROW_INCHES * self.root.depth

    def draw(self, figure):
        axes = figure.add_subplot()
        for node, left, row in self._boxes(self.root):
            axes.barh(row, node.all, left=left, height=0.95, align="edge", linewidth=0,
                      color=_tint(node.name))
            room = int(LETTERS * node.all / self.root.all)
            if room >= 3:
                text = node.name if len(node.name) <= room else node.name[:room - 1] + "…"
                axes.text(left + node.all / 2, row + 0.5, text, ha="center", va="center", fontsize=6)
        axes.set(title=self.title, xlabel="cycles", yticks=[], xlim=(0, self.root.all), ylim=(self.root.depth, 0))

    def figure(self):
        boxes = {"ids": [], "labels": [], "parents": [], "values": [], "colors": []}

        def add(node, path):
            own = f"{path};{node.name}" if path else node.name
            for key, value in (("ids", own), ("labels", node.name), ("parents", path), ("values", node.all),
                               ("colors", _tint(node.name))):
                boxes[key].append(value)
            for below in sorted(node.below.values(), key=lambda one: one.name):
                if below.all >= LEAST_SHARE * self.root.all:
                    add(below, own)
        add(self.root, "")
        data = {"type": "icicle", "branchvalues": "total", "tiling": {"orientation": "v"}, "sort": False,
                "hovertemplate": "%{label}<br>%{value:,} cycles, %{percentRoot:.2%} of all<extra></extra>",
                "marker": {"colors": boxes.pop("colors")}, **boxes}
        hidden = {"title": {"text": ""}, "visible": False, "type": "category"}
        return {"data": [data], "layout": {"xaxis": hidden, "yaxis": dict(hidden), "height": 80 + 24 * self.root.depth}}


def _tint(name):
    """A fixed colour for a name; names in brackets are no functions."""
    if name.startswith("["):
        return "#d0d0d0"
    return colour(sum(name.encode()) % 10) + "b0"
