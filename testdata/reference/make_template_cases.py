"""Writes template/cases.json: our own small templates, one for each rule of the language, rendered by transformers.

Usage: python make_template_cases.py
Needs: pip install -r template/requirements.txt

An error is its class and, where jinja2 knows it, the line of the template; text with the address of an object is left
out, as it means nothing. Output is the same for the same input.
"""

import json
import pathlib

import jinja2
from transformers.utils import chat_template_utils

from make_template import FixedClock, NOW, spans_in_bytes
from template_cases import EXPRESSIONS, TEMPLATES, VALUES

chat_template_utils.datetime = FixedClock
OUT = pathlib.Path(__file__).parent / "template"


def line(error):
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    found, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def case(template):
    row = {"template": template}
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        if "generation" in template:
            row["text"], spans = chat_template_utils._render_with_assistant_indices(compiled, **VALUES | {"tools": None, "documents": None, "add_generation_prompt": None})
            row["spans"] = spans_in_bytes(row["text"], spans)
        else:
            row["text"] = compiled.render(**VALUES)
        if " at 0x" in row["text"]:
            row = {"template": template, "address": True}
    except Exception as e:  # of whatever class: it is the class that is compared
        row |= {"error": type(e).__name__, "line": line(e)}
    return row


def main():
    rows = [case("{{ " + e + " }}") for e in EXPRESSIONS] + [case(t) for t in TEMPLATES]
    text = [json.dumps(row, ensure_ascii=False) for row in rows]
    assert len(set(text)) == len(text), [t for t in text if text.count(t) > 1]
    (OUT / "cases.json").write_text(
        '{"now": ' + json.dumps(NOW) + ',\n"values": ' + json.dumps(VALUES, ensure_ascii=False) + ',\n"cases": [\n' + ",\n".join(text) + "\n]}\n")
    print(len(rows), "cases,", sum("error" in r for r in rows), "of them errors")


main()
