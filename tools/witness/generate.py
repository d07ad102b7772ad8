#!/usr/bin/env python3
"""Writes all tables: `generate.py FOLDER`, which is tests/witness. The README says what it needs."""

import importlib
import sys

CHAPTERS = ["integer", "float", "half", "quarter", "approximate", "compare", "logic", "convert", "narrow", "video", "data", "sparsity", "warp", "atomics", "control",
            "matrix", "wmma", "wgmma", "copies", "textures", "surfaces", "tensors", "launches",
            "memory", "atomic_forms", "remote", "multimem", "scopes", "reports", "scaled", "wgmma_layouts", "extremes",
            "tensor_memory", "tensor_products"]  # fmt: skip


def main():
    for chapter in CHAPTERS:
        for table in importlib.import_module(chapter).tables():
            table.write(sys.argv[1])


if __name__ == "__main__":
    main()
