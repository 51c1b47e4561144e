"""Writes schedules.json: the factors of the learning rate that transformers' schedules give.

Usage: python make_schedules.py
Needs: requirements.txt.

Each row has a schedule's name, its steps of warm-up, all its steps, and the factor at step 0, 1, ... of them.
"""

import json
import pathlib

import torch
import transformers

CASES = [(total, warmup) for total in (1, 2, 7, 10, 50) for warmup in sorted({0, 1, total // 10, total // 3, total})]


def schedules(optimizer, warmup, total):
    return {
        "constant": transformers.get_constant_schedule_with_warmup(optimizer, warmup),
        "linear": transformers.get_linear_schedule_with_warmup(optimizer, warmup, total),
        "cosine": transformers.get_cosine_schedule_with_warmup(optimizer, warmup, total),
    }


def main():
    rows = []
    for total, warmup in CASES:
        for name in ("constant", "linear", "cosine"):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
            schedule = schedules(optimizer, warmup, total)[name]
            factors = []
            for _ in range(total + 1):
                factors.append(round(schedule.get_last_lr()[0], 12))
                optimizer.step()
                schedule.step()
            rows.append({"schedule": name, "warmup": warmup, "total": total, "factors": factors})
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    (pathlib.Path(__file__).parent / "schedules.json").write_text(text)


main()
