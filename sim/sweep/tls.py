"""Access to a Dask cluster of ours: by the certificate in a folder that only its owner can read.

A Dask scheduler and its workers run whatever is sent to them, so what leaves this machine is encrypted, and both ends
show the certificate. It is Dask's own (Security.temporary), kept so that jobs on other machines find it on a shared
disk.
"""

import datetime
import ipaddress
import json
import shlex
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from distributed.security import Security

from sim.results.record import RecordError, write_text
from support.cache import build_root, locked

CERTIFICATE, KEY = "certificate.pem", "key.pem"
LEAST_LEFT = datetime.timedelta(days=30)    # a certificate lasts for a year


class Quoted(Security):
    """For a batch job's script: dask-jobqueue puts a worker's paths into a line of shell unquoted."""

    def get_tls_config_for_role(self, role):
        found = super().get_tls_config_for_role(role)
        return {name: shlex.quote(value) for name, value in found.items()} if role == "worker" else found


def folder_of(folder):
    """The folder of a certificate: the given one, else ours."""
    return Path(folder or build_root() / "tls").resolve()


def security(folder=None, kind=Security):
    """Dask's Security of the certificate in `folder`, made if there is no valid one; RecordError in one line."""
    folder = folder_of(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(folder / ".lock"):
            if not _lasts(folder):
                made = Security.temporary()
                (folder / KEY).unlink(missing_ok=True)
                (folder / KEY).touch(mode=0o600)
                (folder / KEY).write_text(made.tls_client_key)
                write_text(folder / CERTIFICATE, made.tls_client_cert)
        if (folder / KEY).stat().st_mode & 0o077:
            raise RecordError(f"{folder / KEY} can be read by others: chmod 600 it, or remove it for a new one")
    except (OSError, ValueError) as error:
        raise RecordError(f"no certificate in {folder}: {error}") from error
    certificate, key = str(folder / CERTIFICATE), str(folder / KEY)
    return kind(require_encryption=True, tls_ca_file=certificate, **{
        f"tls_{role}_{what}": path for role in ("client", "scheduler", "worker")
        for what, path in (("cert", certificate), ("key", key))})


def _lasts(folder):
    if not (folder / CERTIFICATE).is_file() or not (folder / KEY).is_file():
        return False
    ends = x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes()).not_valid_after_utc
    return ends - datetime.datetime.now(datetime.UTC) > LEAST_LEFT


def options(folder=None):
    """The options of `dask scheduler` and `dask worker` for it."""
    folder = folder_of(folder)
    security(folder)
    return ["--tls-ca-file", str(folder / CERTIFICATE), "--tls-cert", str(folder / CERTIFICATE), "--tls-key",
            str(folder / KEY)]


def of_address(address, plain=False, folder=None):
    """The address with its protocol, and the Security to connect with; None for plain TCP, which is for what stays on
    this machine, and where `plain` asks for it. `address` may be a scheduler's file. RecordError in one line."""
    file = Path(address)
    if file.is_file():
        try:
            address = json.loads(file.read_text())["address"]
        except (ValueError, LookupError, TypeError) as error:
            raise RecordError(f"{file} is no file of a Dask scheduler") from error
    if "://" not in address:
        address = f"{'tcp' if plain or _stays_here(f'tcp://{address}') else 'tls'}://{address}"
    if address.startswith("tls://"):
        return address, security(folder)
    if not plain and not _stays_here(address):
        raise RecordError(f"{address} is not encrypted, and any machine that reaches it can run anything: start "
                          "scheduler and workers with what './interlock certificates' prints and give tls://, "
                          "or give --plain-tcp")
    return address, None


def _stays_here(address):
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
