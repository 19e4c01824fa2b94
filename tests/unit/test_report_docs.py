"""The module that docs/reports.md shows as an example makes a whole report."""

import re

from sim.experiments import modules
from sim.results import record, report
from support.cache import REPO


def test_the_example_makes_a_report(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", (REPO / "docs/reports.md").read_text(), re.DOTALL)
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    example = tmp_path / "example.py"
    example.write_text(code)
    modules.trust(example)
    spread = {"count": 3, "total": 21, "min": 4, "max": 9, "log2": [0, 0, 2, 1]}
    runs = [f"serial-{fifo}" for fifo in (8, 16)]
    for fifo, identity in zip((8, 16), runs, strict=True):
        folder = tmp_path / "runs" / identity
        folder.mkdir(parents=True)
        record.write_json(folder / "record.json", {
            "experiment": "example", "id": identity, "kind": "serial", "harts": 1, "sync": "cli-pessim", "options": {},
            "failure": None, "bootargs": "", "image_sha256": "", "tools": {}, "soc": {}, "received": None, "host": {},
            "parameters": {"fifo": fifo, "baud": 115200},
            "run": {"results": {"serial": [{"overruns": 16 - fifo}]},
                    "harts": [{"statistics": {"body_cycles": spread}}]}})
    record.write_json(tmp_path / "experiment.json", {
        "experiment": "example", "report": str(example), "settings": {}, "notes": [], "clock_hz": 60_000_000,
        "tools": {}, "soc": {}, "runs": runs})
    summary, tables = report.write(tmp_path)
    assert [row["overruns"] for row in summary["lost"]] == [8, 0]
    assert [table.title for table in tables] == ["Section 6.4: characters lost (paper sync)", "Characters lost"]
    shown = (tmp_path / "overruns.csv").read_text().splitlines()[1:]
    assert shown == ["cli-pessim,115200,8,8", "cli-pessim,115200,16,0"]
    page = (tmp_path / "report.html").read_text()
    assert all(f'id="plot-{name}"' in page for name in ("overruns", "sections", "lost"))
