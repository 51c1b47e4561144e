"""hone's scenarios as environments of TRL's GRPOTrainer, over OpenEnv. Needs: pip install openenv==0.10.0

    trainer = GRPOTrainer(..., train_dataset=load_dataset("json", data_files="rows.jsonl", split="train"),
                          environment_factory=hone_env.environment("http://127.0.0.1:8010"),
                          reward_funcs=hone_env.reward)

The rows are those of `hone env tasks --format trl`. An episode that says nothing of the policy, since a server failed,
has the reward None: TRL leaves it out of means and advantages. Nothing here raises in the midst of a training.
"""

import inspect
import keyword
from typing import Any, Callable, Literal, Optional

import requests
from openenv import GenericEnvClient

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_OVER = "the episode is over"


def _hint(schema: dict[str, Any]) -> Any:
    """The type hint from which TRL makes a schema again."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    if kind == "array" and schema.get("items"):
        return list[_hint(schema["items"])]  # type: ignore[misc]
    return _TYPES.get(str(kind), Any)


def _method(tool: dict[str, Any]) -> Callable[..., str]:
    """A method for a tool: TRL reads its signature and its docstring.

    Arguments whose names Python does not take, such as from, are in neither: exact shows them.
    """
    schema = tool["input_schema"]
    properties, required = schema.get("properties", {}), schema.get("required", [])

    def call(self: "Environment", **arguments: Any) -> str:
        return self._call(tool["name"], arguments)

    names = [name for name in properties if name.isidentifier() and not keyword.iskeyword(name)]
    names.sort(key=lambda name: name not in required)
    hints = {name: _hint(properties[name]) if name in required else Optional[_hint(properties[name])] for name in names}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", kind)]
        + [
            inspect.Parameter(
                name, kind, annotation=hints[name], default=inspect.Parameter.empty if name in required else None
            )
            for name in names
        ]
    )
    call.__name__ = call.__qualname__ = tool["name"]
    call.__annotations__ = {**hints, "return": str}
    about = [f"    {name}: {' '.join(properties[name].get('description', name).split())}" for name in names]
    call.__doc__ = "\n".join(
        [tool.get("description") or tool["name"], "", "Args:", *about]
        if about
        else [tool.get("description") or tool["name"]]
    )
    return call


class Environment:
    """One session. TRL makes as many as it has rollouts at once, and resets each for its next one."""

    _url: str = ""
    _headers: dict[str, str] = {}
    _tools: list[dict[str, Any]] = []

    def __init__(self) -> None:
        self._client: Any = None
        self._last: Any = None  # what the server said last in this episode
        self._lost: Optional[str] = _OVER  # why the episode has no reward
        self._calls = 0

    def reset(self, **row: Any) -> None:
        """Begins the episode of a row. A failure shows as the reward None."""
        wanted = {key: row[key] for key in ("scenario", "hash", "split", "index", "seed") if row.get(key) is not None}
        self._last, self._lost, self._calls = None, None, 0
        if self._client is None:
            client = GenericEnvClient(base_url=self._url, headers=self._headers, message_timeout_s=600)
            self._client = client.sync()
        self._ask(lambda: self._client.reset(**wanted))

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            self._last = question()
        except Exception as error:  # into the trainer it would end the training
            self._lost = str(error) or type(error).__name__
            return None
        ended = (self._last.metadata or {}).get("hone")
        if ended is not None and not ended["trainable"]:
            self._lost = ended.get("error") or ended["outcome"]
        return self._last

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        if self._lost is not None or self._last.done:
            return _OVER
        self._calls += 1
        given = {key: value for key, value in arguments.items() if value is not None}
        action = {"type": "call_tool", "tool_name": name, "arguments": given, "call_id": str(self._calls)}
        said = self._ask(lambda: self._client.step(action))
        if said is None or said.observation.get("result") is None:
            return _OVER
        return "\n".join(part["text"] for part in said.observation["result"]["content"])

    def _answer(self, text: str) -> Optional[float]:
        if self._lost is None and not self._last.done:
            self._ask(lambda: self._client.step({"type": "answer", "text": text}))
        return None if self._lost is not None or self._last.reward is None else float(self._last.reward)


def environment(url: str, key: Optional[str] = None) -> type[Environment]:
    """The class for environment_factory, with a method for each tool of the server at url.

    key is the server's, where it has one.
    """
    headers = {"Authorization": "Bearer " + key} if key else {}
    answer = requests.get(url.rstrip("/") + "/metadata", headers=headers, timeout=60)
    answer.raise_for_status()
    if answer.json()["hone"]["tools_by_scenario"]:
        raise ValueError(
            "TRL shows one list of tools in all episodes, and this server's scenarios have lists of their own: "
            "raise mcp.max_tools, or lower mcp.search_share, in the server's hone.yaml"
        )
    with GenericEnvClient(base_url=url, headers=headers).sync() as client:
        tools = client.step({"type": "list_tools"}).observation["tools"]
    bad = [
        t["name"]
        for t in tools
        if not t["name"].isidentifier() or t["name"] in ("reset", "get_reward") or t["name"].startswith("_")
    ]
    if bad:
        raise ValueError(f"TRL takes methods as tools, and these names are none: {', '.join(bad)}")
    return type(
        "HoneEnvironment",
        (Environment,),
        {"_url": url, "_headers": headers, "_tools": tools, **{t["name"]: _method(t) for t in tools}},
    )


def exact(trainer: Any) -> None:
    """Shows the policy the tools' own schemas, as hone train does.

    TRL makes its own of type hints, which lose what is nested. Optional: the list that is changed is private to TRL
    1.16's trainer.
    """
    for name, factory in trainer.environment_factories.items():
        own = [
            {"name": t["name"], "description": t["description"], "parameters": t["input_schema"]}
            for t in factory._tools
        ]
        trainer._env_tools[name] = list(trainer._standalone_tools or []) + [
            {"type": "function", "function": f} for f in own
        ]


def reward(completions: list[Any], environments: list[Environment], **_: Any) -> list[Optional[float]]:
    """What the episodes earned. The last words of a completion end its episode."""
    words = [
        c if isinstance(c, str) else c[-1].get("content") or "" if c and c[-1].get("role") == "assistant" else ""
        for c in completions
    ]
    return [e._answer(text) for e, text in zip(environments, words)]
