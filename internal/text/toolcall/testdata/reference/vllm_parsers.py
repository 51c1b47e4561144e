"""vLLM's tool parsers without vLLM's engine: the wheel's Python files are read, what they import of the engine is a stand-in.

Only vllm.tool_parsers, vllm.parser and vllm.reasoning run for real; they need no device and no tensors.
"""

import importlib.abc
import importlib.machinery
import logging
import re
import sys
import types
import uuid

REAL = ("vllm.tool_parsers", "vllm.parser", "vllm.reasoning")
FAKED = ("vllm", "prometheus_client", "torch", "transformers", "xgrammar", "tokenizers")


class Record:
    """Stands for the server's request and response objects: fields are what it was made with."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __class_getitem__(cls, item):
        return cls

    def model_dump(self, **_):
        return dict(self.__dict__)


class Fake(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Record,), {}) if name[:1].isupper() or name.startswith("_") else (lambda *a, **k: None)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in FAKED or name.startswith(REAL):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Fake(spec.name)

    def exec_module(self, module):
        if module.__name__ == "vllm":
            module.__path__ = [str(ROOT)]
        if module.__name__ == "vllm.logger":
            module.init_logger = quiet
        if module.__name__ == "vllm.envs":
            module.VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 5
            module.VLLM_ENFORCE_STRICT_TOOL_CALLING = False
        if module.__name__ == "vllm.utils.collection_utils":
            module.is_list_of = lambda value, kind, **_: isinstance(value, list)
        if module.__name__ == "vllm.utils":
            module.random_uuid = lambda: uuid.uuid4().hex
        if module.__name__ == "vllm.utils.mistral":
            module.is_mistral_tokenizer = lambda tokenizer: False
        if module.__name__ == "vllm.renderers.chat_utils":
            module.make_tool_call_id = lambda *a, **k: "id"
            module.get_tool_call_id_type = lambda *a, **k: "random"


def quiet(name):
    logger = logging.getLogger("quiet")
    logger.disabled = True
    for extra in ("info_once", "warning_once", "debug_once"):
        setattr(logger, extra, lambda *a, **k: None)
    return logger


ROOT = None


def load(root):
    """root is the wheel's folder vllm. Returns get(name): the parser class of vLLM's option --tool-call-parser."""
    global ROOT
    ROOT = root
    sys.meta_path.insert(0, Finder())
    from vllm.tool_parsers import ToolParserManager

    return ToolParserManager.get_tool_parser


class Vocabulary:
    """A tokenizer that knows the parsers' marks and spells everything else by characters."""

    chat_template = ""
    all_special_tokens = []

    def __init__(self, marks):
        self.marks = {m: 300000 + i for i, m in enumerate(marks)}
        self.texts = {i: m for m, i in self.marks.items()}
        self.pattern = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) + "|.", re.S)

    def get_vocab(self):
        return dict(self.marks)

    def encode(self, text, **_):
        return [self.marks.get(piece) or ord(piece) for piece in self.pattern.findall(text)]

    def decode(self, ids, **_):
        return "".join(self.texts.get(i) or chr(i) for i in ([ids] if isinstance(ids, int) else ids))

    def convert_ids_to_tokens(self, ids, **_):
        return [self.decode(i) for i in ids]

    def convert_tokens_to_ids(self, tokens):
        return self.marks.get(tokens) if isinstance(tokens, str) else [self.marks.get(t) for t in tokens]
