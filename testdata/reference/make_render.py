"""Writes render/golden.json: ids and assistant masks as transformers make them of templates with {% generation %}.

Usage: python make_render.py          fetches the templates as make_template.py does
Needs: pip install -r template/requirements.txt

The tokenizer is SmolLM2's with each template's special tokens added. The golden file holds our own conversations, and
for each template its SHA-256, the tokens added, and per conversation the SHA-256 of the ids up to the last one that is
trained, their number, and the runs of the mask, which begins with what is not trained. A null is a conversation that
the template refuses, or whose whole text it writes otherwise than a model would be prompted, so that no mask of one
text is right: which those are is for render to find. Output is the same for the same input.
"""

import gzip
import hashlib
import itertools
import json
import pathlib
import re

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from make_template import CACHE, fetch
from template_conversations import NOW, WEATHER, SEARCH, NOTHING, assistant, system, tool, user

HERE = pathlib.Path(__file__).parent
OUT = HERE / "render"
GENERATION = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
SPECIAL = re.compile(r"<[|｜][^<>|｜\n'\"{} ]{1,40}[|｜]>|</?s>|<(?:start|end)_of_turn>|<[a-z_]+\|>|<\|[a-z_]+>")

def thinking(text):
    return {"reasoning_content": text, "thinking": text}


CALL = ("get_weather", {"city": "Zürich & more", "days": 3})
OTHER = ("search", {"query": "a < b", "filters": {"tags": ["x"], "year": None}, "limit": 10.5})
CONVERSATIONS = {
    "one answer": {"messages": [user("Hi"), assistant("Hello there!")]},
    "system": {"messages": [system("Be brief."), user("2 + 2?"), assistant("4, of course.")]},
    "two turns": {"messages": [system("Be brief."), user("Größe?"), assistant("世界 is big."), user("Sure?"), assistant("Yes.")]},
    "call": {"messages": [user("Weather?"), assistant("", CALL), tool('{"t": 20.5}'), assistant("It is 20.5 degrees.")], "tools": [WEATHER]},
    "calls in turn": {"messages": [user("Both"), assistant("", CALL), tool("20"), assistant("", OTHER), tool("[]", 0, "search"), assistant("None.")],
                      "tools": [WEATHER, SEARCH, NOTHING]},
    "ends with a call": {"messages": [system("S"), user("Weather?"), assistant("", CALL)], "tools": [WEATHER]},
    "parallel calls": {"messages": [user("Both"), assistant("", CALL, OTHER), tool("20"), tool("[]", 1, "search"), assistant("Done.")], "tools": [WEATHER, SEARCH]},
    "reasoning": {"messages": [user("Weather?"), assistant("", CALL, **thinking("I need the weather.")), tool("20"),
                               assistant("It is 20.", **thinking("Now I know."))], "tools": [WEATHER]},
    "reasoning in two turns": {"messages": [user("A"), assistant("x", **thinking("Hm, A.")), user("B"), assistant("y", **thinking("Hm, B."))]},
}


def tokenizer(added):
    v = json.loads(gzip.decompress((HERE / "tokenizer/smollm2_vocabulary.json.gz").read_bytes()))
    vocab = {token: i for i, token in enumerate(v["tokens"] + added)}
    t = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m.split(" ")) for m in v["merges"]]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    specials = [s for s, kind in zip(v["tokens"], v["types"]) if kind == 3] + added
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    assert [t.token_to_id(s) for s in added] == list(range(len(v["tokens"]), len(v["tokens"]) + len(added)))
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>"), set(v["tokens"])


def row(tok, template, conversation):
    try:
        out = tok.apply_chat_template(conversation["messages"], tools=conversation.get("tools"), chat_template=template,
                                      return_dict=True, return_assistant_tokens_mask=True)
    except Exception:  # of whatever class: render refuses it too, or has its own way
        return None
    ids, mask = out["input_ids"], out["assistant_masks"]
    end = max((i + 1 for i, m in enumerate(mask) if m), default=0)
    ids, mask = ids[:end], mask[:end]
    runs = [len(list(g)) for _, g in itertools.groupby([0] + mask)]
    runs[0] -= 1
    return {"sha256": hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()[:32], "ids": end, "runs": runs}


def main():
    fetch()
    known = tokenizer([])[1]
    rows = {}
    for path in [HERE / "template/agent.jinja", *sorted(CACHE.glob("*/*.jinja"))]:
        source = path.read_bytes()
        template = source.decode()
        if not GENERATION.search(template):
            continue
        added = [s for s in dict.fromkeys(SPECIAL.findall(template) + ["<s>", "</s>"]) if s not in known]
        tok, _ = tokenizer(added)
        name = path.name if path.parent == HERE / "template" else str(path.relative_to(CACHE))
        rows[name] = {"sha256": hashlib.sha256(source).hexdigest(), "added": added, "rows": [row(tok, template, c) for c in CONVERSATIONS.values()]}
    OUT.mkdir(exist_ok=True)
    inputs = json.dumps([{"name": n} | c for n, c in CONVERSATIONS.items()], ensure_ascii=False, indent=1)
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(r, ensure_ascii=False, separators=(',', ':'))}" for n, r in rows.items())
    (OUT / "golden.json").write_text('{"now": "' + NOW + '", "conversations": ' + inputs + ',\n"templates": {\n' + lines + "\n}}\n")
    done = [r for t in rows.values() for r in t["rows"] if r]
    print(f"{len(rows)} templates, {len(done)} masks, {sum(r['ids'] for r in done)} ids")


if __name__ == "__main__":
    main()
