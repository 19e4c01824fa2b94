"""What C and the kernel's Makefile get of the parameters: generated for each build, the same for the same
declarations."""

import sys
from collections.abc import Mapping
from pathlib import Path

from support.cache import cached
from support.parameters import drive, simulator
from support.parameters.boot import KERNEL, OF_FILES, REGISTERS
from support.parameters.build import KERNELS, MACROS, OPTIONS, SCHEME_LIST, SCHEMES, SYNC, WITHOUT_LOCKS
from support.parameters.declared import Parameter
from support.version import VERSION

BOOT = """\
/*
 * Boot arguments, made from support/parameters/boot.py. BOOT(OWNER, NAME) is what bootargs_number and bootargs_string
 * want to know of one: its name, its default, and of a number the most; OWNER is `kernel`, or the file that reads it,
 * as bench_table5. What follows from the machine is given beside it.
 */
#ifndef GENERATED_BOOT_H
#define GENERATED_BOOT_H

#define BOOT(owner, name) BOOT_##owner##_##name
#define BOOT_KEY(owner, name) BOOT_##owner##_##name##_KEY
#define BOOT_MOST(owner, name) BOOT_##owner##_##name##_MOST
#define BOOT_OR(owner, name, otherwise) BOOT_KEY(owner, name), otherwise, BOOT_MOST(owner, name)
#define BOOT_WITHIN(owner, name, otherwise, most) BOOT_KEY(owner, name), otherwise, most

"""


def identifier(name: str) -> str:
    """A name as a C identifier."""
    return name.replace(".", "_").replace("/", "_").replace("-", "_")


def _boot(owner: str, parameter: Parameter) -> str:
    name = f"BOOT_{owner}_{identifier(parameter.name)}"
    lines = [f'#define {name}_KEY "{parameter.name}"']
    if parameter.range:
        lines.append(f"#define {name}_MOST {parameter.range[1]}u")
        default = f"{parameter.default}u, {name}_MOST"
    else:
        default = f'"{parameter.default}"'
    if parameter.default is not None and "poke" not in parameter.ways:  # a register keeps its value
        lines.append(f"#define {name} {name}_KEY, {default}")
    return "\n".join(lines) + "\n"


def boot_header() -> str:
    """generated/boot.h."""
    of_files = "".join(_boot(identifier(file), one) for file, of_file in OF_FILES.items() for one in of_file)
    registers = "".join(f" \\\n    X({one.name})" for one in REGISTERS)
    of_kernel = "".join(_boot("kernel", one) for one in KERNEL)
    return (f"{BOOT}{of_kernel}{of_files}\n/* The registers that boot arguments of the same name set. */\n"
            f"#define BOOT_REGISTERS(X){registers}\n#endif\n")


def version_header() -> str:
    """generated/version.h."""
    return f'#ifndef VERSION_H\n#define VERSION_H\n#define INTERLOCK_VERSION "{VERSION}"\n#endif\n'


def schemes_header() -> str:
    """generated/schemes.h: X(primitive, scheme, id) for each scheme."""
    schemes = "".join(f' \\\n    X("{scheme.primitive}", "{scheme.name}", {scheme.id})' for scheme in SCHEME_LIST)
    return ("/* The schemes, made from support/parameters/build.py: what a section costs, the name, the name in C. */\n"
            f"#ifndef GENERATED_SCHEMES_H\n#define GENERATED_SCHEMES_H\n#define SCHEMES(X){schemes}\n#endif\n")


def _default(name: str) -> str:
    """An option's default in the Makefile, by the value of `unix`."""
    text = str(OPTIONS[name].default)
    for unix, of_unix in KERNELS.items():
        if of_unix.get(name, text) != text:
            text = f"$(if $(filter {unix},$(UNIX)),{of_unix[name]},{text})"
    return text


def _held(condition: str, of: Mapping[str, str], what: str) -> str:
    """Make's error for values other than those `of` some options where `condition` holds."""
    values = " ".join(of.values())
    given = " ".join(f"$({name.upper()})" for name in of)
    said = " ".join(f"{name.upper()}={value}" for name, value in of.items())
    return (f"ifeq ({condition})\nifneq ({given},{values})\n"
            f"$(error {what} has {said}: leave these out)\nendif\nendif\n")


