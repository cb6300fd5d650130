"""One step of a language model in OpenVINO alone, with paged attention, behind the protocol of bench/lib/child.mjs.

What is measured is the inference: no embeddings of tokens, no head, no sampling. Keys and values of the context are random, because
they do not change the time.
"""

import resource
import time
from pathlib import Path

import numpy as np
import openvino as ov
from openvino._offline_transformations import paged_attention_transformation
from serve import milliseconds_since, serve

compiled = None
inference = None
width = 0


def open_model(request):
    global compiled, inference, width
    core = ov.Core()
    start = time.perf_counter()
    model = core.read_model(Path(request["model"]) / "openvino_language_model.xml")
    width = model.input("inputs_embeds").partial_shape[-1].get_length()
    paged_attention_transformation(model)
    compiled = core.compile_model(model, "CPU", request.get("properties", {}))
    inference = compiled.create_infer_request()
    return {"loadMs": milliseconds_since(start), "version": ov.get_version()}


def set_inputs(values):
    for name, value in values.items():
        inference.set_tensor(name, ov.Tensor(value))


def random_caches(blocks, random):
    for port in compiled.inputs:
        name = port.any_name
        if name.startswith(("key_cache", "value_cache")):
            shape = [blocks] + [port.partial_shape[axis].get_length() for axis in range(1, 4)]
            values = random.standard_normal(shape, dtype=np.float32).astype(port.element_type.to_dtype())
            inference.set_tensor(port, ov.Tensor(values))


def steps(request):
    """Mean time of steps that add one token to each row."""
    rows, context, count = request["rows"], request["context"], request["steps"]
    random = np.random.default_rng(0)
    block_size = compiled.input("key_cache.0").partial_shape[2].get_length()
    blocks = -(-(context + count + 1) // block_size)
    random_caches(rows * blocks, random)
    set_inputs(
        {
            "inputs_embeds": random.standard_normal((rows, width), dtype=np.float32),
            "subsequence_begins": np.arange(rows + 1, dtype=np.int32),
            "block_indices": np.arange(rows * blocks, dtype=np.int32),
            "block_indices_begins": np.arange(rows + 1, dtype=np.int32) * blocks,
        }
    )
    start = None
    # The first step makes what is made once, and is not counted.
    for step in range(count + 1):
        past = context + step
        set_inputs(
            {
                "position_ids": np.full(rows, past, dtype=np.int64),
                "past_lens": np.full(rows, past, dtype=np.int32),
                "max_context_len": np.array(past + 1, dtype=np.int32),
            }
        )
        inference.infer()
        if step == 0:
            start = time.perf_counter()
    total = milliseconds_since(start)
    if not np.isfinite(inference.get_output_tensor(0).data).all():
        raise ValueError("the model gives values that are no numbers")
    return {"stepMs": total / count}


def memory(_request):
    return {"peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "steps": steps, "memory": memory})
