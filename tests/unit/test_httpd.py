"""The web server of user mode (user/ports/httpd.c), built for the host under sanitizers: its answers to curl, Python's
http.client and hostile clients.

HTTPD_REQUESTS=20000 sends more damaged requests."""

import contextlib
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from sim.images import programs
from tests.limited import run_limited

LONG = int(os.environ.get("HTTPD_REQUESTS", "150"))
PATIENCE = 60           # seconds until a server that does not answer counts as hung
SIZES = (0, 1, 499, 4096, 7000, 8191, 8192, 8193, 200_000)
GET = b"GET /1 HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    port, out = programs.ports()["httpd"], tmp_path_factory.mktemp("httpd")
    llhttp = programs.sources(port)
    parser = [path for pattern in port.sources for path in sorted(llhttp.glob(pattern))]
    subprocess.run(["gcc", "-O1", "-w", f"-I{llhttp}/include", "-c", *parser], cwd=out, check=True)
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover", f"-I{llhttp}/include", programs.USER / "ports/httpd.c",
                    *sorted(out.glob("*.o")), "-o", out / "server"], check=True)
    return out / "server"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    (folder / "top").mkdir()
    root = folder / "top/root"
    (root / "folder/empty").mkdir(parents=True)
    for size in SIZES:
        (root / str(size)).write_bytes(random.Random(size).randbytes(size))
    (root / "folder/index.html").write_bytes(b"<p>index\n")
    (root / "a b%.txt").write_bytes(b"odd name\n")
    (folder / "top/secret").write_bytes(b"secret\n")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    return root


