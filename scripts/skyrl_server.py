"""SkyRL's Tinker server on its JAX backend, on a CPU and without torch: skyrl_server.py --base-model DIR --backend jax ...

SkyRL imports torch and peft where JAX needs next to nothing of them: a type, and the writer of one file. Both are stood
in for here, which saves 6 GB. The engine is started by this Python instead of by uv.
"""

import argparse
import importlib.machinery
import json
import pathlib
import runpy
import sys
import types


class LoraConfig:
    """peft's, as far as SkyRL writes it."""

    def __init__(self, **values):
        self.values = {"peft_type": "LORA", "bias": "none", "target_modules": None, "use_rslora": False} | values

    def save_pretrained(self, folder):
        (pathlib.Path(folder) / "adapter_config.json").write_text(json.dumps(self.values))


torch, peft = types.ModuleType("torch"), types.ModuleType("peft")
torch.Tensor, torch.dtype, peft.LoraConfig = type("Tensor", (), {}), type("dtype", (), {}), LoraConfig
for module in (torch, peft):
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    sys.modules[module.__name__] = module

if sys.argv[1] == "engine":
    sys.argv = sys.argv[1:]
    runpy.run_module("skyrl.tinker.engine", run_name="__main__")
else:
    import uvicorn
    import skyrl.tinker.api as api
    from skyrl.tinker.config import EngineConfig, add_model, config_to_argv

    api._build_uv_run_cmd_engine = lambda parent, config: [sys.executable, __file__, "engine", *config_to_argv(config)]
    parser = argparse.ArgumentParser()
    add_model(parser, EngineConfig)
    parser.add_argument("--port", type=int, required=True)
    asked = vars(parser.parse_args())
    api.app.state.engine_config = EngineConfig.model_validate(
        {k: v for k, v in asked.items() if k in EngineConfig.model_fields})
    uvicorn.run(api.app, host="127.0.0.1", port=asked["port"], log_level="warning")
