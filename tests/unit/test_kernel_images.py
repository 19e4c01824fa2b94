"""The contents of an image, where they lie, and what distinguishes images in the cache."""

import itertools
import os
import re
import shutil
import subprocess
from collections import Counter

import pytest

from sim.images import kernel, profile
from sim.images.kernel import CROSS, KernelError, build_kernel, checked_runs, runs, runs_of
from soc.build import generate_soc
from soc.config import SoCConfig
from support.cache import REPO
from tests.kernel.machine import DEVICES, DISK_BUILDS

SYNC = "spl-optim"
NEW = """
#include <stdlib.h>
#include <string.h>

#include "init/run.h"
#include "lib/printf.h"
#include "lock/simple_lock.h"

static SIMPLE_LOCK_CLASS(new_class, "new", SPL_HIGH);
static int order(const void *a, const void *b) { return strcasecmp(a, b); }
static char table[5000], filled[300] = "x";

static int fresh(void)
{
    qsort(table, 50, 100, order);
    kprintf("%s %s %s\\n", table, filled, strstr(table, filled) ? new_class.name : "none");
    return 0;
}

RUN("new", "a bench that was not there before", fresh);
"""
# Code that lies behind all that is measured.
BEHIND = re.compile(r"ksyms|user_archive|_end$|_ram_free$")
# Labels, and objects in tables in the link's order, which nothing depends on.
TABLES = re.compile(r"[$.]|_|syscall_of_|run=|panic_report|\w+_class$")


def symbols(image):
    """The (address, kind, name) of an image's symbols."""
    listing = subprocess.run([f"{CROSS}nm", image], check=True, capture_output=True, text=True).stdout
    return {tuple(line.split(maxsplit=2)) for line in listing.splitlines()}


def names(image):
    return {name for _, _, name in symbols(image)}


def test_files_of_user_mode_move_nothing_that_is_measured(tmp_path):
    (tmp_path / "file").write_bytes(bytes(12345))
    without, with_it = (symbols(build_kernel(SoCConfig(harts=1), SYNC, runs=("hello",), files=files))
                        for files in ({}, {"file": tmp_path / "file"}))
    assert all(BEHIND.match(name) for _, _, name in without - with_it)


def in_order(image, kinds):
    """An image's symbols of these kinds (nm's letters), in order of addresses."""
    found = sorted((int(address, 16), name) for address, kind, name in symbols(image)
                   if kind in kinds and not TABLES.match(name))
    return [name for _, name in found]


@pytest.mark.parametrize("kinds", ("tT", "rR", "dD", "bB"))
def test_a_layout_is_another_order_of_the_same_functions_and_data(kinds):
    orders = [in_order(build_kernel(SoCConfig(harts=1), SYNC, options={"layout": layout}, runs=("hello",)), kinds)
              for layout in ("0", "1", "2")]
    first = orders[0]
    assert len(first) > 20 and all(Counter(order) == Counter(first) for order in orders)
    for one, other in itertools.combinations(orders, 2):
        neighbours = set(itertools.pairwise(one)) & set(itertools.pairwise(other))
        assert len(neighbours) < len(first) // 2, f"{len(neighbours)} of {len(first)} lie behind the same one"


def test_programs_of_user_mode_are_shuffled_too():
    made = [kernel._compiled(SoCConfig(harts=1), SYNC, "", [], layout)[2]()[1] / "user" / kernel.PROGRAMS
            for layout in ("0", "1", "2")]
    archives = [path.read_bytes() for path in made]
    assert len(set(archives)) == 3 and max(map(len, archives)) - min(map(len, archives)) < len(archives[0]) // 50


def test_the_same_layout_is_the_same_image(monkeypatch, tmp_path):
    known = build_kernel(SoCConfig(harts=1), SYNC, options={"layout": "2"}, runs=("hello",))
    cached, linked = kernel.cached, []

    def anew(kind, inputs, build):
        if kind != f"kernel-{SYNC}":
            return cached(kind, inputs, build)
        linked.append(kind)
        build(tmp_path)
        return tmp_path

    monkeypatch.setattr(kernel, "cached", anew)
    again = build_kernel(SoCConfig(harts=1), SYNC, options={"layout": "2"}, runs=("hello",))
    assert linked and again != known and again.read_bytes() == known.read_bytes()


def test_an_ordered_layout_has_functions_beside_those_that_they_call(monkeypatch, tmp_path):
    pairs = (("hart_main", "page_alloc"), ("vm_fault", "serial_init"), ("kprintf", "strcmp"))
    calls = tmp_path / "calls.txt"
    calls.write_text("".join(f"{caller} {callee} 1000\n" for caller, callee in pairs))
    monkeypatch.setattr(profile, "calls", lambda *_: calls)
    linked, ordered = (in_order(build_kernel(SoCConfig(harts=1), SYNC, options={"layout": layout}, runs=("hello",)),
                                "tT") for layout in ("0", "profile"))
    assert Counter(linked) == Counter(ordered)
    for caller, callee in pairs:
        assert abs(ordered.index(caller) - ordered.index(callee)) == 1 < abs(linked.index(caller) -
                                                                             linked.index(callee))


