"""The wire of Tinker's SDK, as the SDK itself writes and reads it.

wire.json has messages of the SDK as base64, with what they hold. ours.json, which go test -update writes, has the
requests in JSON of hone's client: the SDK's own types must take each of them.
Needs: internal/llm/tinker/testdata/requirements.txt
"""

import base64
import json
import math
import pathlib

import numpy as np
from tinker import types
from tinker.proto import tinker_public_pb2 as pb
from tinker.proto.request_conv import forward_backward_request_to_proto
from tinker.proto.response_conv import deserialize_forward_backward_output, deserialize_sample_response
from tinker.types.create_model_request import CreateModelRequest
from tinker.types.create_sampling_session_request import CreateSamplingSessionRequest
from tinker.types.create_session_request import CreateSessionRequest
from tinker.types.forward_backward_input import ForwardBackwardInput
from tinker.types.forward_backward_request import ForwardBackwardRequest
from tinker.types.future_retrieve_request import FutureRetrieveRequest
from tinker.types.load_weights_request import LoadWeightsRequest
from tinker.types.optim_step_request import OptimStepRequest
from tinker.types.sample_request import SampleRequest
from tinker.types.save_weights_for_sampler_request import SaveWeightsForSamplerRequest
from tinker.types.save_weights_request import SaveWeightsRequest
from tinker.types.session_heartbeat_request import SessionHeartbeatRequest
from tinker.types.unload_model_request import UnloadModelRequest

HERE = pathlib.Path(__file__).resolve().parent
ROWS = [
    {"ids": [7, 260000, 3], "inputs": {"advantages": [0.5, -2.25], "logprobs": [-1.5, -0.0]}},
    {"ids": [1, 2], "inputs": {"advantages": [1e-30], "logprobs": [-99.0]}},
    {"ids": [9, 8, 7, 6], "inputs": {"advantages": [0.0, 3.0, -1.0], "logprobs": [-4.0, -5.0, -6.0]}},
]
LOGPROBS = [[-1.5, -0.25], [-3.0], [-0.5, -0.125, -7.0]]


def text(data):
    return base64.b64encode(data).decode()


def tensor(values, dtype):
    return types.TensorData(data=np.array(values, {"float32": np.float32, "int64": np.int64}[dtype]), dtype=dtype,
                            shape=[len(values)])


def request(loss, forward_only):
    data = [
        types.Datum(
            model_input=types.ModelInput.from_ints(row["ids"][:-1]),
            loss_fn_inputs={"target_tokens": tensor(row["ids"][1:], "int64")}
            | {name: tensor(values, "float32") for name, values in row["inputs"].items()},
        )
        for row in ROWS
    ]
    message = forward_backward_request_to_proto(ForwardBackwardRequest(
        model_id="model-1", seq_id=300, forward_backward_input=ForwardBackwardInput(data=data, loss_fn=loss)))
    message.forward_only = forward_only
    return text(message.SerializeToString(deterministic=True))


def batched(rows, dtype):
    arrays = [np.array(row, np.float32) for row in rows]
    if dtype == pb.DTYPE_BFLOAT16:
        arrays = [(a.view(np.uint32) >> 16).astype(np.uint16) for a in arrays]
    offsets = np.cumsum([0] + [a.nbytes for a in arrays]).astype(np.int64)
    return pb.BatchedTensor(data=b"".join(a.tobytes() for a in arrays), offsets=offsets.tobytes(), dtype=dtype)


def passed(dtype, chunks):
    message = pb.ForwardBackwardOutput(loss_fn_output_type="x:ArrayRecord")
    message.metrics["loss:sum"] = 12.5
    message.metrics["broken"] = math.nan
    for rows in chunks:
        record = message.loss_fn_outputs.add(num_datums=len(rows))
        record.fields["logprobs"].CopyFrom(batched(rows, dtype))
        record.fields["elementwise_loss"].CopyFrom(batched([[9.0]] * len(rows), dtype))
    data = message.SerializeToString(deterministic=True)
    read = deserialize_forward_backward_output(data)
    assert [list(d["logprobs"].tolist()) for d in read.loss_fn_outputs] == LOGPROBS
    return text(data)


def sampled():
    message = pb.SampleResponse(prompt_cache_hit_tokens=3,
                                prompt_logprobs=np.array([math.nan, -2.0], np.float32).tobytes())
    for stop, ids, logprobs in [(0, [5, 260000], [-0.5, -1.5]), (1, [7], None)]:
        sequence = message.sequences.add(stop_reason=stop, tokens=np.array(ids, np.int32).tobytes())
        if logprobs:
            sequence.logprobs = np.array(logprobs, np.float32).tobytes()
    data = message.SerializeToString(deterministic=True)
    assert [s.stop_reason for s in deserialize_sample_response(data).sequences] == ["stop", "length"]
    return text(data)


# The SDK's types forbid what they do not know.
TYPES = {
    "create_session": CreateSessionRequest,
    "session_heartbeat": SessionHeartbeatRequest,
    "create_model": CreateModelRequest,
    "load_weights": LoadWeightsRequest,
    "optim_step": OptimStepRequest,
    "save_weights": SaveWeightsRequest,
    "save_weights_for_sampler": SaveWeightsForSamplerRequest,
    "create_sampling_session": CreateSamplingSessionRequest,
    "asample": SampleRequest,
    "retrieve_future": FutureRetrieveRequest,
    "unload_model": UnloadModelRequest,
}


def check_ours():
    ours = json.loads((HERE / "ours.json").read_text())
    assert set(ours) == set(TYPES), set(ours) ^ set(TYPES)
    for name, bodies in ours.items():
        for body in bodies:
            read = TYPES[name].model_validate(body).model_dump(exclude_none=True, mode="json")
            assert all(subset(value, read[key]) for key, value in body.items()), (name, body, read)


def subset(ours, read):
    if isinstance(ours, dict):
        return all(key in read and subset(value, read[key]) for key, value in ours.items())
    if isinstance(ours, list):
        return len(ours) == len(read) and all(map(subset, ours, read))
    return ours == read


wire = {
    "rows": ROWS,
    "logprobs": LOGPROBS,
    "forward": request("cross_entropy", True),
    "backward": request("importance_sampling", False),
    "passed": passed(pb.DTYPE_FLOAT32, [LOGPROBS]),
    "passed_in_chunks": passed(pb.DTYPE_FLOAT32, [LOGPROBS[:1], LOGPROBS[1:]]),
    "passed_bfloat16": passed(pb.DTYPE_BFLOAT16, [LOGPROBS]),
    "sampled": sampled(),
}
(HERE / "wire.json").write_text(json.dumps(wire, indent=1) + "\n")
check_ours()
