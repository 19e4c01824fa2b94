"""Registers of a machine that can be written from outside, between two cycles (`--poke`)."""

# What `--poke` can write, by the boot argument that the kernel sets it from: its CSR in the Verilog, with a strobe if
# it acts on being written.
POKES = {"pic.read": ("link_read_latency", False), "pic.write": ("link_write_latency", False),
         "pic.read_back": ("link_read_back", False), "pic.write_back": ("link_write_back", False),
         "pic.delivery": ("link_delivery_delay", False), "pic.fall": ("link_fall_delay", False),
         "pic.jitter": ("link_jitter", False),
         "pic.seed": ("link_seed", True), "ram.latency": ("ram_read_latency", False),
         "ram.jitter": ("ram_jitter", False), "ram.seed": ("ram_seed", True),
         "cable.cut": ("cable_cut", False), "cable.noise": ("cable_noise", False),
         "node": ("node", False),   # of the host port; `--nodes` writes it (sim/harness/run/run.cpp)
         "fault": ("planted_fault", False)}   # tests/board/faulty
