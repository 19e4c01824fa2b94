"""Records on disk: whole or absent, and the message when they are not."""

import errno
import os

import pytest

from sim.results import record, report


def test_a_full_disk_leaves_the_old_file_and_one_line(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    record.write_json(path, {"a": 1})

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(record.RecordError, match=f"^the disk is full: {path} could not be written$"):
        record.write_json(path, {"a": 2})
    assert record.read_json(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize("content, said", [(None, "cannot be read: No such file"), ('{"a": [1,', "is not whole")])
def test_a_missing_or_cut_record_gets_one_line(tmp_path, content, said):
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(record.RecordError) as caught:
        record.read_json(path)
    assert said in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_directory_without_results_gets_one_line(tmp_path):
    with pytest.raises(record.RecordError, match="experiment.json cannot be read"):
        report.load(tmp_path)


@pytest.mark.parametrize("received, identical, first", [
    (b"abcd", True, None), (b"abxd", False, 2), (b"abc", False, 3), (b"abcde", False, 4), (None, False, 0)])
def test_bytes_are_compared_one_by_one(tmp_path, received, identical, first):
    if received is not None:
        (tmp_path / "blob-1.bin").write_bytes(received)
    result = record.compare_received(b"abcd", tmp_path)
    assert (result["identical"], result["first_difference"]) == (identical, first)
    assert (result["sent"], result["received"]) == (4, len(received or b""))


def test_only_host_is_left_out_of_a_comparison():
    assert record.stable({"id": "a", "run": {"cycles": 1}, "host": {"seconds": 2}}) == {"id": "a", "run": {"cycles": 1}}
