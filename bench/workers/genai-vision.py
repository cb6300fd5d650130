"""openvino_genai's VLMPipeline behind the protocol of bench/lib/child.mjs."""

import resource
import time

import numpy as np
import openvino as ov
import openvino_genai as genai
from serve import milliseconds_since, serve

pipeline = None


def open_model(request):
    global pipeline
    start = time.perf_counter()
    pipeline = genai.VLMPipeline(request["model"], "CPU", **request.get("properties", {}))
    return {"loadMs": milliseconds_since(start), "version": genai.__version__}


def ask(request):
    """A question about a picture, whose pixels are in memory before time counts."""
    picture = request["picture"]
    pixels = np.fromfile(picture["file"], dtype=np.uint8).reshape(1, picture["height"], picture["width"], 3)
    image = ov.Tensor(pixels)
    config = genai.GenerationConfig()
    config.max_new_tokens = request["tokens"]
    config.do_sample = False
    config.ignore_eos = True
    # With its own template it leaves out BOS, which the reference has; so the template's text is given. The tag stands for "<image>\n".
    config.apply_chat_template = False
    prompt = f"USER: <ov_genai_image_0>{request['question']} ASSISTANT:"
    start = time.perf_counter()
    result = pipeline.generate(prompt, images=[image], generation_config=config)
    total = milliseconds_since(start)
    metrics = result.perf_metrics
    return {
        "text": result.texts[0],
        "ttftMs": metrics.get_ttft().mean,
        "totalMs": total,
        "tokens": metrics.get_num_generated_tokens(),
        "promptTokens": metrics.get_num_input_tokens(),
    }


def memory(_request):
    return {"peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "ask": ask, "memory": memory})
