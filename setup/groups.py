"""What a group of verbs needs to be installed, of the lists in this folder.

    groups.py names                 the groups, in order
    groups.py debian GROUP...       Debian packages, a line each (apt.txt)
    groups.py python GROUP...       the part of requirements.lock that these groups need, with all that that needs
    groups.py damaged GROUP...      a file of those packages that is not as it was installed here, if there is one

A list is in sections, which a line `# [GROUP]` begins. `all` stands for every group.
"""

import csv
import re
import sys
import sysconfig
from pathlib import Path

FOLDER = Path(__file__).parent
SECTION = re.compile(r"# \[(\w+)\]")


def sections(name):
    """Group -> its lines, without comments."""
    found, lines = {}, None
    for line in (FOLDER / name).read_text().splitlines():
        if begun := SECTION.match(line):
            lines = found.setdefault(begun[1], [])
        elif line and not line.startswith("#"):
            if lines is None:
                raise SystemExit(f"setup/{name}: '{line}' is in no section")
            lines.append(line)
    return found


def names():
    return list(dict.fromkeys([*sections("requirements.in"), *sections("apt.txt")]))


def chosen(groups):
    """The groups that words name; SystemExit in one line for one that there is not."""
    for group in groups:
        if group != "all" and group not in names():
            raise SystemExit(f"setup: there is no group '{group}' (groups: {', '.join(names())}, all)")
    return names() if "all" in groups else list(dict.fromkeys(groups))


def lines(name, groups):
    return list(dict.fromkeys(line for group in chosen(groups) for line in sections(name).get(group, ())))


def plain(requirement):
    """A package's name without version and extras, as package indices compare it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def locked():
    """Package -> (its lines in the lock, the packages that need it)."""
    found, name = {}, None
    for line in (FOLDER / "requirements.lock").read_text().splitlines():
        if line and line[0] not in "# ":
            name = plain(line)
            found[name] = ([line], set())
        elif name and line.startswith("    #"):
            word = line.strip("# ").removeprefix("via").strip()
            if word and not word.startswith("-r"):
                found[name][1].add(plain(word))
        elif name and line.startswith("    "):
            found[name][0].append(line)
    return found


def needed(groups):
    """The names of all packages that groups need, directly or not."""
    everything = locked()
    wanted = {plain(requirement) for requirement in lines("requirements.in", groups)}
    if missing := sorted(wanted - everything.keys()):
        raise SystemExit(f"setup: requirements.lock has no {', '.join(missing)}: make lock")
    while more := {name for name, (_, parents) in everything.items() if parents & wanted} - wanted:
        wanted |= more
    return wanted


def damaged_in(site, packages):
    """The first file of installed packages that is missing or of another size than it had, or a package that is
    missing; None if all is there. Content is not read: that takes seconds."""
    records = {plain(path.parent.name.partition("-")[0]): path
               for path in [*site.glob("*.dist-info/RECORD"), *site.glob("*.egg-info/installed-files.txt")]}
    for name in sorted(packages):
        if name not in records:
            return name
        of = site if records[name].name == "RECORD" else records[name].parent
        with open(records[name], newline="") as file:
            for path, *more in csv.reader(file):
                if "__pycache__" in path:
                    continue
                try:
                    found = (of / path).stat().st_size
                except OSError:
                    found = -1
                if found < 0 or more and more[-1] and found != int(more[-1]):
                    return of / path
    return None


def main(words):
    what, *groups = words
    if what == "names":
        print("\n".join(names()))
    elif what == "debian":
        print("\n".join(sorted(lines("apt.txt", groups))))
    elif what == "damaged":
        print(damaged_in(Path(sysconfig.get_path("purelib")), needed(groups)) or "", end="")
    else:
        wanted = needed(groups)
        print("\n".join(line for name, (entry, _) in locked().items() if name in wanted for line in entry))


if __name__ == "__main__":
    main(sys.argv[1:])
