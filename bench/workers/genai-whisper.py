"""openvino_genai's WhisperPipeline behind the protocol of bench/lib/child.mjs."""

import resource
import time
import wave

import numpy as np
import openvino_genai as genai
from serve import milliseconds_since, serve

pipeline = None


def open_model(request):
    global pipeline
    start = time.perf_counter()
    pipeline = genai.WhisperPipeline(request["model"], "CPU", **request.get("properties", {}))
    return {"loadMs": milliseconds_since(start), "version": genai.__version__}


def read_samples(file):
    with wave.open(file) as audio:
        if (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) != (16000, 1, 2):
            raise ValueError(f"{file} is not 16 kHz mono of 16 bits")
        return np.frombuffer(audio.readframes(audio.getnframes()), dtype=np.int16).astype(np.float32) / 32768


def transcribe(request):
    start = time.perf_counter()
    options = {"return_timestamps": True}
    # English-only models refuse these two.
    if request["multilingual"]:
        options.update(language=f"<|{request['language']}|>", task="transcribe")
    result = pipeline.generate(read_samples(request["audio"]), **options)
    return {"totalMs": milliseconds_since(start), "text": result.texts[0]}


def memory(_request):
    return {"peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


serve({"open": open_model, "transcribe": transcribe, "memory": memory})
