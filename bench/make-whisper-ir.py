"""Adds to a Whisper folder in OpenVINO's format what openvino_genai reads besides: make-whisper-ir.py FOLDER

openvino_tokenizer and openvino_detokenizer, made from tokenizer.json as optimum-intel makes them.
"""

import sys
from pathlib import Path

import openvino as ov
from openvino_tokenizers import convert_tokenizer
from transformers import AutoTokenizer

folder = Path(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(folder)
models = convert_tokenizer(tokenizer, with_detokenizer=True)
for model, name in zip(models, ("openvino_tokenizer.xml", "openvino_detokenizer.xml")):
    ov.save_model(model, folder / name)
