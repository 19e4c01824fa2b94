"""The commands that come with the shell beside the host's: each line of CASES is given to a shell in a folder of its
own, on this host and on the machine. Its output, its status, and the folder's contents afterwards are compared;
its standard error is each program's own.

    python -m tests.kernel.commands [--part 8] [--harts 2]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sim.images import programs
from tests.kernel.judge import FAST
from tests.kernel.machine import DEVICES, DISK_BUILDS, boot
from tests.kernel.power_cuts import host

# Each one's folder at first: contents of files, targets of links, or None for a folder.
TREE = {"f": "one\ntwo\nthree\n", "g": "two\nfour\n", "empty": "", "-r": "a name that looks like an option\n",
        "a b": "with a blank\n", "ä": "with a letter\n", "s": None, "s/a": "in s\n", "s/b": None, "s/b/c": "deep\n",
        "s/link": Path("a"), "t": None, "t/a": "in t\n", "hollow": None, "way": Path("f"), "lost": Path("nowhere"),
        "to-s": Path("s"), "ten": "".join(f"{n}\n" for n in range(1, 11)), "no-end": "last line without an end",
        "bytes": "\x00\x01\x7f\tx\n"}
CASES = """
cp f f
cp f new
cp f g
cp f t
cp f g t
cp f g new
cp -r s new
cp -r s t
cp -r s/ t
cp -r s/. t
cp s new
cp -r s s
cp -r s/b s/b/new
cp -r t t/new
cp -r to-s new
cp -r to-s/ new
cp -R way new
cp way new
cp -P way new
cp lost new
cp f lost
cp f way
cp f new/
cp f nowhere/new
cp none new
cp f ""
cp
cp f
cp -- -r new
cp -r
cp ./-r new
cp "a b" ä new
cp "a b" ä t
cp -f f s
cp -n f g
cp f t/a/x
cp hollow t
mv f new
mv f g
mv f f
mv f t
mv f g t
mv s new
mv s t
mv s/ new
mv s t/
mv s s
mv s s/b
mv s s/new
mv f t/
mv f g/
mv f new/
mv hollow s
mv s hollow
mv way new
mv lost new
mv to-s new
mv to-s/ new
mv none new
mv none t
mv t/a .
mv -- -r new
mv -n f g
mv f hollow/
mv f s/a
mv s f
mv f nowhere/new
mv
rm f
rm none
rm -f none
rm -f
rm
rm s
rm -r s
rm -r s f
rm -r to-s
rm -r to-s/
rm -r none f
rm -rf none f
rm -- -r
rm ./-r
rm -r .
rm -r ..
rm -r s/.
rm -d hollow
rm -d s
rm way
rm lost
rm "a b" ä
rm f f
rm t/a/x
rmdir hollow
rmdir s
rmdir f
rmdir none
rmdir -p hollow
rmdir to-s
rmdir hollow/
rmdir hollow t s
mkdir new
mkdir s
mkdir f
mkdir -p s
mkdir -p new/a/b
mkdir new/a
mkdir -p f/x
mkdir -m 700 new
mkdir new/
mkdir new other
mkdir lost
ln f new
ln -s f new
ln f g
ln -s f g
ln -f f g
ln -sf f g
ln f f
ln s new
ln -s s new
ln f t
ln -s ../f t
ln none new
ln -s none new
ln f g t
ln way new
chmod 600 f
chmod u-w f
chmod a+x,g-r f
chmod 7777 none
chmod -R 700 s
chmod x f
chmod = f
touch new
touch f
touch -c new
touch s
touch nowhere/new
cat f g
cat none f
cat - f <g
cat s
cat empty no-end f
cat -- -r
cat -n f
wc f g
wc -l f
wc -c f no-end
wc -w <f
wc none f
head -n 2 f
head -c 3 f
head -n 1 f g
tail -n 1 f
tail -n +2 f
tail -c 4 f
sort f
sort -r f
sort -n ten
sort -u f g
sort -k 1 ten g
uniq f
uniq -c f
cut -c 1-2 f
cut -d o -f 1 f
cut -f 2 f
comm f g
cmp f g
cmp f f
cmp f none
cmp -s f g
echo a  b
echo -n a
echo -e 'a\\tb'
echo -- a
env -i A=1 env
printf '%s-%d\\n' a 3 b 4
printf '%5.2f|%x|%c\\n' 3.14159 255 x
printf 'a\\n%%'
seq 3
seq 2 5
seq 5 -2 1
basename /a/b.c .c
basename /
basename a/
dirname /a/b
dirname a
dirname /
test -f f
test -d f
test -L way
test -e lost
test f -nt none
test 3 -lt 10
test 3x -lt 10
test a = a -a b = c
test ! ""
test -n ""
test "(" a ")"
[ -s empty ]
[ -s f
readlink way
readlink f
readlink lost
realpath way | sed 's,.*/,,'
find . | sort
find s | sort
find s -type f | sort
find . -name "*a" | sort
find . -name "[fg]" | sort
find s t -name a | sort
find . -type l | sort
find -L s | sort
find s -maxdepth 1 | sort
find s -mindepth 1 | sort
find s/b -depth
find . -newer none
find none s/b
find . -size 0 -type f
find . -empty | sort
find s/b -type f -exec cat {} ;
find s/b -type f -exec cat {} +
find s -type f -exec false {} ; -print
find s -name a -o -name c | sort
find s ! -type d | sort
find s ( -name a -o -name c ) -print | sort
find s -name b -prune -o -type f -print | sort
find s -name
find s -type q
find s -foo
find . -path "./s/*" -type f | sort
find s/b -print0 | od -c
find s -name a -delete
find s/b -delete
find s -perm -u+w -type f | sort
find "a b" ä
grep two f
grep two f g
grep -h two f g
grep -c two f g
grep -n o f
grep -v o f
grep -i TWO f
grep -l two f g empty
grep -L two f g empty
grep -q two f
grep -q nothing f
grep nothing f
grep two none
grep two none f
grep -s two none f
grep -w on f
grep -x two f g
grep -e one -e three f
grep -E "one|three" f
grep -F . f
grep -o "t[a-z]" f
grep "^t" f
grep "e$" f
grep "" empty
grep "" no-end
grep last no-end
grep -r deep s
grep -r in s t | sort
grep -m 1 o f
grep -A 1 one f
grep -B 1 three f
grep -C 1 two f
grep -f g f
grep -b two f
grep "[" f
grep -E "(" f
grep -E "t{2}" f
grep -E "o{1}" f
grep -- -r f
grep two <f
grep two - f <g
grep -H two f
grep
grep -z two f
grep x bytes
grep "o\\(n\\|u\\)" f g
sed s/o/0/ f
sed -n 2p f
sed s/o/0/g f
sed 2d f
sed -e 1d -e s/t/T/ f
sed '$d' f
sed -n '/two/,$p' f
sed 's/\\(t\\)\\(.\\)/\\2\\1/' f
sed -i s/one/1/ f
sed q f
sed y/abc/xyz/ f
sed x none
sed 'a new' f
tee new <f
tee -a g <f
xargs echo <f
xargs -n 1 echo x <f
xargs -I X echo a X b <f
xargs cat <empty
du -s hollow none
base64 f
base64 -d <no-end
cksum f g
md5sum f
sha1sum empty
od -c bytes
od -An -tx1 bytes
xxd bytes
rev f
tac f
nl f
paste f g
paste -s f
expand bytes
split -l 2 ten
truncate -s 3 f
truncate -s 20 new
tar cf new.tar s
tar cf - s/b | tar tf -
unlink f
unlink s
link f new
link f g
mkfifo new
true x
false x
yes | head -n 2
sleep 0
sleep x
pwd | sed 's,.*/,,'
which nothing-of-that-name
env nothing-of-that-name
uname -x
kill -l 15
kill -0 x
stat -c %s f
stat -c %F s
""".strip().splitlines()

# In every part: cases where a file, a folder or an option is taken for another.
ALWAYS = ("cp f f", "cp -r s/ t", "mv s/ new", "rm -- -r", "cp -r s s", "mv s s/new")
# Lines whose result differs from the host's commands, which are GNU's, and why: toybox does so everywhere.
DIFFERENT = {
    "cp -r s s": "nothing is copied, where GNU copies what was there before",
    "cp -r to-s/ new": "a slash behind a link changes nothing",
    "cp f lost": "what a link names is made",
    "mv f f": "nothing to be done is no error",
    "mv to-s/ new": "a slash behind a link changes nothing",
    "rm -r to-s/": "a slash behind a link changes nothing",
    "rm -r .": "nothing is done, without an error",
    "rm -r s/.": "nothing is done, where GNU refuses it: both leave the folder",
    "rm -d hollow": "there is no such option",
    "cat -n f": "there is no such option",
    "wc f g": "the columns are wider", "wc -c f no-end": "the columns are wider", "wc none f": "the columns are wider",
    "comm f g": "files that are not sorted are no error",
    "cmp f g": "POSIX's word is char, GNU's is byte",
    "find s -name a -delete": "what is removed is printed", "find s/b -delete": "what is removed is printed",
    "grep -r in s t | sort": "links within a folder are followed",
    "grep x bytes": "a zero ends a line's text",
    "sed x none": "the status of a missing file is 1",
    "xargs -I X echo a X b <f": "there is no such option",
    "base64 -d <no-end": "what is no digit is left out",
    "expand bytes": "a control character takes a column",
    "tar cf new.tar s": "no block is filled up to 10,240 bytes",
}


def prepared(folder: Path, part: int) -> list[int]:
    """Makes a folder with the tree for each case of a part, by their numbers."""
    chosen = [n for n, case in enumerate(CASES) if n % part == 0 or case in ALWAYS]
    (folder / "o").mkdir(parents=True)
    for n in chosen:
        for name, held in TREE.items():
            path = folder / f"w/{n}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if held is None:
                path.mkdir(exist_ok=True)
            elif isinstance(held, Path):
                path.symlink_to(held)
            else:
                path.write_text(held)
    script = ["umask 022", "PATH=$PATH:/bin"]
    for n in chosen:
        # The shell's words in `find` are quoted.
        words = (f"'{word}'" if word in ("(", ")", ";", "!") and CASES[n].startswith("find") else word
                 for word in CASES[n].split(" "))
        script += [f"cd $1/w/{n} && ( {' '.join(words)} ) >$1/o/{n} 2>/dev/null </dev/null",
                   f"echo {n} $? >>$1/o/status"]
    (folder / "cases.sh").write_text("\n".join(script) + "\n")
    return chosen


def left(folder: Path, n: int) -> str:
    """The files that a case has left, a line each."""
    lines = []
    at = folder / f"w/{n}"
    for path in sorted(at.rglob("*"), key=str):
        name = path.relative_to(at)
        if path.is_symlink():
            lines.append(f"{name} -> {os.readlink(path)}")
        elif path.is_dir():
            lines.append(f"{name}/")
        elif path.is_file():
            content = path.read_bytes()
            shown = f"{len(content)} bytes" if name.suffix == ".tar" else repr(content)
            lines.append(f"{name} {path.stat().st_mode & 0o777:o} {shown}")
        else:
            lines.append(f"{name} is special")
    return "\n".join(lines)


def results(folder: Path, chosen: list[int]) -> dict[int, str]:
    statuses = dict(map(int, line.split()) for line in (folder / "o/status").read_text().splitlines())
    return {n: f"status {statuses.get(n)}\n{(folder / f'o/{n}').read_bytes()!r}\n{left(folder, n)}" for n in chosen}


def on_host(folder: Path, part: int) -> dict[int, str]:
    chosen = prepared(folder, part)
    subprocess.run(["sh", "cases.sh", folder], cwd=folder, check=True, timeout=300, stdin=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    return results(folder, chosen)


def on_machine(folder: Path, part: int, harts: int) -> dict[int, str]:
    files = folder / "files"
    chosen = prepared(files, part)
    disk = folder / "disk.img"
    disk.write_bytes(bytes((1024 + 48 * len(chosen)) << 10))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", 1024, "-I", 128,
         "-N", 128 + 40 * len(chosen), "-d", files, disk)
    bootargs = f"run=user program=/bin/sh args=/cases.sh,/ root=disk0 hz=1000 {FAST}"
    run = boot(folder / "run", harts, "cli-optim", bootargs,
               options=DISK_BUILDS["cli-optim"], machine=DEVICES, files=programs.commands(),
               more=["--disk", f"{disk},write=copy,profile=fast"], max_cycles=4_000_000_000, hang_cycles=400_000_000)
    assert run.status == 0, run.report()
    after, copy = folder / "run/disk0.img", folder / "after"
    copy.mkdir()
    host("e2fsck", "-fn", after)
    for name in ("w", "o"):
        host("debugfs", "-R", f"rdump /{name} {copy}", after)
    return results(copy, chosen)


def compared(folder: Path, part: int = 1, harts: int = 1) -> tuple[int, list[str]]:
    """The number of cases compared, and differences that are not listed."""
    theirs, ours = on_host(folder / "host", part), on_machine(folder / "machine", part, harts)
    wrong = [f"{CASES[n]}\n  host     {theirs[n]}\n  machine  {ours[n]}" for n in theirs
             if (theirs[n] != ours[n]) != (CASES[n] in DIFFERENT)]
    return len(theirs), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, default=1, help="one of so many cases")
    parser.add_argument("--harts", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, wrong = compared(Path(folder), given.part, given.harts)
    print(f"{count} lines compared, {len(wrong)} differ", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
