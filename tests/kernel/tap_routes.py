"""`python tap_routes.py COMMAND...` in a network namespace of its own: this machine's Linux as the router of the
machine that the simulator's command runs: it answers for 192.168.7.7, and redirects what goes to 172.16.0.0/16."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.kernel.tap_ping import PATIENCE, make_tap  # noqa: E402

PORT = 7


def answer_one(listening):
    line, _ = listening.accept()
    with line:
        while some := line.recv(4096):
            line.sendall(some)


def main():
    make_tap()
    for words in ("addr add 192.168.7.7/32 dev lo", "neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev tap0",
                  "route add 172.16.0.0/16 via 10.0.0.9 dev tap0"):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("ip_forward", "conf/all/send_redirects", "conf/tap0/send_redirects"):
        Path("/proc/sys/net/ipv4", name).write_text("1")
    listening = socket.create_server(("192.168.7.7", PORT))
    threading.Thread(target=answer_one, args=(listening,), daemon=True).start()
    sys.exit(subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, timeout=PATIENCE).returncode)


if __name__ == "__main__":
    main()
