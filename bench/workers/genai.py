"""openvino_genai behind the protocol of bench/lib/child.mjs."""

import resource
import time

import numpy as np
import openvino as ov
import openvino_genai as genai
from serve import milliseconds_since, serve

pipeline = None
kind = "llm"


def greedy(tokens):
    config = genai.GenerationConfig()
    config.max_new_tokens = tokens
    config.do_sample = False
    config.ignore_eos = True
    return config


def tensor(ids):
    return ov.Tensor(np.array([ids], dtype=np.int64))


def open_model(request):
    global pipeline, kind
    kind = request.get("kind", "llm")
    properties = request.get("properties", {})
    start = time.perf_counter()
    if kind == "batching":
        pipeline = genai.ContinuousBatchingPipeline(request["model"], genai.SchedulerConfig(), "CPU", properties)
    else:
        pipeline = genai.LLMPipeline(request["model"], "CPU", **properties)
    return {"loadMs": milliseconds_since(start), "version": genai.__version__}


def generate(request):
    """One request of token ids, so that its own tokenizer plays no part."""
    ids = request["prompt"]["ids"]
    start = time.perf_counter()
    result = pipeline.generate(tensor(ids), greedy(request["tokens"]))
    total = milliseconds_since(start)
    return {"ids": list(result.tokens[0]), "ttftMs": result.perf_metrics.get_ttft().mean, "totalMs": total}


def batch(request):
    prompts, config = request["prompts"], greedy(request["tokens"])
    config.apply_chat_template = False
    start = time.perf_counter()
    if kind == "batching":
        results = pipeline.generate([tensor(prompt["ids"]) for prompt in prompts], [config] * len(prompts))
        tokens = sum(len(result.m_generation_ids[0]) for result in results)
    else:
        # This pipeline takes several prompts as texts only.
        results = pipeline.generate([prompt["text"] for prompt in prompts], config)
        tokens = results.perf_metrics.get_num_generated_tokens()
    return {"tokens": tokens, "totalMs": milliseconds_since(start)}


def memory(_request):
    return {"peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "generate": generate, "batch": batch, "memory": memory})
