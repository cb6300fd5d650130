"""An OpenVINO IR folder of a GGUF model, as optimum-intel exports it: make-ir.py MODEL.gguf OUT

transformers dequantises the weights, optimum-intel traces the model and writes f16 weights. The tokenizer is built from the
file's own metadata, because the conversion that transformers has for this architecture gives other tokens. Both the tokenizer
that JavaScript reads (tokenizer.json) and the one that openvino_genai reads (openvino_tokenizer.xml) are written.
"""

import shutil
import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from optimum.exporters.openvino import export_from_model
from optimum.exporters.openvino.convert import export_tokenizer
from optimum.intel import OVConfig
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

CONTROL_TOKEN = 3  # GGUF token type


def read_tokenizer(gguf_file: Path) -> PreTrainedTokenizerFast:
    """The byte-level BPE tokenizer of the file; digits stand alone, as its pre-tokenizer "smollm" says."""
    fields = GGUFReader(gguf_file).fields

    def value(key):
        return fields[key].contents() if key in fields else None

    kind = (value("tokenizer.ggml.model"), value("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise SystemExit(f"{gguf_file.name}: this script builds tokenizers of kind gpt2/smollm, the file has {kind[0]}/{kind[1]}.")
    tokens = value("tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ", 1)) for merge in value("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, value("tokenizer.ggml.token_type")) if kind == CONTROL_TOKEN]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    special = {}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding")):
        index = value(f"tokenizer.ggml.{key}_token_id")
        if index is not None:
            special[name] = tokens[index]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=value("tokenizer.chat_template"),
        clean_up_tokenization_spaces=False,
        **special,
    )


def make(gguf_file: Path, out: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(gguf_file.parent, gguf_file=gguf_file.name, dtype=torch.float32).eval()
    tokenizer = read_tokenizer(gguf_file)
    # Token ids of the configuration come from the file too; what sampling its authors advise is not in it.
    model.generation_config.do_sample = False
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    export_from_model(model=model, output=out, task="text-generation-with-past", ov_config=OVConfig(dtype="fp16"))
    tokenizer.save_pretrained(out)
    export_tokenizer(tokenizer, out, task="text-generation-with-past")
    needed = ("openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml", "tokenizer.json", "config.json")
    missing = [name for name in needed if not (out / name).exists()]
    if missing:
        raise SystemExit(f"The export did not write {', '.join(missing)}.")


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    temporary = target.with_name(f".{target.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    make(source, temporary)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
