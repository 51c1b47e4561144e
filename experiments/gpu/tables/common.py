"""What the tables of the experiments share: rows that are read, cells, and columns."""

import json
import pathlib


def rows(path):
    """The JSON objects of a file, a line each; none where there is no file. A line that is cut off, or no object, is left out."""
    path, out = pathlib.Path(path), []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            out.append(row)
    return out


def report(path):
    """The one JSON object of a file; None where there is none."""
    path = pathlib.Path(path)
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else None


def keep(path, numbers):
    pathlib.Path(path).write_text(json.dumps(numbers, indent=1) + "\n")


def rate(i):
    """A share with its 95% interval, in percent, as hone eval measures it."""
    return f"{100 * i['mean']:.0f} [{100 * i['low']:.0f}, {100 * i['high']:.0f}] of {i['n']}" if i else "-"


def columns(table):
    """Prints rows of text, each column as wide as its widest cell."""
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip())


def evaluations(name, results, seeds, sets, numbers, systems, pairs=None):
    """Prints the evaluations RESULTS/SEED/eval-SET.json as one table, and keeps them in RESULTS/NAME.json.

    sets: {SET: its title}; numbers: {title: metric}; systems: the names that the folders of adapters have among them; pairs: the differences,
    as (old, new), None for all.
    """

    def system(folder):
        return next((s for s in systems if s in folder.split("/")), folder)

    def cells(metrics):
        return [rate((metrics or {}).get(m)) for m in numbers.values()]

    table, kept = [["SEED", "TASKS", "SYSTEM", *[n.upper() for n in numbers]]], {}
    for seed in seeds:
        for suite, title in sets.items():
            found = report(f"{results}/{seed}/eval-{suite}.json")
            if found is None:
                continue
            of = {system(folder): s.get("metrics", {}) for folder, s in found["systems"].items()}
            deltas = [{**d, "old": system(d["old"]), "new": system(d["new"])} for d in found.get("deltas", [])]
            deltas = [d for d in deltas if pairs is None or (d["old"], d["new"]) in pairs]
            for s in of:
                table.append([seed, title, s, *cells(of[s])])
            for d in deltas:
                table.append([seed, title, f"{d['new']} - {d['old']}", *cells(d.get("metrics"))])
            kept.setdefault(seed, {})[suite] = {"systems": of, "deltas": deltas}
    columns(table)
    keep(f"{results}/{name}.json", kept)
