# A shell on a disk, with commands that lie there. The first argument is what the last line says.
set -e
cd /work
mkdir -p a/b
cp /etc/text a/first
cp a/first a/b/second
echo "a line more" >>a/b/second
ln -s ../first a/b/way
cp -r a c
cat c/b/way c/b/second >c/both
mv a/b/second a/moved
rm -r c/b
cd a/b
pwd
echo "$1"
