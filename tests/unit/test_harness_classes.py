"""The harness's classes that read users' input, and Idle, without the model, under the address and undefined-
behaviour sanitizers: valid input gives its result, invalid input one line, and no input breaks anything."""

import json
import random
import re
import struct
from pathlib import Path

import pytest

from sim.model.build import HARNESS
from sim.model.toolchain import COMPILER, LINKER, compile_objects, find, run, tool_versions
from support.cache import REPO, cached
from support.parameters import simulator
from support.parameters.headers import OF_HARNESS, harness_headers
from tests.limited import run_limited

DRIVER = Path(__file__).with_name("harness_classes.cpp")
SOURCES = (
    "devices/line_speed",
    "devices/serial",
    "machine/idle",
    "machine/image",
    "options/arguments",
    "options/moment",
    "options/poke",
    "support/files",
    "support/hash",
    "support/json",
    "support/watchdog",
)
FLAGS = (
    "-O0",
    "-g1",
    "-Wall",
    "-Wextra",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    f"-I{HARNESS}",
    f"-I{harness_headers()}",
)
BASE, MAGIC = 0x40000000, 0x314B4C49


@pytest.fixture(scope="module")
def program():
    def build(folder):
        objects = compile_objects(
            folder, {path: FLAGS for path in [*(HARNESS / f"{name}.cpp" for name in SOURCES), DRIVER]}
        )
        run(
            [find(COMPILER), f"--ld-path={find(LINKER)}", *FLAGS, "-o", folder / "classes", *objects, "-pthread"],
            folder,
        )
        for path in objects:
            path.unlink()

    headers = {str(path.relative_to(HARNESS)): path for path in sorted(HARNESS.rglob("*.h"))}
    sources = {name: HARNESS / f"{name}.cpp" for name in SOURCES}
    return (
        cached(
            "harness-classes",
            {
                **headers,
                **sources,
                "driver": DRIVER,
                "flags": repr(FLAGS[:-2]),
                "generated": repr({name: made() for name, made in OF_HARNESS.items()}),
                "tools": repr(tool_versions()),
            },
            build,
        )
        / "classes"
    )


def encoded(*texts):
    parts = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return struct.pack("<I", len(parts)) + b"".join(struct.pack("<I", len(part)) + part for part in parts)


