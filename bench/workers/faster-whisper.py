"""faster-whisper (CTranslate2) behind the protocol of bench/lib/child.mjs."""

import os
import resource
import time

from faster_whisper import BatchedInferencePipeline, WhisperModel, __version__
from serve import milliseconds_since, serve

model = None
batched = None


def open_model(request):
    global model, batched
    start = time.perf_counter()
    threads = len(os.sched_getaffinity(0))
    model = WhisperModel(
        request["model"], device="cpu", compute_type=request["computeType"], cpu_threads=threads, local_files_only=True
    )
    batched = BatchedInferencePipeline(model)
    return {"loadMs": milliseconds_since(start), "version": __version__}


def transcribe(request):
    start = time.perf_counter()
    options = {"beam_size": 1, "temperature": 0, "language": request["language"]}
    if request["batchSize"] > 1:
        segments, _ = batched.transcribe(request["audio"], batch_size=request["batchSize"], **options)
    else:
        segments, _ = model.transcribe(request["audio"], condition_on_previous_text=False, **options)
    text = "".join(segment.text for segment in segments)
    return {"totalMs": milliseconds_since(start), "text": text}


def memory(_request):
    return {"peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "transcribe": transcribe, "memory": memory})
