"""Results of many fits, kept as they come, so that a long study may be interrupted.

A study compares methods on folds of sets. The result of a method on a fold of a set is
one line of a file in `reproductions/results`, and is not computed again while its line
is there. Pages are written from these lines. A `Plan` lists what has to be computed,
and is run by `python -m reproductions NAME`, or, in parts, by `python -m
reproductions.NAME --help`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"

Key = tuple[str, int, str]
Record = dict[str, Any]
# What a result is of, and what computes it.
Job = tuple[Key, Callable[[], Record]]


class Study:
    """The results of a study, by set, fold and method.

    Parameters
    ----------
    name : str
        Of the file.
    again : iterable of str
        Methods whose results are forgotten first.
    """

    def __init__(self, name: str, again: Iterable[str] = ()) -> None:
        self._path = RESULTS / f"{name}.jsonl"
        again = set(again)
        self._found: dict[Key, Record] = {}
        for record in _records(self._path):
            if record["method"] not in again:
                self._found[_key(record)] = record
        if again:
            self._write()

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def __getitem__(self, key: Key) -> Record:
        """Return the result of a method on a fold of a set."""
        return self._found[key]

    def add(self, key: Key, result: Record) -> None:
        """Keep the result of a method on a fold of a set."""
        record = dict(zip(("set", "fold", "method"), key, strict=True)) | result
        self._found[key] = record
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def of(self, name: str, method: str, n_folds: int) -> list[Record] | None:
        """Return the results on all folds of a set, None unless all are there."""
        keys = [(name, fold, method) for fold in range(n_folds)]
        if not all(key in self for key in keys):
            return None
        return [self._found[key] for key in keys]

    def of_each(
        self, name: str, methods: Iterable[str], n_folds: int
    ) -> dict[str, list[Record]]:
        """Return the results of the methods that have all of them on a set."""
        found = {method: self.of(name, method, n_folds) for method in methods}
        return {one: records for one, records in found.items() if records is not None}

    def _write(self) -> None:
        beside = self._path.with_suffix(".part")
        lines = [json.dumps(record) + "\n" for record in self._found.values()]
        beside.write_text("".join(lines))
        beside.replace(self._path)


def column(records: Iterable[Record], name: str) -> np.ndarray:
    """Return one number of each result."""
    return np.array([record[name] for record in records])


def pursue(study: Study, jobs: Iterable[Job], seconds: float = float("inf")) -> bool:
    """Do the jobs that were not done, and tell whether all were.

    Parameters
    ----------
    study : Study
    jobs : iterable of pairs
    seconds : float
        After which none is begun.
    """
    end = perf_counter() + seconds
    for key, job in jobs:
        if key in study:
            continue
        if perf_counter() > end:
            return False
        study.add(key, job())
        print(*key, flush=True)
    return True


@dataclass(frozen=True)
class Plan:
    """What a study computes, and what writes its page.

    Parameters
    ----------
    name : str
        Of the study and its page.
    jobs : callable
        Of sets and methods, yields what is to be computed.
    sets : sequence
        All sets of the study, or whatever else it goes over, of one type.
    methods : sequence of str
        All methods that can be run here.
    write : callable
        Writes the page of what was computed.
    option : str
        How the sets are called on the command line.
    """

    name: str
    jobs: Callable[[Sequence[Any], Sequence[str]], Iterable[Job]]
    sets: Sequence[Any]
    methods: Sequence[str]
    write: Callable[[], None]
    option: str = "sets"

    def run(self) -> None:
        """Compute what is missing, and write the page."""
        pursue(Study(self.name), self.jobs(self.sets, self.methods))
        self.write()

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Do what a command line asks for, all of it if it is empty."""
        parser = argparse.ArgumentParser(
            prog=f"python -m reproductions.{self.name}",
            description="Compute what is missing of a study, and write its page.",
        )
        add = partial(parser.add_argument, nargs="*")
        kind, methods = type(self.sets[0]), self.methods
        named = {"dest": "sets", "type": kind, "choices": self.sets}
        add(f"--{self.option}", default=self.sets, **named)
        add("--methods", default=methods, choices=methods)
        add("--again", default=[], choices=methods, help="methods to compute anew")
        end = "after which nothing more is begun"
        add("--seconds", nargs=None, type=float, default=float("inf"), help=end)
        given = parser.parse_args(arguments)
        study = Study(self.name, given.again)
        done = pursue(study, self.jobs(given.sets, given.methods), given.seconds)
        print("all done" if done else "more to do")
        self.write()


def _records(path: Path) -> Iterator[Record]:
    if path.exists():
        for line in path.read_text().splitlines():
            yield json.loads(line)


def _key(record: Record) -> Key:
    return record["set"], record["fold"], record["method"]
