"""Where code and data of an image lie: the build option `layout`.

0 is the order in which the link finds functions and data. A number N draws an order from N, in which ld.lld puts the
sections of the kernel and of user mode's programs, and from which the kernel takes where stacks, page frames, and a
program's stack and heap begin (kernel/lib/layout.h). The same N is the same image.
"""

import re

PROFILE = "profile"
LAYOUT = re.compile(rf"0|[1-9][0-9]{{0,8}}|{PROFILE}")
DOMAIN = f"0 to 999999999, or {PROFILE}"
