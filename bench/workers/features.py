"""transformers' log-mel spectrogram in numpy behind the protocol of bench/lib/child.mjs."""

import time

import numpy as np
from serve import milliseconds_since, serve
from transformers import WhisperFeatureExtractor

extractor = None


def open_model(_request):
    global extractor
    extractor = WhisperFeatureExtractor(feature_size=80)
    return {}


def mel(request):
    samples = np.fromfile(request["samples"], dtype=np.float32)
    start = time.perf_counter()
    # What the extractor calls where there is no torch.
    features = extractor._np_extract_fbank_features(samples[np.newaxis, :], "cpu")
    return {"totalMs": milliseconds_since(start), "frames": features.shape[-1]}


serve({"open": open_model, "mel": mel})
