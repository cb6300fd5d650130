"""Pictures by the reference in PyTorch (transformers, f32), behind the protocol of bench/lib/child.mjs."""

import os
import resource
import time

import torch
import transformers
from serve import milliseconds_since, serve
from transformers import JanusForConditionalGeneration

model = None
image_tokens = 0


def open_model(request):
    global model, image_tokens
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    start = time.perf_counter()
    model = JanusForConditionalGeneration.from_pretrained(request["model"], dtype=torch.float32).eval()
    image_tokens = model.model.vision_model.config.num_image_tokens
    return {"loadMs": milliseconds_since(start), "version": transformers.__version__, "torch": torch.__version__}


def begin(request):
    """The first tokens of pictures by its own `generate`, with a cache as long as for whole pictures."""
    length, steps = request["promptTokens"], request["steps"]
    config = model.generation_config
    ids = torch.randint(0, config.bos_token_id, (1, length))
    ids[0, 0], ids[0, -1] = config.bos_token_id, config.generation_kwargs["boi_token_id"]
    times = []
    hook = model.model.language_model.register_forward_pre_hook(lambda *_: times.append(time.perf_counter()))
    # The number of tokens is read from here at each call.
    model.model.vision_model.config.num_image_tokens = steps + 2
    try:
        start = time.perf_counter()
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                generation_mode="image",
                do_sample=True,
                max_length=length + image_tokens,
            )
    finally:
        hook.remove()
        model.model.vision_model.config.num_image_tokens = image_tokens
    # A call of the language model begins when the token before it is there.
    return {
        "firstMs": (times[1] - start) * 1000,
        "stepMs": (times[-1] - times[1]) * 1000 / (len(times) - 2) if steps > 0 else None,
    }


def decode(_request):
    """Tokens of a picture to pixels."""
    tokens = torch.randint(0, model.config.vq_config.num_embeddings, (1, image_tokens))
    start = time.perf_counter()
    with torch.inference_mode():
        model.decode_image_tokens(tokens)
    return {"totalMs": milliseconds_since(start)}


def memory(_request):
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"rssBytes": resident, "peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "begin": begin, "decode": decode, "memory": memory})
