"""Finds which runs of two sets belong together: those with the same parameters, whatever their seed."""

from dataclasses import dataclass

from sim.compare.figures import figures
from sim.record import RecordError


@dataclass
class Matching:
    """`differ`: name -> (its value in A, in B) of what is one thing in all of A and another in all of B, which is what
    is compared; `pairs`: parameters -> ({seed: figures} of A, of B); `alone`: (set, parameters) without a partner."""

    differ: dict
    pairs: dict
    alone: list


def parameters(made):
    """All that says which run it is, but the seed."""
    fixed = {"experiment": made["experiment"], "kind": made["kind"], "harts": made["harts"], "scheme": made["sync"]}
    named = {name: value for name, value in made["parameters"].items() if name not in ("seed", "harts", "sync")}
    return fixed | named | made["options"]


def match(a, b, ignored=()):
    """The `Matching` of two `Set`s; RecordError if no run of one belongs to a run of the other."""
    differ = apart(a, b)
    for name in ignored:
        if not any(name in parameters(made) for made in (*a.records, *b.records)):
            known = dict.fromkeys(name for made in (*a.records, *b.records) for name in parameters(made))
            raise RecordError(f"--ignore {name}: the runs have no such parameter (they have {', '.join(known)})")
    left_out = {*differ, *ignored}
    of_a, of_b = (grouped(chosen, left_out) for chosen in (a, b))
    pairs = {key: (of_a[key], of_b[key]) for key in of_a if key in of_b}
    if not pairs:
        raise RecordError(f"no run of A has the parameters of a run of B: A has {words(next(iter(of_a)))}; "
                          f"B has {words(next(iter(of_b)))}; --ignore NAME leaves one out")
    alone = [("A", key) for key in of_a if key not in of_b] + [("B", key) for key in of_b if key not in of_a]
    return Matching(differ, pairs, alone)


def apart(a, b):
    """What is the same in all of A, the same in all of B, and not the same in both; never the kind of runs itself."""
    values = []
    for chosen in (a, b):
        found = {}
        for made in chosen.records:
            for name, value in parameters(made).items():
                found.setdefault(name, set()).add(value)
        values.append({name: next(iter(one)) for name, one in found.items() if len(one) == 1})
    return {name: (value, values[1][name]) for name, value in values[0].items()
            if name not in ("experiment", "kind") and values[1].get(name, value) != value}


def grouped(chosen, left_out):
    """Parameters -> {seed: figures}; a run that is there twice counts once, and must have had the same outcome."""
    groups, first = {}, {}
    for made in chosen.records:
        key = tuple((name, value) for name, value in parameters(made).items() if name not in left_out)
        seed = made["parameters"].get("seed")
        before = first.setdefault((key, seed), made)
        if (parameters(before), before["run"].get("digest")) != (parameters(made), made["run"].get("digest")):
            raise RecordError(f"{chosen.name} has {words(key)} with seed {seed} twice, and not the same: in "
                              f"{chosen.sources[id(before)]} and {chosen.sources[id(made)]}; choose one of them")
        hidden = {value for name, value in parameters(made).items() if name in left_out}
        groups.setdefault(key, {})[seed] = figures(before, hidden)
    return groups


def words(key):
    """Parameters in words."""
    return " ".join(f"{name}={value}" for name, value in key)
