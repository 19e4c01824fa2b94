"""The simulator, the experiments and their results.

What is compiled here is found again by ccache from every checkout: paths inside the tree count relative to it."""

import os
from pathlib import Path

os.environ.setdefault("CCACHE_BASEDIR", str(Path(__file__).resolve().parents[1]))
