"""Files are written whole or not at all."""

import os
import stat

import pytest

from equipoise import files


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    target = tmp_path / "run.html"
    target.write_text("before")
    monkeypatch.setattr(files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        files.written_whole(target, lambda file: file.write(b"after"))
    assert target.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    def fails(file):
        file.write(b"half")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        files.written_whole(tmp_path / "new", fails)
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path, monkeypatch):
    """The umask belongs to the whole process: other threads would make files for everybody while it is changed."""
    monkeypatch.setattr(files.os, "umask", lambda mask: pytest.fail("the umask is changed"))
    plain = tmp_path / "plain"
    plain.write_text("")
    made = files.written_whole(tmp_path / "made", lambda file: file.write(b"all"))
    assert made.read_bytes() == b"all"
    assert stat.S_IMODE(os.stat(made).st_mode) == stat.S_IMODE(os.stat(plain).st_mode)


def test_a_file_that_waits_in_the_place_of_the_new_one_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "known")
    (tmp_path / "other").write_text("other")
    (tmp_path / ".made.known").symlink_to(tmp_path / "other")
    with pytest.raises(FileExistsError):
        files.written_whole(tmp_path / "made", lambda file: file.write(b"all"))
    assert (tmp_path / "other").read_text() == "other"
