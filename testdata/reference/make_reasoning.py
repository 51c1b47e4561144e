"""Writes render/reasoning.json: under which keys a chat template finds what an assistant message reasons.

Needs: requirements.txt.

transformers fills the keys before it renders. Each case holds the messages, a template, and the text that
render_jinja_template makes of them; the first template writes the messages as they reach it. Output is the same for the
same input.
"""

import json
import pathlib

from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).parent
OWN = HERE / "../../internal/text/render/testdata"

CALL = [{"id": "call_0", "type": "function", "function": {"name": "hash", "arguments": {"text": "a"}}}]
RESULT = {"role": "tool", "tool_call_id": "call_0", "name": "hash", "content": "0cc1"}
REASONS = [
    {"reasoning_content": "r"}, {"thinking": "t"}, {"reasoning": "s"}, {"thinking": "t", "reasoning_content": "r"}, {"reasoning": "s", "thinking": "t"},
    {"reasoning_content": None, "thinking": "t"}, {"reasoning_content": "r", "thinking": None}, {"reasoning_content": "", "thinking": "t"},
    {"reasoning_content": None, "thinking": None, "reasoning": "s"}, {"reasoning": None}, {},
]
TEMPLATES = {"messages": "{{ messages | tojson }}"} | {name: (OWN / f"{name}.jinja").read_text() for name in ("channels", "thinker")}


def main():
    rows = []
    for reason in REASONS:
        messages = [{"role": "user", "content": "Hash a."}, {"role": "assistant", "content": ""} | reason | {"tool_calls": CALL}, RESULT]
        for name, template in TEMPLATES.items():
            texts, _ = render_jinja_template([messages], chat_template=template, add_generation_prompt=True)
            rows.append({"template": name, "messages": messages, "text": texts[0]})
    # Whoever has the key, has it filled, and what is no text stays as it is.
    odd = [{"role": "user", "content": "q", "thinking": "u"}, {"content": "a", "reasoning": {"steps": [1, None]}, "role": "assistant"}]
    texts, _ = render_jinja_template([odd], chat_template=TEMPLATES["messages"])
    rows.append({"template": "messages", "messages": odd, "text": texts[0]})
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (HERE / "render/reasoning.json").write_text(f"[\n{lines}\n]\n")
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
