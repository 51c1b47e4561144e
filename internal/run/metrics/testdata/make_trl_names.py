"""Makes trl_names.txt: the names of all metrics that TRL's trainers of SFT, DPO and GRPO log, read from their source, and those of
transformers' Trainer that they are logged beside.

Needs: testdata/reference/requirements.txt
"""

import importlib.util
import pathlib
import re

HERE = pathlib.Path(__file__).parent


def source(module, name):
    root = pathlib.Path(importlib.util.find_spec(module).origin).parent
    return (root / name).read_text()


names = set()
for trainer in ("sft", "dpo", "grpo"):
    text = source("trl", f"trainer/{trainer}_trainer.py")
    names.update(re.findall(r'_metrics\[(?:mode|"train"|"eval")\]\[f?"([^"]+)"\]', text))
text = source("transformers", "trainer.py")
for name in ("loss", "grad_norm", "learning_rate"):
    assert f'logs["{name}"]' in text, name
    names.add(name)
assert 'metrics[f"{metric_key_prefix}_loss"]' in text and 'metric_key_prefix: str = "eval"' in text
names.add("eval_loss")
(HERE / "trl_names.txt").write_text("".join(f"{n}\n" for n in sorted(names)))
