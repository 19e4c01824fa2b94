"""Which statements have to stay together, and which come before which."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sim.model.gating.statements import Any, Names

T = TypeVar("T", int, str)


@dataclass(frozen=True)
class Node:
    """Statements that stay together because they write the same variables, in their order."""

    statements: tuple[Any, ...]
    names: Names


def dependencies(statements: Sequence[Any]) -> tuple[list[Node], list[set[int]]]:
    """The nodes, in the order of their first statements, and for each the nodes that have to follow it."""
    after: list[set[int]] = [set() for _ in statements]
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = defaultdict(list)
    for i, statement in enumerate(statements):
        for name in statement.names.reads | statement.names.writes:
            if name in writer:
                after[writer[name]].add(i)
        for name in statement.names.writes:
            if name in writer:
                after[i].add(writer[name])   # both ways, so they become one node
            for reader in readers.pop(name, ()):
                after[reader].add(i)
            writer[name] = i
        for name in statement.names.reads:
            readers[name].append(i)
    together = components({i: after[i] for i in range(len(statements))})
    together = sorted(sorted(part) for part in together)
    node_of = {i: k for k, part in enumerate(together) for i in part}
    nodes = []
    for part in together:
        names = Names()
        for i in part:
            names |= statements[i].names
        nodes.append(Node(tuple(statements[i] for i in part), names))
    return nodes, [{node_of[k] for i in part for k in after[i]} - {node_of[part[0]]} for part in together]


def components(after: Mapping[T, set[T]]) -> list[list[T]]:
    """The strongly connected components (Tarjan's algorithm), those that are reached before those that reach
    them."""
    number: dict[T, int] = {}
    low: dict[T, int] = {}
    stack: list[T] = []
    placed: set[T] = set()
    groups: list[list[T]] = []
    for root in after:
        if root in number:
            continue
        path = [(root, iter(sorted(after[root])))]
        number[root] = low[root] = len(number)
        stack.append(root)
        while path:
            here, following = path[-1]
            for there in following:
                if there not in number:
                    number[there] = low[there] = len(number)
                    stack.append(there)
                    path.append((there, iter(sorted(after[there]))))
                    break
                if there not in placed:
                    low[here] = min(low[here], number[there])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[here])
                if low[here] == number[here]:
                    begin = stack.index(here)
                    groups.append(stack[begin:])
                    placed.update(stack[begin:])
                    del stack[begin:]
    return groups