@pytest.mark.parametrize("layout", ("-1", "01", "1000000000", "x", "", "0x1"))
def test_a_layout_that_there_is_not_gets_one_line(layout):
    with pytest.raises(ValueError, match="build option layout=.*: give 0 to 999999999, or profile") as error:
        kernel.checked_options({"layout": layout})
    assert "\n" not in str(error.value)


def test_one_image_serves_any_number_of_harts():
    one, two = (build_kernel(SoCConfig(harts=harts), SYNC, runs=("hello",)) for harts in (1, 2))
    assert one == two


def test_headers_tell_the_kernel_all_but_the_number_of_harts():
    soc, missing = generate_soc(SoCConfig(harts=2)), set()
    for name, text in kernel._headers(soc).items():
        if not (soc.include / name).exists():       # made of the parameters, not of the SoC
            continue
        missing |= set((soc.include / name).read_text().splitlines()) - set(str(text).splitlines())
    assert missing == {
        "#define PIC_ID_RESET 0x10220", "#define CONFIG_CPU_COUNT 2", "#define CONFIG_HARTS 2",
        "static inline int config_cpu_count_read(void) {", "static inline int config_harts_read(void) {", "\treturn 2;"}


def test_what_a_run_needs_of_other_files_is_compiled_for_it():
    assert kernel._sources(("test-lost",)) == ["test/lost.c", "test/test.c"]
    assert kernel._sources(("intr-floor", "table5")) == [
        f"bench/{name}" for name in ("bare_trap.S", "intr_floor.c", "quantile.c", "stamp.S", "table5.c",
                                   "table5_pair.c")]
    assert len(kernel._sources(None)) > 50 and not kernel._sources(())


def test_an_image_holds_the_runs_it_is_built_for():
    held = names(build_kernel(SoCConfig(harts=1), SYNC, runs=("test-lost", "table5")))
    assert {name for name in held if name.startswith("run=")} == {
        f"run={name}" for name in ("hello", "monitor", "user", "test-lost", "table5")}
    assert "test_harts" in held and not {"bare_trap", "serial_input", "litmus"} & held
    # Including what devices need; of kernels with devices, tests of disks have this one.
    everything = names(build_kernel(SoCConfig(harts=1, **DEVICES), "cli-optim", options=DISK_BUILDS["cli-optim"]))
    missing = {f"run={name}" for name in runs()} - everything
    assert missing == {"run=test-accounting", "run=test-lockstat", "run=remote", "run=remote-copy",
                       "run=nfsd", "run=andrew-nfs"}, "only those need build options"


def test_a_new_bench_changes_no_image_but_those_that_run_it(tmp_path):
    """Not even if only it needs a part of the C library, and it has data and a class of locks of its own."""
    shutil.copytree(REPO / "kernel", tmp_path / "kernel")
    for name in ("firmware", "support"):
        (tmp_path / name).symlink_to(REPO / name)
    (tmp_path / "kernel/bench/a_new_one.c").write_text(NEW)

    options = kernel._arguments(kernel.checked_options({}), link=False)     # as images of other tests have them
    _, arguments, compiled = kernel._compiled(SoCConfig(harts=1), SYNC, kernel._cflags(), options)
    objects, programs = compiled()

    def make(out, runs):
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        subprocess.run(["make", "-C", tmp_path / "kernel", "-j2", f"SYNC={SYNC}", f"CROSS={CROSS}",
                        f"OUT={tmp_path / out}", f"PYTHON={REPO / '.venv/bin/python'}", f"OBJECTS={objects}",
                        f"PROGRAMS={programs}", "RUN_SOURCES=bench/a_new_one.c test/lost.c test/test.c",
                        f"RUNS={runs}", *arguments], check=True, capture_output=True, env=environment)
        return tmp_path / out / "kernel.elf"

    before = build_kernel(SoCConfig(harts=1), SYNC, runs=("test-lost",))
    other = make("other", "test-lost")
    assert symbols(other) == symbols(before)
    new = make("new", "new")
    assert {"fresh", "qsort", "new_class"} <= names(new)


def test_boot_arguments_tell_what_an_image_has_to_hold():
    assert runs_of("hz=0 run=test-lost seed=3") == ("test-lost",)
    assert runs_of("hz=0") == runs_of("run=monitor") == ("monitor",)
    assert checked_runs(("monitor",)) is None and checked_runs(None) is None
    assert checked_runs(("hello", "user")) == () and checked_runs(("table5", "serial")) == ("serial", "table5")