def options_makefile() -> str:
    """options.mk: the schemes, and the build options with their defaults, checks and C macros."""
    lines = [f"# Made from support/parameters/build.py.\nSCHEMES := {' '.join(SCHEMES)}\nSYNC ?= {SYNC.default}"]
    for name, option in sorted(OPTIONS.items(), key=lambda item: item[0] != "unix"):
        variable = name.upper()
        lines.append(f"{variable} ?= {_default(name)}")
        if option.choices:
            wrong = " $(WRONG_SPINLOCK)" if name == "spinlock" else ""      # for tests
            lines.append(f"ifeq ($(filter {' '.join(option.choices)}{wrong},$({variable})),)\n"
                         f"$(error {variable}=$({variable}): use one of {' '.join(option.choices)})\nendif")
    lines += [_held("$(UNIX),serial", KERNELS["serial"], "UNIX=serial"),
              _held("$(LOCKS),none", WITHOUT_LOCKS, "LOCKS=none")]
    macros = [f"-D{macro}=$(if $(filter {' '.join(values)},$({name.upper()})),1,0)"
              for macro, (name, *values) in MACROS.items()]
    names = [f"-D{name.upper()}_NAME='\"$({name.upper()})\"'" for name in ("spinlock", "runqueue")]
    lines.append(f"OPTIONS := {' '.join([*names, *macros])}")
    return "\n".join(lines) + "\n"


def drives_header() -> str:
    """generated/drives.h of the simulator: the fields of a drive's profile, with ranges, and the profiles."""
    members = "".join(f"    uint64_t {name}; // {one.help}\n" for name, one in drive.FIELDS.items())
    fields = "".join(f'    {{"{name}", &DiskProfile::{name}, {one.range[0]}, {one.range[1]}}},\n'
                     for name, one in drive.FIELDS.items() if one.range)
    profiles = "".join(
        f'    {{"{name}", {{{", ".join(f".{field} = {getattr(one, field)}" for field in drive.FIELDS)}}}}},\n'
        for name, one in drive.PROFILES.items())
    return ("// How drives take their time, made from support/parameters/drive.py.\n#pragma once\n#include <cstdint>\n"
            "#include <map>\n#include <string>\n#include <vector>\n\n"
            f"struct DiskProfile {{\n{members}}};\n\n"
            "struct DiskField {\n    const char *name;\n    uint64_t DiskProfile::*member;\n    uint64_t least, most;\n"
            f"}};\n\ninline const std::vector<DiskField> disk_fields = {{\n{fields}}};\n\n"
            f"inline const std::map<std::string, DiskProfile> disk_profiles = {{\n{profiles}}};\n"
            f'inline const char *const default_profile = "{drive.DEFAULT_PROFILE}";\n')


def simulator_header() -> str:
    """generated/options.h of the simulator: its options with their values and defaults, the text of --help."""
    options = "".join(
        f'    {{"--{name}", {{{", ".join(f"{n}u" for n in one.range or (0, 0))}, '
        f'{{{", ".join(chr(34) + choice + chr(34) for choice in one.choices)}}}, Option::{one.of.upper()}, '
        f'{"true" if name in simulator.FLAGS else "false"}}}}},\n' for name, one in simulator.OPTIONS.items())
    defaults = "".join(
        f"constexpr uint64_t {identifier(name).upper()} = {one.default};\n" if one.range or one.default.isdecimal() else
        f'inline const char *const {identifier(name).upper()} = "{one.default}";\n'
        for name, one in simulator.OPTIONS.items() if one.default is not None)
    return ("// Options of the simulator, made from support/parameters/simulator.py.\n"
            "#pragma once\n#include <cstdint>\n#include <map>\n#include <string>\n#include <vector>\n\n"
            "struct Option {\n    enum Of { RUN, NODE, FILE };\n\n    uint64_t least, most; // 0, 0: no number\n"
            "    std::vector<std::string> choices;\n    Of of;\n    bool flag;\n};\n\n"
            f"inline const std::map<std::string, Option> declared_options = {{\n{options}}};\n\n"
            f"namespace otherwise {{\n{defaults}}} // namespace otherwise\n\n"
            f'inline const char options_help[] = R"help({simulator.help_text()})help";\n')


OF_HARNESS = {"drives.h": drives_header, "options.h": simulator_header}
MADE = {"boot.h": boot_header, "schemes.h": schemes_header, "version.h": version_header,
        "options.mk": options_makefile} | OF_HARNESS


def harness_headers() -> Path:
    """A folder with `generated/` of the simulator's harness."""
    def write(out: Path):
        (out / "generated").mkdir()
        for name, make in OF_HARNESS.items():
            (out / "generated" / name).write_text(make())

    return cached("harness-headers", {name: make() for name, make in OF_HARNESS.items()}, write)


def main():
    """Prints one of MADE: `python -m support.parameters.headers options.mk`."""
    if sys.argv[1:] and sys.argv[1] in MADE:
        print(MADE[sys.argv[1]](), end="")
    else:
        sys.exit(f"usage: python -m support.parameters.headers {'|'.join(MADE)}")


if __name__ == "__main__":
    main()
