"""Encodes 10 MB of mixed text with hone and with Hugging Face's tokenizers, each on one thread, one after the other.

Usage: python bench_tokenizers.py [NAME ...]   (vocabularies that make_tokenizers.py has fetched)

The text: half source code (Python's own library), the rest words of many scripts, JSON, numbers and emoji, in lines and
paragraphs. Given in pieces of about 4 kB, since that is a message; the best of three rounds counts for both.
"""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer

import make_tokenizers
import tokenizer_texts as texts

ROOT = pathlib.Path(__file__).parent.parent.parent
CACHE = pathlib.Path.home() / ".cache" / "hone" / "tokenizers"
SIZE = 10_000_000


def mixed():
    out, size = [], 0
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace").replace("\0", "")
        for start in range(0, len(text), 4000):
            out.append(text[start : start + 4000])
            size += len(out[-1].encode())
        if size > SIZE / 2:
            break
    d = texts.Draw(1)
    while size < SIZE:
        line = []
        while len(line) < 600:
            group = texts.WORDS if d.pick(10) < 8 else d.of([texts.CODE, texts.DIGITS, texts.EMOJI])
            line.append(d.of(group) + ("\n\n" if d.pick(40) == 0 else " "))
        out.append("".join(line))
        size += len(out[-1].encode())
    return out


def fetch(name):
    if not (CACHE / f"{name}.json").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        make_tokenizers.fetch(CACHE)


def write(path, parts):
    path.write_text("\0".join(parts), encoding="utf-8", newline="")


def reference(name, parts):
    """Returns the MB/s of three rounds, and the number of ids."""
    t = Tokenizer.from_file(str(CACHE / f"{name}.json"))
    size, rounds = sum(len(p.encode()) for p in parts), []
    for _ in range(3):
        start = time.perf_counter()
        n = sum(len(t.encode(p, add_special_tokens=False).ids) for p in parts)
        rounds.append(size / 1e6 / (time.perf_counter() - start))
    return rounds, n


def main():
    names = sys.argv[1:] or ["llama3", "qwen3", "gpt4o", "deepseek_v3", "llama2", "gemma3"]
    parts = mixed()
    size = sum(len(p.encode()) for p in parts)
    print(f"{size} bytes in {len(parts)} texts; load average before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "text"
        write(file, parts)
        for name in names:
            rounds, n = reference(name, parts)
            command = ["go", "test", "./internal/text/tokenizer", "-run", "^$", "-bench", "^BenchmarkMixed$", "-cpu", "1", "-count", "3", "-benchtime", "1x",
                       "-args", "-tokenizers", str(CACHE), "-name", name, "-text", str(file)]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
            ours = [float(x) for x in re.findall(r"([0-9.]+) MB/s", done)]
            ids = {int(float(x)) for x in re.findall(r"([0-9.e+]+) ids", done)}
            assert ids == {n}, f"{name}: {n} ids by the reference, {ids} by hone"
            print(f"{name:12} hone {max(ours):6.1f} MB/s   tokenizers {max(rounds):6.1f} MB/s   ratio {max(ours) / max(rounds):5.2f}   {n} ids", flush=True)


if __name__ == "__main__":
    main()
