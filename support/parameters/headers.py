"""What C and the kernel's Makefile have of the parameters: made anew for each build, the same for the same
declarations."""

from support.parameters.boot import KERNEL, OF_FILES, REGISTERS
from support.parameters.declared import Parameter

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
    """A name as C has it."""
    return name.replace(".", "_").replace("/", "_").replace("-", "_")


def _boot(owner: str, parameter: Parameter) -> str:
    name = f"BOOT_{owner}_{identifier(parameter.name)}"
    lines = [f'#define {name}_KEY "{parameter.name}"']
    if parameter.range:
        lines.append(f"#define {name}_MOST {parameter.range[1]}u")
        default = f"{parameter.default}u, {name}_MOST"
    else:
        default = f'"{parameter.default}"'
    if parameter.default is not None and "poke" not in parameter.ways:  # what is in a register stays
        lines.append(f"#define {name} {name}_KEY, {default}")
    return "\n".join(lines) + "\n"


def boot_header() -> str:
    """generated/boot.h."""
    of_files = "".join(_boot(identifier(file), one) for file, of_file in OF_FILES.items() for one in of_file)
    registers = "".join(f" \\\n    X({one.name})" for one in REGISTERS)
    of_kernel = "".join(_boot("kernel", one) for one in KERNEL)
    return (f"{BOOT}{of_kernel}{of_files}\n/* The registers that boot arguments of the same name set. */\n"
            f"#define BOOT_REGISTERS(X){registers}\n#endif\n")
