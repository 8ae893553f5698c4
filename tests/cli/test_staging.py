"""Results appear whole, or not at all."""

import os
import stat

import pytest

from okl.cli.errors import UserError
from okl.cli.staging import staged_file, staged_folder


def test_a_folder_appears_at_the_end(tmp_path):
    out = tmp_path / "new" / "out"
    with staged_folder(out) as folder:
        (folder / "a.txt").write_text("a")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["a.txt"]
    assert os.listdir(tmp_path) == ["new"]


def test_results_of_before_go_and_other_files_stay(tmp_path):
    for name in ("a.txt", "b.txt", "notes.txt"):
        (tmp_path / name).write_text("old")
    with staged_folder(tmp_path, may_be=["b.txt", "c.txt"]) as folder:
        (folder / "a.txt").write_text("new")
        assert (tmp_path / "b.txt").exists()
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "notes.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"


def test_files_that_were_there_before_any_results_stay(tmp_path):
    (tmp_path / "b.txt").write_text("mine")
    with staged_folder(tmp_path, may_be=["b.txt"]) as folder:
        (folder / "a.txt").write_text("new")
    assert (tmp_path / "b.txt").read_text() == "mine"


def test_a_new_folder_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    with staged_folder(tmp_path / "out"):
        pass
    modes = [stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("usual", "out")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("staged", [staged_folder, staged_file])
def test_nothing_appears_after_an_error(tmp_path, staged, error):
    def write_and_fail():
        with staged(tmp_path / "new" / "out.csv") as path:
            (path / "a.txt" if path.is_dir() else path).write_text("half")
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert os.listdir(tmp_path) == []


def test_a_file_replaces_an_old_one_at_the_end(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    with staged_file(out) as path:
        path.write_text("new")
        assert out.read_text() == "old"
    assert out.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="cannot write"), staged_folder(tmp_path / "o"):
        pass
