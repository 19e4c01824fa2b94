"""Finds which runs of two sets belong together: those with the same parameters, whatever their layout and seed."""

from dataclasses import dataclass

from sim.results.compare.figures import figures
from sim.results.record import RecordError
from sim.results.sampling import AXES, place
from sim.results.sampling import words as of_sample


@dataclass
class Matching:
    """`differ`: (name, its value in A, in B) of settings that are constant in all runs of a kind in A and in B, but
    differ: these are compared; `pairs`: parameters -> ({(layout, seed): figures} of A, of B); `alone`: (set,
    parameters) of runs without a partner."""

    differ: list
    pairs: dict
    alone: list


def parameters(made):
    """All that identifies the run, except layout and seed."""
    fixed = {"experiment": made["experiment"], "kind": made["kind"], "harts": made["harts"], "scheme": made["sync"]}
    named = {name: value for name, value in (made["parameters"] | made["options"]).items()
             if name not in (*AXES, "harts", "sync")}
    return fixed | named


def match(a, b, ignored=()):
    """The `Matching` of two `Set`s; RecordError if no run of one matches a run of the other."""
    differ = apart(a, b)
    for name in ignored:
        if not any(name in parameters(made) for made in (*a.records, *b.records)):
            known = dict.fromkeys(name for made in (*a.records, *b.records) for name in parameters(made))
            raise RecordError(f"--ignore {name}: the runs have no such parameter (they have {', '.join(known)})")
    of_a, of_b = (grouped(chosen, differ, ignored) for chosen in (a, b))
    pairs = {key: (of_a[key], of_b[key]) for key in of_a if key in of_b}
    if not pairs:
        raise RecordError(f"no run of A has the parameters of a run of B: A has {words(next(iter(of_a)))}; "
                          f"B has {words(next(iter(of_b)))}; --ignore NAME leaves one out")
    alone = [("A", key) for key in of_a if key not in of_b] + [("B", key) for key in of_b if key not in of_a]
    kinds = {kind(dict(key)) for key in pairs}
    compared = [(name, *values) for of_kind, found in differ.items() if of_kind in kinds
                for name, values in found.items()]
    return Matching(list(dict.fromkeys(compared)), pairs, alone)


def kind(named):
    """Which runs have the same parameters at all: an experiment's kind of runs."""
    return named["experiment"], named["kind"]


def apart(a, b):
    """Kind of runs -> {name: (value in A, in B)} of settings that are constant in A and constant in B, but differ;
    never the kind itself."""
    found = ({}, {})
    for chosen, kinds in zip((a, b), found, strict=True):
        for made in chosen.records:
            named = parameters(made)
            for name, value in named.items():
                kinds.setdefault(kind(named), {}).setdefault(name, set()).add(value)
    differ = {}
    for of_kind in found[0].keys() & found[1].keys():
        ours, theirs = found[0][of_kind], found[1][of_kind]
        differ[of_kind] = {name: (*ours[name], *theirs[name]) for name in ours
                           if len(ours[name]) == len(theirs.get(name, ())) == 1 and ours[name] != theirs[name]}
    return differ


def grouped(chosen, differ, ignored):
    """Parameters -> {(layout, seed): figures}; a duplicate run counts once, and must be identical."""
    groups, first = {}, {}
    for made in chosen.records:
        left_out = {*differ.get(kind(parameters(made)), ()), *ignored}
        key = tuple((name, value) for name, value in parameters(made).items() if name not in left_out)
        sample = place(made)
        before = first.setdefault((key, sample), made)
        if (parameters(before), before["run"].get("digest")) != (parameters(made), made["run"].get("digest")):
            raise RecordError(f"{chosen.name} has {words(key)} with {of_sample(sample)} twice, and not the same: in "
                              f"{chosen.sources[id(before)]} and {chosen.sources[id(made)]}; choose one of them")
        hidden = {value for name, value in parameters(made).items() if name in left_out}
        groups.setdefault(key, {})[sample] = figures(before, hidden)
    return groups


def words(key):
    """Parameters in words."""
    return " ".join(f"{name}={value}" for name, value in key)
