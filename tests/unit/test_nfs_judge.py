"""The server of NFS (kernel/nfs) under calls that other implementations encode, and whose answers they decode: for
version 3 pyNfsClient, for version 2 libtirpc with rpcgen's code for the protocol's definition. The host's
e2fsck and debugfs check the image afterwards."""

import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from pyNfsClient import Mount, NFSv3, Portmap, const

from tests.kernel.power_cuts import host
from tests.unit.test_kernel_host import HOST, SANITIZERS, build

AUTH = {"flavor": 1, "machine_name": "judge", "uid": 7, "gid": 8, "aux_gid": [0]}


class Server:
    """The server as a process; as a socket of pyNfsClient's it has TCP's record marks, and numbers calls."""

    def __init__(self, folder):
        self.image = folder / "image"
        self.ours, theirs = socket.socketpair()
        environment = os.environ | SANITIZERS | {"NFS_FD": str(theirs.fileno()), "NFS_IMAGE": str(self.image)}
        self.process = subprocess.Popen([build(HOST / "judge/nfs_server.c", folder)], env=environment,
                                        pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True)
        theirs.close()
        self.calls, self.reply = 0, b""

    def message(self, call):
        self.ours.sendall(struct.pack("!L", len(call)) + call)
        (size,) = struct.unpack("!L", self.take(4))
        return self.take(size)

    def take(self, size):
        taken = b""
        while len(taken) < size:
            more = self.ours.recv(size - len(taken))
            assert more, self.process.communicate()[0]
            taken += more
        return taken

    def send(self, record):
        self.calls += 1
        reply = self.message(struct.pack("!L", self.calls) + record[8:])
        assert reply[:4] == struct.pack("!L", self.calls)
        self.reply = struct.pack("!L", 0x8000_0000 | len(reply)) + reply

    def recv(self, size):
        taken, self.reply = self.reply[:size], self.reply[size:]
        return taken

    def end(self):
        self.ours.close()
        said = self.process.communicate(timeout=60)[0]
        assert self.process.returncode == 0, said
        host("e2fsck", "-fn", self.image)
        return self.image


def client(made, server):
    made.client = server
    return made


@pytest.fixture
def server(tmp_path):
    return Server(tmp_path)


def ok(result, wanted=0):
    assert result["status"] == wanted, result
    return result.get("resok", result)


def test_version_3_as_another_client_speaks_it(server):
    assert client(Portmap("server"), server).getport(const.NFS_PROGRAM, const.NFS_V3, 17) == 2049
    mount = client(Mount("server", 0, 10, AUTH), server)
    assert [export.ex_dir for export in mount.export()] == [b"/"]
    assert mount.mnt("/nowhere")["status"] == const.MNT3ERR_NOENT
    root = mount.mnt("/")["mountinfo"]["fhandle"]
    nfs = client(NFSv3("server", 0, 10, AUTH), server)
    nfs.null()
    info = ok(nfs.fsinfo(root))
    assert info["rtmax"] == info["wtmax"] == 1024 and info["properties"] == 0x1b
    assert ok(nfs.fsstat(root))["tbytes"] == 8192 << 10
    assert ok(nfs.pathconf(root))["name_max"] == 255
    folder = ok(nfs.mkdir(root, "folder", mode=0o750))["obj"]["handle"]["data"]
    made = ok(nfs.create(folder, "file", const.GUARDED, mode=0o640))
    file = made["obj"]["handle"]["data"]
    assert made["obj_attributes"]["attributes"]["uid"] == 7 and made["obj_attributes"]["attributes"]["gid"] == 8
    ok(nfs.create(folder, "file", const.GUARDED, mode=0o640), const.NFS3ERR_EXIST)
    text = "".join(chr(97 + n % 26) for n in range(3000))
    for at in range(0, len(text), 1000):
        ok(nfs.write(file, at, 1000, text[at:at + 1000], const.UNSTABLE if at else const.FILE_SYNC))
    ok(nfs.commit(file))
    read = b""
    while len(read) < len(text):
        part = ok(nfs.read(file, len(read), 700))
        assert part["count"] == len(part["data"])
        read += part["data"]
    assert read == text.encode() and part["eof"]
    attributes = ok(nfs.getattr(file))["attributes"]
    assert (attributes["size"], attributes["mode"], attributes["nlink"], attributes["type"]) == (3000, 0o640, 1, 1)
    rest_of_version_3(nfs, root, folder, file)
    ok(nfs.getattr(bytes(32)), const.NFS3ERR_BADHANDLE)
    ok(nfs.getattr(file[:20]), const.NFS3ERR_BADHANDLE)
    mount.umnt()
    image = server.end()
    assert host("debugfs", "-R", "cat /folder/file", image) == text[:2500].encode()


