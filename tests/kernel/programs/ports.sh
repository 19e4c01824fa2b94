# Lua and bzip2: what leaves by the console, the test compares on the host.
/lua-checked /check.lua /few || exit 1
/bzip2 -1c /input | base64 && echo "@sum of=input" || exit 1
/bzip2 -1c /input | /bzip2 -dc | cksum
