"""Reads what hone exports with the Hub's own library, datasets, and writes what it found: read.json. export_test.go holds that against
the traces that were exported.

Needs: pip install -r requirements.txt
"""
import json
import pathlib
import tempfile

import datasets

HERE = pathlib.Path(__file__).parent


def main():
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ["hf", "hf_jsonl"]:
            data = datasets.load_dataset(str(HERE / name), cache_dir=cache)
            found[name] = {split: list(rows) for split, rows in data.items()}
        for name in ["trl", "axolotl", "pairs"]:
            data = datasets.load_dataset("json", data_files=str(HERE / f"{name}.jsonl"), cache_dir=cache)
            found[name] = {split: list(rows) for split, rows in data.items()}
    for splits in found.values():
        for rows in splits.values():
            for row in rows:
                row["tools"] = json.loads(row["tools"])  # as who trains with it does
    (HERE / "read.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")


main()
