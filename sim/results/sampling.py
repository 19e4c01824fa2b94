"""The samples of a results directory: its records by layout and seed, and what is made of several.

A report module does not know of samples: it makes a summary of one, and the summaries are merged to one whose figures
are ensembles (statistics.py). A module with LAYOUTS_APART gets the records of all samples at once.
"""

from sim.results import statistics

AXES = ("layout", "seed")       # what distinguishes samples


def place(made):
    """A record's sample: (layout, seed); None for a missing one."""
    return tuple(made.get("parameters", {}).get(axis, made.get("options", {}).get(axis)) for axis in AXES)


def split(records):
    """Sample -> its records, whose identities are the same in all samples."""
    samples = {}
    for made in records:
        samples.setdefault(place(made), []).append(made | {"id": common_id(made)})
    return dict(sorted(samples.items(), key=str))


def common_id(made):
    """A run's identity without its layout and seed."""
    words = str(made.get("id"))
    for axis, value in zip(AXES, place(made), strict=True):
        words = words.replace(f"-{axis}{value}", "")
    return words


def choose(records):
    """The samples to report, and their description: {"layouts", "seeds", "samples", "left_out"}.

    A sample in which a run is missing or failed is left out if another is whole: figures of one row are then of the
    same runs. Samples whose runs ended in the same machine state are one.
    """
    samples = split(records)
    ended = {place: {made["id"] for made in found if made.get("failure") is None} for place, found in samples.items()}
    most = max(map(len, ended.values()), default=0)
    wanted = set().union(*ended.values())
    left_out = {}
    if most == len(wanted) and len(samples) > 1:
        left_out = {place: sorted(wanted - found)[0] for place, found in ended.items() if found != wanted}
    elif len(samples) > 1:
        best = next(place for place, found in ended.items() if len(found) == most)
        left_out = {place: sorted(wanted - ended[best])[0] for place in ended if place != best}
    seen, repeats = {}, 0
    chosen = {}
    for place, found in samples.items():
        if place in left_out:
            continue
        digests = tuple((made["id"], made["run"].get("digest")) for made in found)
        if all(digest for _, digest in digests) and digests in seen:
            repeats += 1
            continue
        seen[digests] = place
        chosen[place] = found
    said = {"samples": len(chosen), "repeats": repeats,
            "left_out": [f"{words(place)}: {run}" for place, run in left_out.items()]}
    for index, axis in enumerate(AXES):
        said[f"{axis}s"] = sorted({place[index] for place in chosen if place[index] is not None}, key=str)
    return chosen, said


def words(place):
    return ", ".join(f"{axis} {value}" for axis, value in zip(AXES, place, strict=True) if value is not None)


def summarise(module, experiment, records):
    """The module's summary of records; of several samples, one with ensembles for figures. Its entry `sampling` says of
    how many."""
    chosen, said = choose(records)
    if getattr(module, "LAYOUTS_APART", False):
        return module.summarise(experiment, list(records)) | {"sampling": said}
    if len(chosen) < 2:
        found = next(iter(chosen.values()), list(records))
        return module.summarise(experiment, found) | {"sampling": said}
    names = {}
    for made in records:
        for name, value in (made["parameters"] | {"harts": made["harts"]}).items():
            names.setdefault(name, set()).add(value)
    names = {name: values for name, values in names.items() if len(values) > 1 and name not in AXES}
    trees = [module.summarise(experiment, found) for found in chosen.values()]
    return statistics.merge(trees, names) | {"sampling": said}


def count(summary):
    """The number of samples of a summary."""
    return summary.get("sampling", {}).get("samples", 1)


def note(said):
    """One line: the number of layouts and seeds of the figures."""
    layouts, seeds, samples = len(said["layouts"]), len(said["seeds"]), said["samples"]
    if samples < 2:
        text = "Figures are of one layout and one seed: they have no interval."
    else:
        of = " and ".join(f"{count} {axis}s" for count, axis in ((layouts, "layout"), (seeds, "seed")) if count > 1)
        text = (f"Figures are medians over {of or f'{samples} samples'}; in brackets their 95 % interval, none where "
                "it is narrower than the last digit.")
    if said["repeats"]:
        text += f" {said['repeats']} more came out the same to the cycle, and count once."
    if said["left_out"]:
        text += f" Left out, as a run is missing: {'; '.join(said['left_out'])}."
    return text
