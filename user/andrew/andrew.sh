# The Modified Andrew Benchmark: andrew.sh TREE JOBS EACH COMPILED. /TREE is made again as /work; each file is looked at and read
# through; of what /TREE.compile lists, the first COMPILED are compiled, for riscv64. A command has one file (EACH=file), or all
# of a folder (EACH=folder). What does not depend on each other is done by JOBS processes at once.
# Without a /TREE it makes a folder, and no more.
set -e
PATH=/bin
tree=/$1 jobs=$2 each=$3 compiled=$4
[ -d $tree ] || exec mkdir /work

# every COMMAND WORD...: the command for each word, every JOBSth by the same process.
every() {
    command=$1
    shift
    if [ $jobs = 1 ]; then
        for word; do $command $word; done
        return
    fi
    job=0 others=
    while [ $job -lt $jobs ]; do
        (
            n=0
            for word; do
                [ $((n % jobs)) != $job ] || $command $word
                n=$((n + 1))
            done
        ) &
        others="$others $!" job=$((job + 1))
    done
    for other in $others; do wait $other; done
}

if [ $each = file ]; then
    copy() { cp $tree/$1 $1; }
    look() { ls -l $1 >/dev/null; }
    scan() {
        grep -c kangaroo $1 >/dev/null || [ $? = 1 ]
        wc $1 >/dev/null
    }
else
    copy() { cp $tree/$1/* $1; }
    look() { ls -l $1 >/dev/null; }
    scan() {
        grep -c kangaroo $1/* >/dev/null || [ $? = 1 ]
        wc $1/* >/dev/null
    }
fi
[ $1 = whole ] || phase() { :; }
compile() { tcc -w -c $1.c -o $1.o; }

# words FILE N: its first N lines, as words.
words() {
    found= n=0
    while [ $n -lt $2 ] && read word; do found="$found $word" n=$((n + 1)); done <$1
}

phase directories
words $tree.folders 1000
folders=$found
words $tree.${each}s 1000
items=$found
mkdir /work
cd /work
mkdir -p $folders
phase copy
every copy $items
phase stat
every look $items
find . >/dev/null
du -s . >/dev/null
phase read
every scan $items
phase compile
words $tree.compile $compiled
every compile $found
objects=
for name in $found; do objects="$objects $name.o"; done
[ -z "$objects" ] || tcc -ar all.a $objects
phase end
