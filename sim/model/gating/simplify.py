"""Statements made simpler, and alike for all harts, before they are put in another order; and joined again after it."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from sim.model.gating.harts import find_common, harts_of
from sim.model.gating.order import dependencies
from sim.model.gating.statements import SELF, Any, Body, If, Statement, Tokens, branch, read

ZERO = {"0", "0U", "0ULL"}
OPERATOR = re.compile(r"[-+*/%&|^<>=!~?:,]")
SELECTED = 8     # so many terms are so seldom selected that a test whether any is pays off


def simplified(body: Body, reset: str) -> list[Any]:
    """The statements of `body` while the input `reset` is 0."""
    statements = [s for one in body.statements for s in _after_reset(one, reset, body.local)]
    common = find_common(statements)
    apart = [s for one in statements for s in _taken_apart(one, body.local, common)]
    return [_selected(one, body.local) for one in _needed(apart, body.local)]


def _after_reset(one: Any, reset: str, local: Mapping[str, str]) -> list[Any]:
    """A statement as it is when the input `reset` is 0."""
    def zero(tokens: Tokens) -> tuple[str, ...]:
        out: list[str] = []
        for token in tokens:
            out.append(token)
            if out[-3:] == [SELF, ".", reset]:
                out[-3:] = ["0U"]
        return tuple(out)

    if isinstance(one, Statement):
        return [Statement(zero(one.tokens), one.names, one.whole, one.equals)]
    then = [s for inner in one.then for s in _after_reset(inner, reset, local)]
    other = [s for inner in one.other for s in _after_reset(inner, reset, local)]
    condition = zero(one.condition)
    return other if condition == ("0U",) else [branch(condition, then, other, local)]


def _taken_apart(one: Any, local: Mapping[str, str], common: Collection[str]) -> list[Any]:
    """A branch of one hart as one for each variable that it writes: Verilator joins them in ways that differ between
    harts. Contiguous ones are joined again by the compiler."""
    if isinstance(one, Statement) or len(harts_of(one, common)) != 1:
        return [one]
    sides = [(s, k) for k, side in enumerate((one.then, one.other)) for inner in side
             for s in _taken_apart(inner, local, common)]
    written = frozenset().union(*(s.names.writes for s, _ in sides))
    nodes, _ = dependencies([s for s, _ in sides])
    if written & one.names.reads or len(nodes) < 2:   # a written variable is read here, too: the order matters
        return [one]
    groups: dict[frozenset[str], list] = {node.names.writes: [] for node in nodes}
    for s, side in sides:
        next(group for writes, group in groups.items() if s.names.writes <= writes).append((s, side))
    apart: list[Statement | If] = []
    for group in groups.values():
        then, other = ([s for s, side in group if side == k] for k in (0, 1))
        apart.append(branch(one.condition, then, other, local) if then
                     else branch(("!", "(", *one.condition, ")"), other, (), local))
    return apart


def _needed(statements: Sequence[Any], local: Mapping[str, str]) -> list[Any]:
    """Without the zeros that local variables begin with where a value follows before any read."""
    unneeded: set[int] = set()
    zeros: dict[str, int] = {}
    for i, one in enumerate(statements):
        for name in one.names.reads:
            zeros.pop(name, None)
        for name in one.names.writes:
            before = zeros.pop(name, None)
            if before is not None and isinstance(one, Statement) and one.whole == name:
                unneeded.add(before)
        if isinstance(one, Statement) and one.whole in local and one.tokens[1] == "=" and set(one.tokens[2:]) <= ZERO:
            zeros[one.whole] = i
    return [one for i, one in enumerate(statements) if i not in unneeded]


def _selected(one: Any, local: Mapping[str, str]) -> Any:
    """A value combined from many terms, each with a bit that selects it, as a test whether any of these bits is set,
    and the terms only then. A core reads its CSRs so: nearly never, and one of them counts cycles."""
    if not isinstance(one, Statement) or one.tokens[one.equals] != "=":
        return one
    terms = _terms(one.tokens[one.equals + 1:], "|")
    bits = [_selecting(term, local) for term in terms]
    if sum(map(bool, bits)) < SELECTED:
        return one
    others = [term for term, bit in zip(terms, bits, strict=True) if not bit]
    if any("~" in term for term in others):   # signed in C++, so the first operand matters
        return one
    choice = ("VL_UNLIKELY", "(", *_put_together([bit for bit in bits if bit]), ")", "?", "(",
              *_put_together([term for term, bit in zip(terms, bits, strict=True) if bit]), ")", ":", "0U")
    tokens = (*one.tokens[:one.equals + 1], *_put_together([*others, choice]))
    return Statement(tokens, one.names, one.whole, one.equals)


def _put_together(terms: Sequence[Tokens]) -> tuple[str, ...]:
    """The terms with | between them."""
    return tuple(token for term in terms for token in ("|", "(", *term, ")"))[1:]


def _bare(tokens: Tokens) -> Tokens:
    """An expression without enclosing brackets."""
    while tokens[:1] == ("(",) and _level(tokens).index(0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _level(tokens: Tokens) -> list[int]:
    """The number of open brackets after each token."""
    depth, levels = 0, []
    for token in tokens:
        depth += (token in ("(", "[")) - (token in (")", "]"))
        levels.append(depth)
    return levels


def _terms(tokens: Tokens, operator: str) -> list[Tokens]:
    """The operands of `operator`, nested ones flattened; the whole, if it is another expression."""
    tokens = _bare(tuple(tokens))
    at = [i for i, (token, level) in enumerate(zip(tokens, _level(tokens), strict=True))
          if not level and OPERATOR.match(token)]
    if not at or any(tokens[i] != operator for i in at):
        return [tokens]
    sides = [tokens[begin + 1:end] for begin, end in zip([-1, *at], [*at, len(tokens)], strict=True)]
    return [term for side in sides for term in _terms(side, operator)]


def _selecting(term: Tokens, local: Mapping[str, str]) -> Tokens:
    """The variable that has to be other than 0 for a term to be, one of `- ( IData ) ( variable )`; nothing if none."""
    for factor in _terms(term, "&"):
        if tuple(factor[:4]) != ("-", "(", "IData", ")"):
            continue
        bit = _bare(tuple(factor[4:]))
        while tuple(bit[:3]) == ("(", "IData", ")"):
            bit = _bare(tuple(bit[3:]))
        if (len(bit) == 3 and bit[:2] == (SELF, ".")) or (len(bit) == 1 and bit[0] in local):
            return bit
    return ()


def joined(statements: Sequence[Any], local: Mapping[str, str]) -> list[Any]:
    """Merges adjacent branches with the same condition."""
    out: list[Any] = []
    for one in statements:
        last = out[-1] if out else None
        if (isinstance(one, If) and isinstance(last, If) and one.condition == last.condition
                and not last.names.writes & read(last.condition, local)):
            one = branch(one.condition, last.then + one.then, last.other + one.other, local)
            out.pop()
        out.append(one)
    return out


def without_copies(statements: Sequence[Any], local: Mapping[str, str],
                   types: Mapping[str, str]) -> tuple[list[Any], dict[str, str]]:
    """The statements without the copies that registers' next values begin with, and the register of each such value.

    Verilator writes `next = register;`, then the changes of `next`, then `register = next;`. A value that is kept from
    edge to edge is a copy already, if nothing else writes to either."""
    writes: dict[str, list[int]] = defaultdict(list)
    reads: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(statements):
        for name in one.names.writes:
            writes[name].append(i)
        for name in one.names.reads:
            reads[name].append(i)
    registers: dict[str, str] = {}
    unneeded = set()
    for name, kind in local.items():
        at = writes[name]
        if len(at) < 2 or not (first := _copied(statements[at[0]], name)) or types.get(first) != kind.partition("/")[0]:
            continue
        last = writes.get(first, [])
        if (len(last) == 1 and _copied(statements[last[0]], first) == name and at[-1] < last[0]
                and all(at[0] < i <= last[0] for i in reads[name])):
            registers[name] = first
            unneeded.add(at[0])
    return [one for i, one in enumerate(statements) if i not in unneeded], registers


def _copied(one: Any, to: str) -> str:
    """The variable that a statement copies to another one, whole and as it is; empty if it does something else."""
    if not isinstance(one, Statement) or one.whole != to or one.tokens[one.equals] != "=":
        return ""
    value = one.tokens[one.equals + 1:]
    if len(value) == 3 and value[0] == SELF:
        return "." + value[2]
    return value[0] if len(value) == 1 and value[0] in one.names.reads else ""


def written_once(statements: Sequence[Any]) -> set[str]:
    """The variables that are assigned at most once, as a whole, on any path."""
    def most(side: Sequence[Any]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for one in side:
            if isinstance(one, Statement):
                counts.update({name: 1 if name == one.whole and one.tokens[one.equals] == "=" else 2
                               for name in one.names.writes})
            else:
                counts += most(one.then) | most(one.other)
        return counts

    return {name for name, n in most(statements).items() if n == 1}


def written_in_branches(statements: Sequence[Any]) -> set[str]:
    """The variables that are assigned only in branches, as a whole, any number of times."""
    inside: set[str] = set()
    otherwise = {name for one in statements if isinstance(one, Statement) for name in one.names.writes}

    def look(side: Sequence[Any]):
        for one in side:
            if isinstance(one, Statement):
                whole = {one.whole} & one.names.writes if one.tokens[one.equals] == "=" else set()
                inside.update(whole)
                otherwise.update(one.names.writes - whole)
            else:
                look(one.then)
                look(one.other)

    for one in statements:
        if not isinstance(one, Statement):
            look([one])
    return inside - otherwise
