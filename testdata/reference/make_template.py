"""Writes template/conversations.json and template/real_golden.json: real chat templates rendered by transformers.

Usage: python make_template.py          fetches the templates into the cache and writes the golden files
Needs: pip install -r template/requirements.txt

The templates are the vendors' and stay out of the repository. They are taken from two packages of the Python package
index, pinned by hash, into $HONE_REFERENCE_CACHE/templates (without the variable: ~/.cache/hone/reference). The golden
file holds each template's SHA-256, and of each conversation the SHA-256 of the text, or the class of the error, and
the spans inside {% generation %}. Output is the same for the same input, byte for byte.
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import jinja2
from transformers.utils import chat_template_utils

from template_conversations import CONVERSATIONS, NOW, SPECIAL_TOKENS

OUT = pathlib.Path(__file__).parent / "template"
CACHE = pathlib.Path(os.environ.get("HONE_REFERENCE_CACHE", pathlib.Path.home() / ".cache/hone/reference")) / "templates"

PACKAGES = [  # requirement, SHA-256 of the file, folder inside it, whether it is a source distribution
    ("trl==1.16.0", "c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396", "trl/chat_templates/", False),
    ("llama-cpp-python==0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e", "vendor/llama.cpp/models/templates/", True),
]


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(NOW)


chat_template_utils.datetime = FixedClock


def members(archive):
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as z:
            for name in z.namelist():
                yield name, lambda: z.read(name)
    else:
        with tarfile.open(archive) as t:
            for m in t:
                if m.isfile():
                    yield m.name.partition("/")[2], lambda: t.extractfile(m).read()


def fetch():
    for requirement, sha256, folder, source in PACKAGES:
        target = CACHE / requirement.partition("==")[0]
        if target.is_dir():
            continue
        with tempfile.TemporaryDirectory() as tmp:
            form = ["--no-binary", ":all:"] if source else ["--only-binary", ":all:"]
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", tmp, *form, requirement], check=True)
            (archive,) = pathlib.Path(tmp).iterdir()
            got = hashlib.sha256(archive.read_bytes()).hexdigest()
            if got != sha256:
                sys.exit(f"{archive.name}: SHA-256 is {got}, not {sha256}")
            partial = target.with_suffix(".partial")
            partial.mkdir(parents=True, exist_ok=True)
            for name, read in members(archive):
                if name.startswith(folder) and name.endswith(".jinja"):
                    (partial / name.rpartition("/")[2]).write_bytes(read())
            partial.rename(target)


def spans_in_bytes(text, spans):
    return [[len(text[:i].encode()) for i in span] for span in spans]


def render(template, variables):
    """The result as it stands in the golden file."""
    spans = []
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        if "generation" in template:
            text, spans = chat_template_utils._render_with_assistant_indices(compiled, **variables)
        else:
            text = compiled.render(**variables)
    except Exception as e:  # of whatever class: it is the class that is compared
        return {"error": type(e).__name__}
    result = {"sha256": hashlib.sha256(text.encode()).hexdigest()[:32]}
    if spans:
        result["spans"] = spans_in_bytes(text, spans)
    return result


def variables(conversation):
    base = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False}
    return base | SPECIAL_TOKENS | conversation


def main():
    fetch()
    rows = {}
    folders = [CACHE / requirement.partition("==")[0] for requirement, *_ in PACKAGES]
    for path in [OUT / "agent.jinja", *sorted(path for folder in folders for path in folder.glob("*.jinja"))]:
        source = path.read_bytes()
        template = source.decode()
        results = [render(template, variables(c)) for c in CONVERSATIONS.values()]
        rows[path.name if path.parent == OUT else str(path.relative_to(CACHE))] = {"sha256": hashlib.sha256(source).hexdigest(), "results": results}
    OUT.mkdir(exist_ok=True)
    inputs = {"now": NOW, "conversations": [{"name": n, "variables": variables(c)} for n, c in CONVERSATIONS.items()]}
    (OUT / "conversations.json").write_text(json.dumps(inputs, ensure_ascii=False, indent=1) + "\n")
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(r, separators=(',', ':'))}" for n, r in rows.items())
    (OUT / "real_golden.json").write_text("{\n" + lines + "\n}\n")
    done = [r for row in rows.values() for r in row["results"]]
    errors = [r["error"] for r in done if "error" in r]
    print(f"jinja2 {jinja2.__version__}: {len(rows)} templates, {len(done)} renders, {len(errors)} of them errors:",
          {e: errors.count(e) for e in sorted(set(errors))})


if __name__ == "__main__":
    main()