def test_a_run_that_there_is_not_is_told_before_anything_is_built():
    with pytest.raises(ValueError, match=r"run=test-lst: there is no such run; use one of .*, test-lost, ") as error:
        build_kernel(SoCConfig(harts=1), SYNC, runs=("test-lst",))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("devices, run, missing", [({}, "file-cost", "disks=1"), ({}, "losses", "disks=1 ethers=1"),
                                                   ({"disks": 1}, "losses", "ethers=1")])
def test_a_run_that_wants_more_devices_says_which(monkeypatch, tmp_path, devices, run, missing):
    """The link's `make` tells it, whatever has been compiled."""
    cached = kernel.cached
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / kernel.PROGRAMS).touch()
    compiled = (f"kernel-objects-{SYNC}", "kernel-programs")
    monkeypatch.setattr(kernel, "cached", lambda kind, *how: tmp_path if kind in compiled else cached(kind, *how))
    with pytest.raises(KernelError) as error:
        build_kernel(SoCConfig(**devices), SYNC, runs=(run,))
    assert str(error.value) == f"run={run} is for a machine with more devices: give it {missing}"


@pytest.fixture
def keys(monkeypatch):
    """A function that gives the keys under which an image would be looked for, with nothing built."""
    def of(**arguments):
        seen = []

        def note(kind, inputs, build):
            seen.append((kind, kernel.digest(inputs)))
            return REPO

        monkeypatch.setattr(kernel, "cached", note)
        kernel.compiler.cache_clear()
        build_kernel(SoCConfig(harts=1), SYNC, **arguments)
        kernel.compiler.cache_clear()
        return seen

    return of


def fake_tools(folder, monkeypatch, changed=None):
    folder.mkdir()
    for tool in ("gcc", "as", "ld", "lld"):
        path = folder / f"x-{tool}"
        path.write_text(f"#!/bin/sh\ncase $* in *libgcc*) echo {folder}/libgcc.a ;; "
                        f"*) echo {tool} {2 if tool == changed else 1} ;; esac\n")
        path.chmod(0o755)
    library = folder / "picolibc" / kernel.LIBC
    library.parent.mkdir(parents=True)
    library.write_text(f"library {changed == 'libc.a'}")
    (folder / "libgcc.a").write_text(f"library {changed == 'libgcc.a'}")
    (folder / "picolibc/include").mkdir()
    (folder / "picolibc/include/stdio.h").write_text(f"header {changed == 'stdio.h'}")
    monkeypatch.setattr(kernel, "CROSS", f"{folder}/x-")
    monkeypatch.setattr(kernel, "LLD", f"{folder}/x-lld")
    monkeypatch.setattr(kernel, "PICOLIBC", folder / "picolibc")


def test_what_an_image_is_made_with_is_in_its_key(tmp_path, monkeypatch, keys):
    found = set()
    changes = (None, "gcc", "as", "ld", "lld", "libc.a", "stdio.h", "libgcc.a")
    for n, changed in enumerate(changes):
        fake_tools(tmp_path / str(n), monkeypatch, changed)
        found.add(tuple(keys(runs=("hello",))))
    assert len(found) == len(changes)
    fake_tools(tmp_path / "again", monkeypatch)
    assert tuple(keys(runs=("hello",))) in found


def test_the_order_of_runs_and_those_always_there_make_no_other_image(keys):
    assert keys(runs=("serial", "table5")) == keys(runs=("table5", "serial", "hello")) != keys(runs=("serial",))
    assert keys() == keys(runs=("monitor",)) != keys(runs=("hello",))


def test_images_that_differ_in_the_link_share_what_is_compiled(monkeypatch, tmp_path):
    compiled = []

    def note(kind, inputs, build):
        if "objects" in kind:
            compiled.append(kernel.digest(inputs))
        else:
            build(tmp_path)
        (tmp_path / "user").mkdir(exist_ok=True)
        (tmp_path / "user" / kernel.PROGRAMS).touch()
        return tmp_path

    monkeypatch.setattr(kernel, "cached", note)
    monkeypatch.setattr(kernel, "_make", lambda *arguments: None)
    for options, held in (({}, ("hello",)), ({"layout": "4"}, ("table5",)), ({}, None), ({"lock_debug": "1"}, None)):
        build_kernel(SoCConfig(harts=1), SYNC, options=options, runs=held)
    assert compiled[0] == compiled[1] == compiled[2] != compiled[3]


@pytest.mark.parametrize("options, said", [
    ({"unix": "serial", "buffers": "buckets"}, "the serial kernel has buffers=mach only"),
    ({"locks": "none", "unix": "beyond"}, "locks=none: it has unix=parallel only"),
    ({"locks": "none", "lock_debug": "1"}, "locks=none: it has lock_debug=0 only"),
])
def test_options_that_exclude_each_other_get_one_line(options, said):
    with pytest.raises(ValueError, match=said):
        kernel.checked_options(options)