def ask(program, *cases):
    """An answer for each case; AssertionError with the sanitizer's report if the program dies."""
    done = run_limited(
        [program],
        60,
        input=b"".join(encoded(*case) for case in cases),
        capture_output=True,
        env={"UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    answers = [
        json.loads(line, strict=False) for line in done.stdout.splitlines() if line.startswith(b"{")
    ]  # else it is the help
    assert done.returncode == 0 and len(answers) == len(cases), (
        f"case {len(answers)}: {cases[min(len(answers), len(cases) - 1)]!r}"[:500] + done.stderr.decode()[:2500]
    )
    return answers


def refused(answer, said):
    return said in answer["failure"] and "\n" not in answer["failure"]


def test_the_sanitizers_are_there(program):
    for what, said in (("address", "heap-buffer-overflow"), ("undefined", "signed integer overflow")):
        with pytest.raises(AssertionError, match=said):
            ask(program, ("planted", what, "x" * 8))


def test_moments(program):
    good = ask(
        program, *(("moment", text) for text in ("cycle:0x10", "pc:main+4", "event:1023", "event:5:4294967295"))
    )
    assert [(made["kind"], made["place"], made["event"], made["any"], made["argument"]) for made in good] == [
        (1, "", 0, True, 0),
        (2, "main+4", 0, True, 0),
        (3, "", 1023, True, 0),
        (3, "", 5, False, 4294967295),
    ]
    assert good[0]["cycle"] == 16
    wrong = (
        "",
        ":",
        "cycle",
        "cycle:",
        "cycle:-1",
        "cycle:+1",
        "cycle:1x",
        "cycle:18446744073709551616",
        "pc:",
        "pc",
        "event:",
        "event:1024",
        "event:1:",
        "event:1:4294967296",
        "event:1:2:3",
        "Cycle:1",
        "x" * 5000,
    )
    for text, answer in zip(wrong, ask(program, *(("moment", text) for text in wrong)), strict=True):
        assert refused(answer, "--at: "), text


def test_pokes(program):
    assert ask(program, ("poke", "link_read_latency=0x4b"), ("poke", "a=1@7")) == [
        {"name": "link_read_latency", "value": 75, "cycle": 2**64 - 1},
        {"name": "a", "value": 1, "cycle": 7},
    ]
    wrong = ("", "=", "=1", "a", "a=", "a=1@", "a@1=2", "a=4294967296", "a=-1", "a=1@18446744073709551615", "a=1@x")
    for text, answer in zip(wrong, ask(program, *(("poke", text) for text in wrong)), strict=True):
        assert refused(answer, "--poke: "), text


def test_arguments(program):
    plain, several, asked = ask(
        program,
        ("arguments", "--image", "k", "--bootargs=run=hello", "--seed", "3"),
        ("arguments", "--image=k", "--nodes=3", "--console=none", "--wire=0.uart1:2.uart1:100", "--node=1:image=other"),
        ("arguments", "--image", "k", "--help"),
    )
    assert plain == {"go_on": True, "nodes": 1, "wires": 0, "image": "k", "bootargs": "run=hello seed=3"}
    assert several == {"go_on": True, "nodes": 3, "wires": 1, "image": "k", "bootargs": "node=2 nodes=3"}
    assert not asked["go_on"]


WRONG = [
    ([], "--image FILE is missing"),
    (["--image"], "--image needs a value"),
    (["--imag", "x"], "unknown option --imag"),
    (["--image=k", "--uart0-baud", "49"], "--uart0-baud: 49 is out of range"),
    (["--image=k", "--uart1-baud", "60000000"], "is out of range"),
    (["--image=k", "--max-seconds", "nan"], "is not a number of seconds"),
    (["--image=k", "--progress", "-1"], "is not a number of seconds"),
    (["--image=k", "--console", "x"], "--console: 'x'"),
    (["--image=k", "--hang-cycles", "7"], "at least 8"),
    (["--image=k", "--nodes", "0"], "0 is out of range, 1 to 4096"),
    (["--image=k", "--nodes", "4097"], "is out of range"),
    (["--image=k", "--wire", "0.uart1:1.uart1:9"], "needs --nodes"),
    (["--image=k", "--nodes", "2", "--wire", "0.uart1"], "--wire"),
    (["--image=k", "--nodes", "2", "--wire", ""], "--wire"),
    (["--image=k", "--nodes", "2", "--wire", "0.uart1:2.uart1:9"], "out of range"),
    (["--image=k", "--nodes", "2", "--wire", "::"], "--wire"),
    (["--image=k", "--nodes", "2", "--node", ""], "--node"),
    (["--image=k", "--nodes", "2", "--node", "2:image=x"], "--node"),
    (["--image=k", "--nodes", "2", "--node", "1:"], "1:"),
    (["=", "="], "unknown option"),
    (["--image=k", "--checkpoint", "x"], "belong together"),
]


def test_wrong_arguments_get_one_line(program):
    for (words, said), answer in zip(
        WRONG, ask(program, *(("arguments", *words) for words, _ in WRONG)), strict=True
    ):
        assert refused(answer, said), (words, answer)


# Options that an option needs.
WITH = {"wave-cycles": ["--wave=w"], "sample-cycles": ["--samples=s"], "nodes": ["--console=none"]}
ALONE = {"--console=file": ["--out=d"]}


def test_each_option_takes_what_is_declared(program):
    """Numbers at both ends of their range, each choice, flags; and nothing else."""
    good, wrong = [], []
    for name, option in simulator.OPTIONS.items():
        words = ["arguments", "--image=k", *WITH.get(name, [])]
        if option.range:
            low, high = option.range
            if name.endswith("-baud"):
                high = 60_000_000 // 4
            good += [(*words, f"--{name}={value}") for value in (low, high)]
            wrong += [(*words, f"--{name}={value}") for value in (low - 1, high + 1, "x", "")]
        elif option.choices:
            good += [(*words, *ALONE.get(f"--{name}={value}", []), f"--{name}={value}") for value in option.choices]
            wrong += [(*words, f"--{name}={value}") for value in ("x", "")]
        elif name in simulator.FLAGS:
            beside = ["--checkpoint=c", "--checkpoint-at=cycle:9"] if name == "checkpoint-stop" else []
            good.append((*words, *beside, f"--{name}"))
        if name not in simulator.OF_ONE_NODE and option.value:
            wrong.append(("arguments", "--image=k", "--nodes=2", "--console=none", f"--node=1:{name}=1"))
        if option.of == simulator.FILE:
            wrong.append(("arguments", "--image=k", "--nodes=2", "--console=none", f"--{name}=f"))
            good.append(("arguments", "--image=k", "--nodes=2", "--console=none", f"--node=1:{name}=f"))
    for words, answer in zip(good, ask(program, *good), strict=True):
        assert answer.get("go_on"), (words, answer)
    for words, answer in zip(wrong, ask(program, *wrong), strict=True):
        name = words[-1].removeprefix("--node=1:").removeprefix("--").partition("=")[0]
        assert refused(answer, name), (words, answer)


def test_what_the_simulator_reads_is_what_is_declared():
    text = (REPO / "sim/harness/options/arguments.cpp").read_text()
    read = set(re.findall(r'\{"--([\w-]+)",', text)) | set(re.findall(r'options\["--([\w-]+)"\]', text))
    assert read == set(simulator.OPTIONS)


def test_any_words_are_read_or_refused(program):
    dice = random.Random(1)
    words = sorted(
        {word for words, _ in WRONG for word in words} | {"--poke", "a=1", "--checkpoint-at", "cycle:1", "1:"}
    )
    answers = ask(
        program,
        *(("arguments", "--image=k", *(dice.choice(words) for _ in range(dice.randrange(8)))) for _ in range(300)),
    )
    assert any("failure" in answer for answer in answers) and any("failure" not in answer for answer in answers)


def elf():
    """A small image: a segment with code and the header of the boot arguments, symbols, probe points, threads."""
    code = struct.pack("<5I", 0x13, MAGIC, BASE, BASE + 64, 32) + bytes(108)
    names = b"\0main\0last\0"
    symbols = bytes(16) + b"".join(
        struct.pack("<IIIBBH", name, BASE + at, 0, 2, 0, 1) for name, at in ((1, 0), (6, 32))
    )
    probes = struct.pack("<4I", BASE + 8, 1, BASE + 12, 2 | 6 << 8)
    threads = struct.pack("<6I", BASE, 16, 2, 0, 4, 8)
    titles = b"\0.text\0.symtab\0.strtab\0.interlock.probes\0.interlock.threads\0"
    parts = [code, symbols, names, probes, threads, titles]
    begin, offsets = 52 + 32, []
    for part in parts:
        offsets.append(begin)
        begin += len(part)
    kinds = [
        (b".text", 1, 6, 0),
        (b".symtab", 2, 0, 3),
        (b".strtab", 3, 0, 0),
        (b".interlock.probes", 1, 2, 0),
        (b".interlock.threads", 1, 2, 0),
        (b"", 3, 0, 0),
    ]
    sections = bytes(40) + b"".join(
        struct.pack(
            "<10I",
            titles.index(b"\0" + name + b"\0") + 1 if name else 0,
            kind,
            flags,
            0,
            offset,
            len(part),
            link,
            0,
            4,
            0,
        )
        for (name, kind, flags, link), offset, part in zip(kinds, offsets, parts, strict=True)
    )
    header = (
        b"\x7fELF\1\1\1"
        + bytes(9)
        + struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, BASE, 52, begin, 0, 52, 32, 1, 40, 7, 6)
    )
    segment = struct.pack("<8I", 1, offsets[0], BASE, BASE, len(code), len(code), 5, 4)
    return header + segment + b"".join(parts) + sections


