"""Runs a program of a test with a limit of processor time, so that no test depends on how busy the machine is."""

import resource
import subprocess

# A program that waits in vain uses no processor: by the clock it has this many times its limit.
CLOCK_FACTOR = 20


def run_limited(command, cpu_s, **options) -> subprocess.CompletedProcess:
    """subprocess.run(command, **options), in which SIGXCPU ends a process after `cpu_s` seconds of processor time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))

    return subprocess.run(list(map(str, command)), preexec_fn=limit, timeout=CLOCK_FACTOR * cpu_s, **options)
