"""Compares tokenizers of GGUF files with llama.cpp's test vectors:

    vocabulary_vectors.py FOLDER

The folder has vocabularies, ggml-vocab-NAME.gguf, each with texts in NAME.gguf.inp and their ids in NAME.gguf.out: vendor/llama.cpp/models in
the source archive of llama-cpp-python. Exits with 1 if ids differ, or if a vocabulary cannot be read.
"""

import pathlib
import sys

import plait as pl


def failures_of(path):
    """(count of texts, what is wrong)."""
    inputs, outputs = (pathlib.Path(f"{path}.{ending}").read_bytes().decode() for ending in ("inp", "out"))
    cases = list(zip(inputs.split("\n__ggml_vocab_test__\n"), outputs.split("\n")))
    try:
        tokenizer = pl.text.Tokenizer.from_file(path)
    except pl.ParseError as error:
        return len(cases), [str(error)]
    found = [(text, tokenizer.encode(text, add_special_tokens=False).ids, [int(each) for each in ids.split()]) for text, ids in cases]
    return len(cases), [f"{text!r}: {mine}, expected {theirs}" for text, mine, theirs in found if mine != theirs]


def main():
    has_failed = False
    for path in sorted(pathlib.Path(sys.argv[1]).glob("ggml-vocab-*.gguf")):
        if pathlib.Path(f"{path}.inp").exists():
            count, wrong = failures_of(path)
            has_failed |= bool(wrong)
            print(f"{path.name}: {count} texts, {len(wrong)} differ", *wrong[:3], sep="\n    ")
    return has_failed


if __name__ == "__main__":
    sys.exit(main())