def test_an_image(program):
    made, offset, none, long = ask(
        program,
        *(
            ("image", elf(), args, "4096", place)
            for args, place in (("run=hello", "main"), ("", "last+4"), ("", "nowhere"), ("x" * 32, "main"))
        ),
    )
    assert (made["functions"], made["probes"], made["begin"], made["end"]) == (2, 2, BASE, BASE + 128)
    assert made["place"] == "main" and offset["place"] == "last+0x4"
    assert refused(none, "no function 'nowhere'") and refused(long, "do not fit: 32 bytes")


def test_any_image_is_loaded_or_refused(program):
    """Cut anywhere, and with words changed to values that break arithmetic."""
    whole, dice = elf(), random.Random(2)
    cases = [("image", whole[:at], "", "4096", "main") for at in range(0, len(whole), 3)]
    edges = (
        0,
        1,
        3,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        0xFFFFFFFC,
        BASE - 1,
        BASE + 4092,
        BASE + 4096,
        len(whole),
        40,
    )
    for at in range(16, len(whole) - 4, 4):
        for value in dice.sample(edges, 4):
            cases.append(("image", whole[:at] + struct.pack("<I", value) + whole[at + 4 :], "a=b", "4096", "main"))
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(dice.randrange(1, 12)):
            content[dice.randrange(len(content))] = dice.randrange(256)
        cases.append(("image", bytes(content), "a=b", "4096", dice.choice(("main", "0x40000000", "", "+", "main+"))))
    answers = ask(program, *cases)
    assert all(not answer["failure"].count("\n") for answer in answers if "failure" in answer)
    assert (
        sum("failure" in answer for answer in answers) > 300
        and sum("failure" not in answer for answer in answers) > 300
    )


