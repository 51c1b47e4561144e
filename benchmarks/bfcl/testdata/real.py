"""BFCL's own verdicts, by bfcl-eval (Apache-2.0), its runner's functions as they are.

The package asks for vllm, openai and many others, none of which has part in a verdict. So it is installed without them, and
whatever is neither Python's nor its own is imported as names that stand for nothing.
"""

import contextlib
import importlib.abc
import importlib.machinery
import io
import sys
import types


class Nothings(type):
    """A class that has every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other):
        return cls

    __ror__ = __or__
    __getitem__ = __or__


class Nothing(metaclass=Nothings):
    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else self  # a decorator's function stays what it is

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __or__(self, other):
        return self


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.stdlib_module_names | {"bfcl_eval"}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: type(Nothing).__getattr__(Nothing, name)
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Absent())

from bfcl_eval.constants.enums import Language, ReturnFormat  # noqa: E402
from bfcl_eval.constants.eval_config import POSSIBLE_ANSWER_PATH, PROMPT_PATH  # noqa: E402, F401
from bfcl_eval.eval_checker import eval_runner  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.type_convertor.java_type_converter import java_type_converter  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.type_convertor.js_type_converter import js_type_converter  # noqa: E402
from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler  # noqa: E402

MODELS = {False: "meta-llama/Llama-3.1-8B-Instruct-FC", True: "gpt-4o-2024-11-20-FC"}  # by underscore_to_dot
LANGUAGES = {"python": Language.PYTHON, "java": Language.JAVA, "javascript": Language.JAVASCRIPT}
HANDLER = types.SimpleNamespace(is_fc_model=True)
HANDLER.decode_ast = types.MethodType(OpenAICompletionsHandler.decode_ast, HANDLER)


def quietly(f, *args):
    with contextlib.redirect_stdout(io.StringIO()):  # the converters print
        return f(*args)


CONVERTERS = {"java": java_type_converter, "javascript": lambda *args: quietly(js_type_converter, *args)}


def result_of(output):
    """What BFCL's handler keeps of an answer: [{name: arguments}]."""
    if not isinstance(output, list):
        return output
    return [{item["name"]: item["arguments"]} if isinstance(item, dict) and "name" in item and "arguments" in item else None for item in output]


def verdict(case):
    """True, False, or the name of the exception that ends BFCL's checker. A case is a line of hone-bench calls."""
    prompt = {"function": case["tools"]}
    category, model, result = case["category"], MODELS[case.get("underscore_to_dot", False)], result_of(case["output"])
    if "relevance" in category:
        return eval_runner._evaluate_single_relevance_entry(HANDLER, 0, result, prompt, model, category)["valid"]
    try:
        return quietly(eval_runner._evaluate_single_ast_entry, HANDLER, 0, result, case["gold"], prompt, model, category,
                       LANGUAGES[case["language"]], ReturnFormat.PYTHON)["valid"]
    except Exception as e:
        return type(e).__name__
