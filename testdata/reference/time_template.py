"""Prints how long jinja2, set up by transformers, takes for what BenchmarkRender renders, in microseconds of
processor time: the median of 300 renders, and the least.

Usage: python time_template.py [more templates]
Needs: pip install -r template/requirements.txt
"""

import pathlib
import sys
import time

from transformers.utils import chat_template_utils

from make_template import variables
from template_conversations import CONVERSATIONS

values = variables(CONVERSATIONS["agent"])
for path in [pathlib.Path(__file__).parent / "template/agent.jinja", *map(pathlib.Path, sys.argv[1:])]:
    compiled = chat_template_utils._compile_jinja_template(path.read_text())
    times = []
    for _ in range(300):
        start = time.process_time()
        text = compiled.render(**values)
        times.append(time.process_time() - start)
    times.sort()
    print(f"{path.name}: {times[len(times) // 2] * 1e6:.0f} (least {times[0] * 1e6:.0f}), {len(text.encode())} bytes")
