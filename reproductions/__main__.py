"""Run the reproductions: ``python -m reproductions [NAME ...]``."""

from __future__ import annotations

import argparse
import importlib

NAMES = (
    "okl_synth",
    "mixed_processes",
    "split_classes",
    "usps",
    "denoising",
    "sparse_synthetic",
    "all_structures",
    "negative_transfer",
    "removed_targets",
    "long_form",
    "task_defaults",
    "rivals",
    "default_search",
    "output_alphas",
    "multi_target_peers",
    "class_peers",
    "label_peers",
    "skewed_columns",
    "column_units",
    "attribute_detection",
    "satimage",
    "class_trees",
    "tree_sizes",
    "class_mixing",
    "mosaic",
    "coverage",
    "coverage_of_quantiles",
    "coverage_of_tasks",
    "stability",
    "filling_in",
    "later_outputs",
    "partly_observed",
    "when_relations_pay",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=", ".join(NAMES))
    for name in parser.parse_args().names:
        importlib.import_module(f"reproductions.{name}").run()


if __name__ == "__main__":
    main()
