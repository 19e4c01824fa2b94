"""The command `cluster`: a Dask scheduler here, and workers as jobs of a batch system."""

import shlex
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sim.commands.common import Failed


class System(StrEnum):
    """Batch systems that dask-jobqueue knows; `local` starts the jobs on this machine, to try it out."""

    SLURM = "slurm"
    PBS = "pbs"
    SGE = "sge"
    LSF = "lsf"
    OAR = "oar"
    LOCAL = "local"


def cluster(
    system: Annotated[System, typer.Argument(help="the batch system, or local")],
    jobs: Annotated[int, typer.Option(min=1, help="jobs to submit; each is one worker")] = 2,
    cores: Annotated[int, typer.Option(min=1, help="cores of a job: as many simulators run at a time in it")] = 1,
    memory: Annotated[str, typer.Option(help="memory of a job")] = "2GB",
    walltime: Annotated[str | None, typer.Option(help="how long a job may take, as the system writes it")] = None,
    queue: Annotated[str | None, typer.Option(help="queue or partition")] = None,
    account: Annotated[str | None, typer.Option(help="account to charge")] = None,
    interface: Annotated[str | None, typer.Option(help="network interface that the workers reach, such as ib0")] = None,
    directive: Annotated[list[str] | None,
                         typer.Option(help="another line of the job's header, as --constraint=avx2")] = None,
    certificates: Annotated[Path | None, typer.Option(help="folder of the certificate, on a disk that all see "
                                                           "(build/tls)")] = None,
    plain_tcp: Annotated[bool, typer.Option("--plain-tcp", help="without encryption and authentication")] = False,
    show: Annotated[bool, typer.Option("--show", help="print the job that would be submitted, and end")] = False,
):
    """Start a Dask scheduler here and workers as jobs, print its address for `run --scheduler`, wait for Ctrl-C. They
    communicate over TLS, with a generated certificate.

    Example:  ./interlock cluster slurm --jobs 8 --cores 16 --memory 16GB --walltime 04:00:00 --queue batch
    """
    import dask_jobqueue
    from dask_jobqueue.local import LocalCluster
    made: Any = LocalCluster if system is System.LOCAL else getattr(dask_jobqueue, f"{system.upper()}Cluster")
    wanted: dict[str, Any] = {"walltime": walltime, "queue": queue, "account": account, "interface": interface}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    if not plain_tcp:
        from sim.sweep.tls import Quoted, security
        wanted["security"] = security(certificates, Quoted)
    try:
        with made(python=shlex.quote(sys.executable), cores=cores, processes=1, memory=memory,
                  job_extra_directives=directive or [],
                  scheduler_options={"dashboard_address": None}, **wanted) as workers:
            if show:
                print(workers.job_script().strip())
                return
            workers.scale(jobs=jobs)
            print(workers.scheduler_address, flush=True)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        return
    except (TypeError, ValueError, OSError, RuntimeError, OverflowError) as error:
        raise Failed(f"no cluster of {system}: {str(error).splitlines()[0]}") from error


def certificates(
    folder: Annotated[Path | None, typer.Argument(help="where it is kept, on a disk that all machines see "
                                                       "(build/tls)")] = None,
):
    """Make the certificate of our Dask clusters, and print the options of `dask scheduler` and `dask worker` for it.

    Example:  ./interlock certificates /shared/tls
    Then:     dask scheduler --protocol tls:// $(./interlock certificates /shared/tls)
    """
    from sim.sweep.tls import options
    print(shlex.join(options(folder)))
