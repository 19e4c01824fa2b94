# What bzip2 makes of /input leaves by the console, and the test compares it with the host's, which is /compressed.
/bzip2 -1c /input | base64
echo "@bzip2 restored=$(/bzip2 -dc </compressed | cksum | while read sum size; do echo $sum; done)"
