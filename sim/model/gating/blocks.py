"""Combinational processes of state machines, one for each set of inputs instead of one for all that a machine drives.

Verilator orders whole processes. Migen writes all outputs of a state machine into one: where one output depends on
logic behind another one, such as `valid` and, in the same state, the action once `ready` answers, Verilator takes that
for a loop and evaluates both repeatedly until they are stable. Separate processes have no loop."""

import re
from collections import defaultdict
from dataclasses import dataclass

# In Migen's format: a process from its first line to the `end` at the margin, a statement per line.
PROCESS = re.compile(r"^always @\(\*\) begin\n(?P<body>.*?)^end\n", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r" *(\w+)(\[[^]]*\])? <= (.*);")
BRANCH = re.compile(r" *(?:if \(.*\) begin|case \(.*\)|end else begin|.*: begin)")
NAME = re.compile(r"(?<![\w'])[A-Za-z_]\w*")


@dataclass
class Branching:
    """An `if` or a `case`: the lines that open its branches, what is in each, and the line that ends it. A case's own
    first line opens a branch with nothing in it."""

    branches: list[tuple[str, "list[Branching | str]"]]
    end: str


def split_processes(verilog: str) -> str:
    """Verilog in Migen's format, with state machines in a process for each set of signals that determine a signal.

    Text in another format is not changed."""
    def split(found: re.Match) -> str:
        lines = found["body"].splitlines()
        if not any(line.lstrip().startswith("case (") for line in lines):
            return found.group()
        try:
            statements, rest = _parse(lines)
        except ValueError:
            return found.group()
        targets = dict.fromkeys(line[1] for line in map(ASSIGNMENT.fullmatch, lines) if line)
        processes = defaultdict(set)
        for target in targets:
            text = "\n".join(_only(statements, {target}))
            processes[frozenset(NAME.findall(text)) - {target, "begin", "end", "else", "if", "case", "endcase",
                                                       "default"}].add(target)
        if rest or len(processes) == 1:
            return found.group()
        return "".join("\n".join(["always @(*) begin", *_only(statements, together), "end\n"])
                       for together in processes.values())

    return PROCESS.sub(split, verilog)


def _parse(lines: list[str]) -> "tuple[list[Branching | str], list[str]]":
    """The statements at the beginning of `lines`, and the lines after them. ValueError for a line of another form."""
    statements: list[Branching | str] = []
    while lines:
        line = lines[0]
        word = line.strip()
        if word in ("end", "endcase", "end else begin"):
            break
        lines = lines[1:]
        if ASSIGNMENT.fullmatch(line):
            statements.append(line)
        elif word.startswith("case ("):
            branches: list[tuple[str, list[Branching | str]]] = [(line, [])]
            while lines and lines[0].strip() != "endcase":
                inside, rest = _branch(lines)
                branches.append(inside)
                if rest[0].strip() != "end":
                    raise ValueError(rest[0])
                branches.append((rest[0], []))
                lines = rest[1:]
            if not lines:
                raise ValueError(line)
            statements.append(Branching(branches, lines[0]))
            lines = lines[1:]
        elif word.startswith("if ("):
            inside, lines = _branch([line, *lines])
            branches = [inside]
            while lines[0].strip() == "end else begin":
                inside, lines = _branch(lines)
                branches.append(inside)
            if lines[0].strip() != "end":
                raise ValueError(lines[0])
            statements.append(Branching(branches, lines[0]))
            lines = lines[1:]
        else:
            raise ValueError(line)
    return statements, lines


def _branch(lines: list[str]) -> "tuple[tuple[str, list[Branching | str]], list[str]]":
    if not BRANCH.fullmatch(lines[0]):
        raise ValueError(lines[0])
    inside, rest = _parse(lines[1:])
    if not rest:
        raise ValueError(lines[0])
    return (lines[0], inside), rest


def _only(statements: "list[Branching | str]", targets: set[str]) -> list[str]:
    """The lines of the statements that assign to `targets`, in the branches they are in."""
    lines = []
    for statement in statements:
        if isinstance(statement, str):
            found = ASSIGNMENT.fullmatch(statement)
            lines += [statement] if found and found[1] in targets else []
        else:
            branches = [(opening, _only(inside, targets)) for opening, inside in statement.branches]
            if any(inside for _, inside in branches):
                # An empty branch stays: it keeps the others from being taken.
                lines += [line for opening, inside in branches for line in (opening, *inside)] + [statement.end]
    return lines
