"""The simulator, the experiments and their results.

ccache finds what is compiled here from every checkout: paths inside the tree are relative to it."""

import os
from pathlib import Path

os.environ.setdefault("CCACHE_BASEDIR", str(Path(__file__).resolve().parents[1]))