def rest_of_version_3(nfs, root, folder, file):
    ok(nfs.setattr(file, mode=0o600, size=2500, uid=3, gid=4, mtime_flag=const.SET_TO_CLIENT_TIME, mtime_s=9,
                   mtime_us=0))
    attributes = ok(nfs.getattr(file))["attributes"]
    assert (attributes["size"], attributes["mode"], attributes["uid"], attributes["gid"]) == (2500, 0o600, 3, 4)
    assert attributes["mtime"]["seconds"] == 9
    ok(nfs.link(file, root, "hard"))
    ok(nfs.symlink(root, "soft", "folder/file"))
    link = ok(nfs.lookup(root, "soft"))["object"]["data"]
    assert ok(nfs.readlink(link))["data"] == b"folder/file"
    for kind, name in ((const.NF3FIFO, "fifo"), (const.NF3CHR, "device"), (const.NF3SOCK, "socket")):
        made = ok(nfs.mknod(root, name, kind, mode=0o644, spec_major=4, spec_minor=5))
        assert made["obj_attributes"]["attributes"]["type"] == kind
    assert ok(nfs.access(file, 0x3f))["access"] & 1
    names, cookie = [], 0
    while True:
        part = ok(nfs.readdir(root, cookie=cookie, cookie_verf="\0" * 8, count=160))
        entry = part["reply"]["entries"]
        while entry:
            names.append(entry[0]["name"])
            cookie, entry = entry[0]["cookie"], entry[0]["nextentry"]
        if part["reply"]["eof"]:
            break
    assert sorted(names) == sorted([b".", b"..", b"folder", b"hard", b"soft", b"fifo", b"device", b"socket"])
    ok(nfs.readdirplus(root, cookie_verf="\0" * 8), const.NFS3ERR_NOTSUPP)
    ok(nfs.rename(root, "hard", folder, "moved"))
    ok(nfs.remove(folder, "moved"))
    ok(nfs.remove(folder, "moved"), const.NFS3ERR_NOENT)
    ok(nfs.rmdir(root, "folder"), const.NFS3ERR_NOTEMPTY)
    ok(nfs.lookup(file, "x"), const.NFS3ERR_NOTDIR)
    ok(nfs.create(root, "a/b", const.UNCHECKED), const.NFS3ERR_INVAL)
    ok(nfs.create(root, "n" * 256, const.UNCHECKED), const.NFS3ERR_NAMETOOLONG)


def test_version_2_as_another_client_speaks_it(server, tmp_path):
    sources = [HOST / "judge/nfs2_calls.c"]
    for name in ("nfs_prot", "mount"):
        (tmp_path / f"{name}.x").write_bytes(Path(f"/usr/include/rpcsvc/{name}.x").read_bytes())
        for option, made in (("-h", f"{name}.h"), ("-c", f"{name}_xdr.c")):
            subprocess.run(["rpcgen", option, f"{name}.x", "-o", made], cwd=tmp_path, check=True)
        sources.append(tmp_path / f"{name}_xdr.c")
    subprocess.run(["gcc", "-O1", "-Wno-unused", f"-I{tmp_path}", "-I/usr/include/tirpc", *sources, "-ltirpc", "-o",
                    tmp_path / "calls"], check=True)
    done = subprocess.run([tmp_path / "calls", str(server.ours.fileno())], pass_fds=[server.ours.fileno()],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    image = server.end()
    assert host("debugfs", "-R", "cat /folder/file", image) == bytes(97 + n % 26 for n in range(2000))