class Server:
    def __init__(self, program, folder, *options):
        self.process = subprocess.Popen([program, "-p", "0", *options, folder], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.fullmatch(r"httpd: port (\d+)\n", self.process.stdout.readline())[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def asks(self, target, method="GET", **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, target, headers=fields)
        answer = connection.getresponse()
        return answer, answer.read()

    def raw(self, sent, then_closes=True):
        """The bytes received until the server closes."""
        with self.connect() as client:
            with contextlib.suppress(ConnectionError):      # it may have refused the rest already
                client.sendall(sent)
                if then_closes:
                    client.shutdown(socket.SHUT_WR)
            return received(client)

    def worker(self, other_than):
        """The only worker's process, when there is one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if found not in ([], [other_than]):
                return found[0]
            time.sleep(0.01)
        raise TimeoutError

    def ends(self):
        """Its last line, as a dictionary."""
        self.process.send_signal(signal.SIGTERM)
        said, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0 and not errors, errors
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", said)}


def received(client):
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def served(program, folder, *options, died=0):
    server = Server(program, folder, *options)
    try:
        yield server
        assert server.ends()["died"] == died
    finally:
        if server.process.poll() is None:
            server.process.kill()


@pytest.fixture(scope="module")
def server(built, files):
    with served(built, files) as one:
        yield one


def status_of(answer):
    return int(re.match(rb"HTTP/1\.1 (\d{3}) ", answer)[1]) if answer else None


def test_files_come_byte_for_byte_over_one_connection(server, files):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    names = [*SIZES] * 3
    random.Random(1).shuffle(names)
    for number, size in enumerate(names):
        connection.request("HEAD" if number % 4 == 3 else "GET", f"/{size}")
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200 and int(answer.headers["Content-Length"]) == size
        assert body == (b"" if number % 4 == 3 else (files / str(size)).read_bytes())
        assert answer.headers["Connection"] == "keep-alive"


def test_curl_gets_files_and_reuses_its_connection(server, files, tmp_path):
    urls = [f"http://127.0.0.1:{server.port}/{size}" for size in SIZES[1:]]
    words = [word for number, url in enumerate(urls) for word in ("-o", tmp_path / str(number), url)]
    done = run_limited(["curl", "-sS", "--fail", "-w", "%{num_connects} %{http_version}\n", *words], PATIENCE,
                       capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 1.1", *["0 1.1"] * (len(urls) - 1)]
    for number, size in enumerate(SIZES[1:]):
        assert (tmp_path / str(number)).read_bytes() == (files / str(size)).read_bytes()
    # A body, and the interim answer that it waits for.
    done = run_limited(["curl", "-sS", "-H", "Expect: 100-continue", "-X", "GET", "--data-binary", "@-", "-w",
                        "%{http_code}", "-o", "/dev/null", urls[0]], PATIENCE, capture_output=True, text=True,
                       input="x" * 3000)
    assert done.stdout == "200", done.stderr


@pytest.mark.parametrize("target, status", [
    ("/1", 200), ("//1", 200), ("/./1", 200), ("/folder/../1", 200), ("/folder/empty/../../1", 200), ("/%31", 200),
    ("/1?query", 200), ("/1?../../..", 200), ("http://other/1", 200), ("http://other", 404), ("/folder/", 200),
    ("/folder/./", 200), ("/folder/empty/..", 200), ("/folder", 301), ("/folder/empty/", 404), ("/", 404), ("", 404),
    ("/none", 404), ("/1/", 404), ("/1/2", 404), ("/loop", 404), ("/fifo", 404), ("/a%20b%25.txt", 200),
    ("/" + "x" * 300, 404), ("/..", 400), ("/../secret", 400), ("/%2e%2e/secret", 400), ("/.%2E/secret", 400),
    ("/folder/../../secret", 400), ("/folder/..%2f../secret", 400), ("/../root/1", 400), ("http://x/../secret", 400),
    ("/..%00/1", 400), ("/1%00", 400), ("/%", 400), ("/%3", 400), ("/%zz", 400), ("/%-1", 400), ("/%0x31", 400),
    ("*", 400), ("/" + "x" * 3000, 414), ("/...", 404), ("/.../../1", 200), ("/..x/../1", 200),
])
def test_what_a_path_names_is_below_the_folder(server, target, status):
    method = "GET" if target else "HEAD"
    answer = server.raw(f"{method} {target or '/'} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert status_of(answer) == status and b"secret" not in answer.partition(b"\r\n\r\n")[2]


def test_a_folder_s_name_without_a_slash_is_sent_on_to_it(server):
    for target, location in (("/folder", "/folder/"), ("//folder?a=b", "/folder/?a=b"), ("http://x/folder", "/folder/"),
                             ("/folder/empty/../../folder", "/folder/empty/../../folder/")):
        answer, _ = server.asks(target)
        assert (answer.status, answer.headers["Location"]) == (301, location)
    assert server.asks("/folder/")[1] == b"<p>index\n"


def requests():
    """(bytes, the statuses of the answers, whether the server closes by itself)."""
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        yield f"{method} /1 HTTP/1.1\r\nHost: x\r\n\r\n".encode() + GET + b"\r\n", [405, 200], False
    yield b"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + GET + b"\r\n", [405, 200], False
    yield b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", [405], False
    for unknown in (b"BREW /1 HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\0", b"GET\r\n\r\n"):
        yield unknown, [501], True
    for version, status in ((b"2.0", 505), (b"0.9", 505), (b"1.5", 505), (b"3", 505)):
        yield b"GET /1 HTTP/" + version + b"\r\nHost: x\r\n\r\n", [status], True
    for bad in (b"GET /1 HTTP/1.1\r\n\r\n", GET + b"Host: y\r\n\r\n", GET + b"no colon\r\n\r\n",
                GET + b" folded\r\n\r\n",
                GET + b"Content-Length: x\r\n\r\n", GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
                GET + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", GET + b"a\0b: c\r\n\r\n",
                GET + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
                GET + b"Content-Length: -1\r\n\r\n", GET + b"Content-Length: 99999999999999999999999\r\n\r\n"):
        yield bad, [400], True
    yield GET + b"X: " + b"y" * 9000 + b"\r\n\r\n", [431], True
    yield GET + b"X: y\r\n" * 3000 + b"\r\n", [431], True
    yield b"GET /" + b"x" * 100_000, [414], True
    yield GET + b"Content-Length: 65537\r\n\r\n", [413], True
    yield GET + b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"z" * 4096 + b"\r\n" * 1 + (
        b"1000\r\n" + b"z" * 4096 + b"\r\n") * 20, [413], True
    yield GET + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;" + b"e" * 200_000, [413], True
    yield GET + b"Expect: a miracle\r\n\r\n", [417], True
    yield GET + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab" + GET + b"\r\n", [100, 200, 200], False
    yield b"POST /1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", [405], True
    yield GET + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + GET + b"\r\n", [200, 200], False
    yield GET + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" + GET + b"\r\n", [200, 200], False
    yield GET + b"Connection: close\r\n\r\n", [200], True
    yield b"GET /1 HTTP/1.0\r\n\r\n", [200], True
    yield b"GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 2, [200, 200], False
    yield b"\r\n\r\n" + GET + b"\r\n", [200], False
    yield GET, [400], False
    yield b"G", [400], False
    yield b"", [], False


@pytest.mark.parametrize("sent, statuses, closes", list(requests()))
def test_answers_to_good_and_bad_requests(server, sent, statuses, closes):
    """A client that closes its half, and one that does not where the server is to close."""
    for then_closes in (True, False)[:1 + closes]:
        answer = server.raw(sent, then_closes)
        found = list(map(int, re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)))
        assert found == statuses
    if statuses and statuses[0] == 405:
        assert b"\r\nAllow: GET, HEAD\r\n" in answer


def test_pipelined_requests_are_answered_in_order_however_they_are_cut(server, files):
    draws = random.Random(3)
    for piece in (1, 7, 100, 5000, 100_000):
        sizes = [draws.choice(SIZES) for _ in range(30 if piece > 1 else 5)]
        sent = b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % size for size in sizes)
        with server.connect() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(sent), piece):
                client.sendall(sent[at:at + piece])
            client.shutdown(socket.SHUT_WR)
            answer = received(client)
        for size in sizes:
            head, _, answer = answer.partition(b"\r\n\r\n")
            assert status_of(head) == 200 and answer[:size] == (files / str(size)).read_bytes()
            answer = answer[size:]
        assert not answer


def test_damaged_requests_end_no_worker(server):
    """Any answer will do, or none; the fixture sees whether a worker died of one."""
    whole = [sent for sent, _, _ in requests() if sent and len(sent) < 1000]
    for number in range(LONG):
        draws = random.Random(number)
        damaged = bytearray(b"".join(draws.choices(whole, k=2)))
        for _ in range(draws.randrange(1, 6)):
            at = draws.randrange(len(damaged))
            damaged[at:at + draws.randrange(3)] = draws.choice((b"", b"\0", b"%", b"\r\n", b"..", draws.randbytes(3)))
        with contextlib.suppress(ConnectionError):
            server.raw(bytes(damaged))
    assert server.asks("/1")[0].status == 200


def test_whoever_is_too_slow_is_let_go(built, files):
    with served(built, files, "-t", "1", "-w", "2") as server:
        assert server.raw(b"", False) == b""
        assert status_of(server.raw(GET, False)) == 408
        with server.connect() as client:
            client.sendall(GET + b"\r\n")
            assert status_of(received(client)) == 200       # and was closed when no other request came
        idle = [server.connect() for _ in range(2)]         # both workers
        assert server.asks("/1")[0].status == 200
        for client in idle:
            client.close()


def test_a_worker_that_dies_is_replaced(built, files):
    with served(built, files, "-w", "1", died=1) as server:
        first = server.worker(other_than=None)
        os.kill(int(first), signal.SIGKILL)
        server.worker(other_than=first)
        assert server.asks("/1")[0].status == 200


def test_it_counts(built, files):
    server = Server(built, files, "-w", "3")
    for target in ("/499", "/none", "/8192"):
        server.asks(target)
    assert server.ends() == {"workers": 3, "connections": 3, "requests": 3, "bytes": 499 + 8192, "refused": 1,
                             "died": 0}


@pytest.mark.parametrize("words, status", [
    ([], 2), (["-p", "x", "."], 2), (["-p", "65536", "."], 2), (["-w", "0", "."], 2), (["-w", "257", "."], 2),
    (["-t", "0", "."], 2), (["-x", "."], 2), ([".", "."], 2), (["/none"], 1), (["-p", "-1", "."], 2)])
def test_bad_options_are_told(built, words, status):
    done = run_limited([built, *words], PATIENCE, capture_output=True, text=True)
    assert done.returncode == status and "httpd" in done.stderr and len(done.stderr.splitlines()) <= 2
