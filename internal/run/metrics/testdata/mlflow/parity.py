"""Starts the real tracking server of MLflow, has hone's client track a run there, which records the contract anew, and looks at what the server
then has. Its one argument, if any, is passed to go test. Needs: internal/run/metrics/testdata/mlflow/requirements.txt
"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
url = f"http://127.0.0.1:{port}"
with tempfile.TemporaryDirectory() as folder:
    environment = dict(os.environ, MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
    server = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
                               "--backend-store-uri", f"sqlite:///{folder}/db", "--artifacts-destination", folder],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        subprocess.run(["go", "test", "-count=1", "./internal/run/metrics", "-run", "TestContract", "-mlflow", url], check=True, cwd=HERE.parents[4])
        import mlflow

        client = mlflow.MlflowClient(url)
        experiment = client.get_experiment_by_name("hone contract")
        (run,) = client.search_runs([experiment.experiment_id])
        assert run.info.status == "FINISHED" and run.info.run_name == "run1", run.info
        assert run.data.params["grpo.steps"] == "4" and len(run.data.params["rollout.system"]) == 6000, run.data.params
        history = lambda key: [(m.step, m.value, m.timestamp) for m in client.get_metric_history(run.info.run_id, key)]
        t = 1_700_000_000_123
        assert history("train/reward") == [(0, 0.5, t), (1, 0.625, t + 1000), (2, 2, t + 2000)], history("train/reward")
        assert history("train/rewards/c_x_/mean") == [(0, -1, t)]
        assert history("eval/success") == [(2, 1, t + 2000)] and history("eval/loss") == [(2, 1e-9, t + 2000)]
    finally:
        server.terminate()
        server.wait()
print("MLflow has each step of the run once")
