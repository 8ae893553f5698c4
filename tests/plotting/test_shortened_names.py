"""Names that are cut in pictures."""

from okl.plotting._output_names import shorten_apart


def test_long_names_are_cut_in_the_middle():
    (name,) = shorten_apart(["x" * 30 + "y" * 30])
    assert name == "x" * 12 + "\u2026" + "y" * 11


def test_names_that_differ_in_the_middle_stay_apart():
    names = [f"the price of commodity {i} in euros a ton" for i in range(12)]
    shortened = shorten_apart([*names, "short", "short"])
    assert len(set(shortened)) == 13
    assert max(map(len, shortened)) <= 60
    assert shortened[-2:] == ["short", "short"]


def test_only_names_that_a_cut_makes_equal_are_longer():
    alone = "z" * 40
    alike = [f"the price of commodity {i} in euros a ton" for i in range(2)]
    shortened = shorten_apart([alone, *alike])
    assert len(shortened[0]) == 24
    assert len(shortened[1]) > 24


def test_what_no_length_tells_apart_is_cut_all_the_same():
    names = ["x" * 50 + middle + "x" * 50 for middle in "ab"]
    assert {len(name) for name in shorten_apart(names)} == {60}
