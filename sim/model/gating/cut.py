"""What stands behind gates and what does not: the cheapest division of the statements, a minimum cut."""

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

COMPARISON = 30   # what it costs to see whether a variable has changed, in tokens of statements
ALWAYS, NEVER = 0, 1


def behind_gates(costs: Mapping[int, int], busy: Collection[int], written: Mapping[int, Collection[str]],
                 looked: Mapping[int, Collection[str]], compared: Collection[str]) -> set[int]:
    """The nodes of `costs` that had better stand behind gates that are shut. The others are carried out in every cycle,
    and those of their variables have to be compared that one behind a gate looks at.

    `costs` are of carrying out each node, in tokens; those that are `busy` cannot stand behind a gate; what each node
    writes, and looks at; what is `compared` anyway."""
    readers: dict[str, set[int]] = defaultdict(set)
    for node in costs:
        for name in looked[node]:
            readers[name].add(node)
    vertex = {node: i for i, node in enumerate(costs, NEVER + 1)}
    endless = 1 + sum(costs.values())
    edges: dict[tuple[int, int], int] = {}
    vertices = len(vertex) + 2
    for node, cost in costs.items():
        edges[vertex[node], NEVER] = cost
        if node in busy:
            edges[ALWAYS, vertex[node]] = endless
        for name in sorted(written[node]):
            if name not in compared and (others := readers[name] - {node}):
                edges[vertex[node], vertices] = COMPARISON
                edges |= {(vertices, vertex[other]): endless for other in others}
                vertices += 1
    if not busy:
        return set(costs)
    reached = _reached(edges, vertices)
    return {node for node in costs if vertex[node] not in reached}


def _reached(edges: Mapping[tuple[int, int], int], vertices: int) -> set[int]:
    """The vertices on the side of ALWAYS of a minimum cut: those that the maximum flow leaves a way to."""
    begins, ends = zip(*edges, strict=True)
    graph = csr_array((np.array(list(edges.values()), dtype=np.int32), (begins, ends)), shape=(vertices, vertices))
    left = (graph - maximum_flow(graph, ALWAYS, NEVER).flow).tocsr()
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    return set(breadth_first_order(left, ALWAYS, return_predecessors=False).tolist())
