"""A study that is interrupted goes on where it was."""

import pytest
from reproductions import study
from reproductions.study import Plan, Study


@pytest.fixture
def computed(tmp_path, monkeypatch):
    """Let results be written elsewhere; return the list of what was computed."""
    monkeypatch.setattr(study, "RESULTS", tmp_path)
    return []


def plan(computed, pages):
    def jobs(sizes, methods):
        for size in sizes:
            for method in methods:
                key = f"of {size}", 0, method
                yield key, lambda key=key: computed.append(key) or {"score": 1.0}

    def write():
        pages.append(Study("study").of("of 3", "a", 1))

    return Plan("study", jobs, (3, 8), ("a", "b"), write, option="sizes")


def test_what_was_computed_is_not_computed_again(computed):
    pages = []
    plan(computed, pages).main(["--sizes", "3", "--methods", "a"])
    assert computed == [("of 3", 0, "a")]
    assert pages[0][0]["score"] == 1.0
    plan(computed, pages).run()
    everything = [(f"of {size}", 0, method) for size in (3, 8) for method in "ab"]
    assert sorted(computed) == everything
    plan(computed, pages).main(["--again", "b"])
    assert len(computed) == 6
    assert all(key[2] == "b" for key in computed[4:])


def test_nothing_is_begun_after_the_time(computed, capsys):
    pages = []
    plan(computed, pages).main(["--seconds", "-1"])
    assert not computed
    assert pages == [None]
    assert "more to do" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "named"), [("--sizes", "5"), ("--again", "c")])
def test_what_is_not_of_the_study_is_named(computed, capsys, option, named):
    with pytest.raises(SystemExit):
        plan(computed, []).main([option, named])
    assert f"argument {option}: invalid choice" in capsys.readouterr().err
    assert not computed
