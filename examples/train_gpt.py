#!/usr/bin/env python3
"""Trains a small language model on the characters of some texts, each step recorded once and then run from the record, and
lets it go on from the beginning of a sentence.

    PYTHONPATH=build/release/python .venv/bin/python examples/train_gpt.py
"""

import argparse
import pathlib
import sys
import time

import numpy as np
import plait as pl

from models import GPT

MANUAL = pathlib.Path(__file__).resolve().parents[1] / "docs"


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("texts", nargs="*", type=pathlib.Path, help="files to learn from (docs/*.md)")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=64, help="characters that it sees")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--bf16", action="store_true", help="products in bf16")
    parser.add_argument("--prompt", default="A tensor is ", help="what it goes on from")
    parser.add_argument("--length", type=int, default=200, help="of what it says")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def characters_of(files):
    """The texts as numbers, and which characters these stand for."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    alphabet = sorted(set(text))
    number_of = {character: i for i, character in enumerate(alphabet)}
    return np.array([number_of[character] for character in text]), alphabet


def drawn(ids, batch, context, random):
    """Parts of the text, and for each place the character that comes next."""
    starts = random.integers(0, len(ids) - context, batch)
    parts = ids[starts[:, None] + np.arange(context + 1)]
    return pl.asarray(parts[:, :-1]), pl.asarray(parts[:, 1:])


def loss_of(model, x, y):
    return pl.nn.cross_entropy(model(x), y)


def step_of(arguments):
    def step(model, optimizer, x, y):
        optimizer.lr = pl.optim.warmup_cosine(optimizer.steps, arguments.rate, total=arguments.steps, warmup=arguments.steps // 10)
        with pl.autocast() if arguments.bf16 else pl.no_autocast():
            loss, gradient = pl.value_and_grad(loss_of)(model, x, y)
        return *optimizer.update(model, gradient), loss

    return pl.jit(step, donate=("model", "optimizer"))


def main():
    arguments = parsed_arguments()


if __name__ == "__main__":
    sys.exit(main())