def test_texts_of_json(program):
    dice = random.Random(3)
    texts = [
        b"",
        b'"\\\n\x7f\0',
        "ä€😀".encode(),
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"a\xff",
        *(dice.randbytes(dice.randrange(20)) for _ in range(300)),
    ]
    for text, answer in zip(texts, ask(program, *(("quote", text) for text in texts)), strict=True):
        assert answer["text"] == text.decode(errors="replace") or "\ufffd" in answer["text"], text
        if b"\xff" not in text and "\ufffd" not in text.decode(errors="replace"):
            assert answer["text"] == text.decode()


def test_files(program, tmp_path):
    (tmp_path / "in").write_bytes(bytes(200_000))
    copied, missing, folder, nowhere = ask(
        program,
        *(
            ("file", str(a), str(b))
            for a, b in (
                (tmp_path / "in", tmp_path / "out"),
                (tmp_path / "none", tmp_path / "x"),
                (tmp_path, tmp_path / "x"),
                (tmp_path / "in", tmp_path / "no/x"),
            )
        ),
    )
    assert copied == {"bytes": 200_000} and (tmp_path / "out").read_bytes() == bytes(200_000)
    assert refused(missing, "cannot read the original") and refused(folder, "it is a directory")
    assert refused(nowhere, "cannot write the copy")


@pytest.mark.parametrize(
    "clock, baud, per_mille, right",
    [
        (60_000_000, 115_200, 1000, True),
        (60_000_000, 6_000_000, 1000, True),
        (1_000_000, 9600, 1000, True),
        (60_000_000, 921_600, 970, True),
        (60_000_000, 921_600, 1030, True),
        (60_000_000, 115_200, 800, False),
    ],
)
def test_a_serial_line(program, clock, baud, per_mille, right):
    sent = bytes(range(32, 127))
    (answer,) = ask(program, ("line", sent, str(clock), str(baud), str(per_mille)))
    assert answer["sent"] == len(sent) and (answer["got"].encode() == sent) == right


def test_what_is_said_of_idle_cycles_comes_true(program):
    """With random counters, also those that end in this cycle, before it, or never."""
    (answer,) = ask(program, ("idle", "1", "20000"))
    assert answer.pop("at_once") > 100 and answer.pop("far") > 100
    assert not any(answer.values()), answer


def test_the_speed_of_a_terminal(program):
    answers = ask(program, *(("speed", str(baud)) for baud in (115_200, 123_456, 3_000_000)))
    assert [answer["speed"] for answer in answers] == [115_200, 123_456, 3_000_000]
    assert all(answer["none"] == 0 for answer in answers)
