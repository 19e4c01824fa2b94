"""Generates the netlist of the CPU cluster: `python -m hw.cpu.generate --harts 2` prints its path.

The VexRiscv sources come from the package pythondata-cpu-vexriscv, rewritten where REWRITES says; the cluster around
them is in hw/cpu/scala. Both are compiled once by Maven; each netlist is then one run of the compiled generator.
"""

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from support.cache import REPO, build_root, cached
from support.parameters.machine import MACHINE, default

SCALA = Path(__file__).parent / "scala"
# Every fetched file must have the checksum that its repository states; those that a generator runs with must also have
# the SHA-256 given here.
MAVEN = ("mvn", "--batch-mode", "--strict-checksums")
JARS = Path(__file__).parent / "jars.sha256"
# A generator runs for seconds, in which neither C2 nor a parallel collector pays off.
JAVA = ("java", "-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
NETLIST = "InterlockCluster.v"
UTF8 = {"LC_ALL": "C.UTF-8"}    # under C, Java does not start in a folder whose path has non-ASCII letters
NO_NETWORK = re.compile("Temporary failure in name resolution|Unknown host|Network is unreachable|Connection refused|"
                        "Connect timed out|Connection timed out")
MAX_DEVICE_PORTS = 4
WAY_BYTES = (1024, 2048, 4096)  # at most a page: the line is looked up while its address is translated


class ToolError(RuntimeError):
    """A tool that the generator needs is missing, too old or failed; the message is one line that names the remedy."""


@dataclass(frozen=True)
class ClusterParameters:
    """A cluster's parameters. ValueError, one line, for a cluster that cannot be built."""

    harts: int = default("harts")
    reset_vector: int = 0
    icache_bytes: int = default("icache_bytes")
    icache_ways: int = default("icache_ways")
    dcache_bytes: int = default("dcache_bytes")
    dcache_ways: int = default("dcache_ways")
    itlb_entries: int = default("tlb_entries")
    dtlb_entries: int = default("tlb_entries")
    prediction: str = default("prediction")
    device_ports: int = 1

    def __post_init__(self):
        for name in ("harts", "icache_ways", "dcache_ways", "prediction"):
            MACHINE[name].checked(getattr(self, name))
        for name in ("itlb_entries", "dtlb_entries"):
            replace(MACHINE["tlb_entries"], name=name).checked(getattr(self, name))
        if self.reset_vector % 4 or not 0 <= self.reset_vector < 1 << 32:
            raise ValueError(f"reset_vector must be a 32-bit multiple of 4, not {self.reset_vector:#x}")
        for cache in ("icache", "dcache"):
            size, ways = getattr(self, cache + "_bytes"), getattr(self, cache + "_ways")
            if type(size) is not int or size not in (ways * way for way in WAY_BYTES):
                raise ValueError(f"{cache}_bytes={size}: give a power of two from {ways * WAY_BYTES[0]} to "
                                 f"{ways * WAY_BYTES[-1]}, which is what {cache}_ways={ways} can have")
        if type(self.device_ports) is not int or not 0 <= self.device_ports <= MAX_DEVICE_PORTS:
            raise ValueError(f"device_ports={self.device_ports}: give 0 to {MAX_DEVICE_PORTS}")


@dataclass(frozen=True)
class Rewrite:
    """One change to a VexRiscv source: `old` must be there exactly `count` times."""

    path: str
    old: str
    new: str
    count: int = 1


# The README says why, in the same order.
REWRITES = (
    # Compile with SpinalHDL 1.14.
    Rewrite("Stage.scala", ".getDrivingReg.init(", ".getDrivingReg().init("),
    Rewrite("plugin/Fetcher.scala", ".getDrivingReg\n", ".getDrivingReg()\n"),
    Rewrite("plugin/DBusCachedPlugin.scala", ".getDrivingReg", ".getDrivingReg()", 3),
    Rewrite("ip/fpu/FpuCore.scala", ".getDrivingReg", ".getDrivingReg()", 2),
    Rewrite("ip/DataCache.scala", "def clearAll()", "def clearFlags()"),
    Rewrite("plugin/DBusCachedPlugin.scala", "fence.clearAll()", "fence.clearFlags()"),
    # I/O stores wait for their response, except in the trace window, and report its error.
    Rewrite("ip/DataCache.scala", "val waitResponse = !request.wr\n",
            "val waitResponse = !request.wr || ioStoreWaits\n"),
    Rewrite("ip/DataCache.scala", "    val bypassCache = mmuRsp.isIoAccess || isExternalLsrc || isExternalAmo\n",
            "    val bypassCache = mmuRsp.isIoAccess || isExternalLsrc || isExternalAmo\n"
            "    val ioStoreWaits = mmuRsp.isIoAccess && !interlock.HartIo.isPosted(mmuRsp.physicalAddress)\n"),
    Rewrite("ip/DataCache.scala", "io.cpu.writeBack.accessError := !request.wr && isLast &&",
            "io.cpu.writeBack.accessError := (!request.wr && isLast || ioStoreWaits && !isExternalAmo && rspSync) &&"),
    # A load whose line is invalidated again and again gets its word from memory instead.
    Rewrite("ip/DataCache.scala", "    io.cpu.writeBack.keepMemRspData := False\n",
            "    val refilled = RegInit(False)\n"
            "    refilled clearWhen(io.cpu.writeBack.isValid && (waysHit || io.cpu.writeBack.isFiring))\n"
            "    val loadPastCache = refilled && !request.wr && !waysHit\n"
            "    bypassCache setWhen(loadPastCache)\n"
            "    io.cpu.writeBack.keepMemRspData := False\n"),
    Rewrite("ip/DataCache.scala", "} elsewhen(mmuRsp.isIoAccess || isExternalLsrc) {",
            "} elsewhen(mmuRsp.isIoAccess || isExternalLsrc || loadPastCache) {"),
    Rewrite("ip/DataCache.scala", "    when(done){\n      valid := False\n",
            "    when(done){\n      valid := False\n      stageB.refilled := True\n"),
    # The load of an AMO selects no byte, so that the exclusive monitor recognises it.
    Rewrite("ip/DataCache.scala", "          is(LR_CMD){\n            io.mem.cmd.valid := True\n",
            "          is(LR_CMD){\n            io.mem.cmd.valid := True\n            io.mem.cmd.mask := 0\n"),
    # An error in the last beat of a line does not spoil the next line.
    Rewrite("ip/InstructionCache.scala", "hadError.setWhen(io.mem.rsp.error)\n",
            "hadError.setWhen(io.mem.rsp.error && wordIndex =/= wordIndex.maxValue)\n"),
    # FENCE.I flushes the instruction cache from execute, where FenceIPlugin holds it.
    Rewrite("plugin/IBusCachedPlugin.scala", "val flushStage = decode\n", "val flushStage = execute\n"),
    # MPRV accesses are checked with the effective privilege.
    Rewrite("plugin/MmuPlugin.scala",
            "        val requireMmuLockup = toRsp(requireMmuLockupCalc, requireMmuLockupCmd)\n",
            "        val requireMmuLockup = toRsp(requireMmuLockupCalc, requireMmuLockupCmd)\n"
            "        val asMpp = Bool(port.priority == MmuPort.PRIORITY_DATA) && csr.status.mprv && "
            "privilegeService.isMachine()\n"
            "        val asSupervisor = privilegeService.isSupervisor() || asMpp && pipeline(MPP) === 1\n"
            "        val asUser = privilegeService.isUser() || asMpp && pipeline(MPP) === 0\n"),
    Rewrite("plugin/MmuPlugin.scala", "cacheLine.allowUser && privilegeService.isSupervisor() && !csr.status.sum || "
            "!cacheLine.allowUser && privilegeService.isUser())",
            "cacheLine.allowUser && asSupervisor && !csr.status.sum || !cacheLine.allowUser && asUser)"),
    # The ways of a set are filled in turn, not by a free-running counter.
    Rewrite("ip/InstructionCache.scala", "    val wayToAllocate = Counter(wayCount, !valid)\n",
            "    val wayToAllocate = if(wayCount == 1) U(0, 0 bits) else interlock.WayOfSet(wayCount, wayLineCount, "
            "address(lineRange), flushCounter, fire)\n"),
    Rewrite("ip/InstructionCache.scala", "U(bankId) - wayToAllocate.value\n", "U(bankId) - wayToAllocate\n"),
    Rewrite("ip/DataCache.scala", "    val waysAllocator = Reg(Bits(wayCount bits)) init(1)\n",
            "    val waysAllocator = Bits(wayCount bits)\n"),
    Rewrite("ip/DataCache.scala",
            "    when(!valid){\n      waysAllocator := (waysAllocator ## waysAllocator.msb).resized\n    }\n",
            "    waysAllocator := (if(wayCount == 1) B(1, 1 bits) else UIntToOh(interlock.WayOfSet(wayCount, "
            "wayLineCount, baseAddress(lineRange), stageB.flusher.counter, done), wayCount))\n"),
    # WFI and SFENCE.VMA of user mode are illegal.
    Rewrite("plugin/CsrPlugin.scala", "when(arbitration.isValid && input(ENV_CTRL) === EnvCtrlEnum.WFI){",
            "when(arbitration.isValid && input(ENV_CTRL) === EnvCtrlEnum.WFI && privilege =/= 0){"),
    Rewrite("plugin/CsrPlugin.scala", "        //Manage ECALL instructions\n",
            "        when(arbitration.isValid && privilege === 0 && "
            "(input(IS_SFENCE_VMA) || input(ENV_CTRL) === EnvCtrlEnum.WFI)) {\n"
            "          illegalInstruction := True\n"
            "        }\n\n        //Manage ECALL instructions\n"),
    Rewrite("plugin/CsrPlugin.scala", "when(execute.arbitration.isValid && execute.input(IS_SFENCE_VMA)) {",
            "when(execute.arbitration.isValid && execute.input(IS_SFENCE_VMA) && privilege =/= 0) {"),
    # The probe sees traps.
    Rewrite("plugin/CsrPlugin.scala", "  var utime : UInt = null\n",
            "  var utime : UInt = null\n"
            "  var trapTaken, trapIsInterrupt : Bool = null\n"
            "  var trapCode, trapPc : UInt = null\n"),
    Rewrite("plugin/CsrPlugin.scala", "      contextSwitching := jumpInterface.valid\n",
            "      contextSwitching := jumpInterface.valid\n"
            "      trapTaken = hadException || interruptJump\n"
            "      trapIsInterrupt = !hadException\n"
            "      trapCode = trapCause\n"
            "      trapPc = mepcCaptureStage.input(PC)\n"),
)


def vexriscv_sources() -> dict[str, Path]:
    """The VexRiscv sources that a cluster is made of, by their path in the package `vexriscv`."""
    spec = importlib.util.find_spec("pythondata_cpu_vexriscv")
    if spec is None or spec.origin is None:
        raise ToolError("the Python package pythondata-cpu-vexriscv is missing: run 'make setup'")
    root = Path(spec.origin).parent / "verilog/ext/VexRiscv/src/main/scala/vexriscv"
    paths = [path for folder in (".", "plugin", "ip", "ip/fpu") for path in sorted((root / folder).glob("*.scala"))]
    paths += [root / "demo/GenFull.scala", root / "demo/smp/Misc.scala"]
    sources = {path.relative_to(root).as_posix(): path for path in paths if path.name != "TestsWorkspace.scala"}
    for rewrite in REWRITES:
        if rewrite.path not in sources:
            raise ToolError(f"pythondata-cpu-vexriscv has no {rewrite.path}: install the version of requirements.lock "
                            "with 'make setup'")
    return sources


def rewritten(path: str, text: str) -> str:
    """The text of VexRiscv source `path` with its rewrites; ToolError if one does not fit."""
    for rewrite in REWRITES:
        if rewrite.path == path:
            found = text.count(rewrite.old)
            if found != rewrite.count:
                raise ToolError(f"{path} in pythondata-cpu-vexriscv has {rewrite.old.strip()!r} {found} times instead "
                                f"of {rewrite.count}: install the version of requirements.lock with 'make setup'")
            text = text.replace(rewrite.old, rewrite.new)
    return text


def _run(command: list[str], log: Path, what: str, cwd: Path = REPO) -> None:
    """Run `command` with its output in `log`; ToolError with the first line that reports an error if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as output:
        status = subprocess.run(command, cwd=cwd, stdout=output, stderr=subprocess.STDOUT,
                                env=os.environ | UTF8).returncode
    if status:
        text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
        if NO_NETWORK.search(text):
            raise ToolError(f"{what} failed: no network: Maven's repository cannot be reached (all of it in "
                            f"{log})")
        told = next((line.strip() for line in text.splitlines() if re.search(r"\[ERROR\]|Exception|error:", line)),
                    f"status {status}")
        raise ToolError(f"{what} failed: {told[:200]} (all of it in {log})")


def check_tools(run: Callable = subprocess.run) -> None:
    """ToolError if java (11 or newer) or mvn is missing or does not run."""
    mend = "install them with 'make setup' or 'apt-get install default-jdk-headless maven'"
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise ToolError(f"the CPU cluster's generator needs java and mvn, and {tool} is missing: {mend}")
        answer = run([tool, "-version"], capture_output=True, text=True, env=os.environ | UTF8)
        if answer.returncode:
            raise ToolError(f"the CPU cluster's generator needs java and mvn, and '{tool} -version' fails: {mend}")
        if tool == "java":
            version = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
            major = int(version[2] or 1) if version and version[1] == "1" else int(version[1]) if version else 0
            if major < 11:
                raise ToolError(f"the CPU cluster's generator needs java 11 or newer, and this is {major}: {mend}")


def compile_generator() -> Path:
    """The compiled generator: a folder with `classes` and the jars it needs in `jars`. Built once for all clusters."""
    sources = vexriscv_sources()
    texts = {path: rewritten(path, file.read_text()) for path, file in sources.items()}

    def build(folder: Path) -> None:
        check_tools()
        project = folder / "project"
        shutil.copytree(SCALA, project / "src/main/scala/interlock", ignore=shutil.ignore_patterns("pom.xml"))
        shutil.copy(SCALA / "pom.xml", project)
        for path, text in texts.items():
            target = project / "src/main/scala/vexriscv" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        _run([*MAVEN, "--file", str(project), "compile"], build_root() / "log/cluster-compile.log",
             "compiling the CPU cluster's generator with Maven")
        check_jars(project / "target/jars", JARS)
        (project / "target/classes").rename(folder / "classes")
        (project / "target/jars").rename(folder / "jars")
        shutil.rmtree(project)

    return cached("cluster-generator", {**texts, "interlock": SCALA, "maven": repr(MAVEN), "jars": JARS}, build)


def check_jars(folder: Path, sums: Path) -> None:
    """ToolError unless the jars in `folder` are those of `sums`, as `sha256sum *.jar` writes it, and no others."""
    wanted = {name: total for total, name in (line.split() for line in sums.read_text().splitlines())}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.jar")}
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        what = ("is another file than" if wrong[0] in wanted and wrong[0] in found else
                "was not fetched, though it is" if wrong[0] in wanted else "was fetched and is not")
        raise ToolError(f"{wrong[0]} {what} in {sums.name}: remove it from ~/.m2/repository and try again, or, if a "
                        f"version in pom.xml was changed on purpose, renew {sums.name} with sha256sum")


def write_netlist(parameters: ClusterParameters, folder: Path) -> Path:
    """Run the generator: the Verilog file of a cluster in `folder`, the same to the byte for the same parameters."""
    generator = compile_generator()
    check_tools()
    arguments = [f"{key}={value}" for key, value in asdict(parameters).items()]
    _run([*JAVA, "-cp", f"{generator / 'classes'}:{generator / 'jars'}/*", "interlock.Generate", str(folder),
          *arguments], build_root() / "log/cluster-generate.log", "generating the CPU cluster", cwd=folder)
    for other in folder.iterdir():
        if other.name != NETLIST:
            other.unlink()
    return folder / NETLIST


def generate_cluster(harts: int = 1, **params) -> Path:
    """The Verilog file of a cluster (module InterlockCluster) of `harts` harts; `params` as in ClusterParameters.

    ValueError for parameters that cannot be built, ToolError if a tool is missing or fails."""
    parameters = ClusterParameters(harts=harts, **params)
    inputs = {"generator": compile_generator().name, "parameters": repr(parameters), "java": repr(JAVA)}
    return cached("cluster", inputs, lambda folder: write_netlist(parameters, folder)) / NETLIST


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hw.cpu.generate", description=__doc__.splitlines()[0])
    for field in fields(ClusterParameters):
        kind = str if field.type is str else lambda text: int(text, 0)
        parser.add_argument("--" + field.name.replace("_", "-"), type=kind, default=field.default, metavar="VALUE",
                            help=f"default {field.default}")
    arguments = parser.parse_args()
    try:
        print(generate_cluster(**vars(arguments)))
    except (ToolError, ValueError) as error:
        print(f"hw.cpu.generate: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
