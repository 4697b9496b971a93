#!/usr/bin/env python3
"""Trains a small language model on the characters of some texts, with a jitted step, and continues the beginning of a
sentence.

    PYTHONPATH=build/release/python .venv/bin/python examples/train_gpt.py
"""

import argparse
import contextlib
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
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=48, help="characters that it sees")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rate", type=float, default=6e-3)
    parser.add_argument("--bf16", action="store_true", help="products in bf16")
    parser.add_argument("--prompt", default="A tensor is ", help="what it goes on from")
    parser.add_argument("--length", type=int, default=200, help="number of characters to generate")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def characters_of(files):
    """Returns the texts as numbers, and the alphabet that they index."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    alphabet = sorted(set(text))
    number_of = {character: i for i, character in enumerate(alphabet)}
    return np.array([number_of[character] for character in text]), alphabet


def drawn(ids, batch, context, random):
    """Draws parts of the text, and for each position the next character."""
    starts = random.integers(0, len(ids) - context, batch)
    parts = ids[starts[:, None] + np.arange(context + 1)]
    return pl.asarray(parts[:, :-1]), pl.asarray(parts[:, 1:])


def loss_of(model, x, y):
    return pl.nn.cross_entropy(model(x), y, axis=-1)


def step(model, optimizer, x, y, is_narrow, rate):
    optimizer.lr = pl.optim.warmup_cosine(optimizer.steps, *rate)
    with pl.autocast() if is_narrow else contextlib.nullcontext():
        loss, gradient = pl.value_and_grad(loss_of)(model, x, y)
    return *optimizer.update(model, gradient), loss


def held_out_loss(model, ids, context):
    """The loss on consecutive parts, in nats per character."""
    count = min((len(ids) - 1) // context, 64)
    parts = [pl.asarray(ids[shift:shift + count * context].reshape(count, context)) for shift in (0, 1)]
    return pl.jit(loss_of)(model, *parts).item()


def trained(model, ids, held_out, arguments):
    jitted = pl.jit(step, donate=(0, 1))
    optimizer, random = pl.optim.AdamW(model), np.random.default_rng(arguments.seed)
    rate = (arguments.rate, arguments.steps, arguments.steps // 10)
    mean, begin = None, time.perf_counter()
    for done in range(1, arguments.steps + 1):
        x, y = drawn(ids, arguments.batch, arguments.context, random)
        model, optimizer, loss = jitted(model, optimizer, x, y, arguments.bf16, rate)
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if sys.stdout.isatty() or done == arguments.steps:
            speed = done * x.size / (time.perf_counter() - begin)
            print(f"\r  step {done}/{arguments.steps}  loss {mean:.3f}  {speed:.0f} characters/s", end="", flush=True)
    print(f"  held out {held_out_loss(model, held_out, arguments.context):.3f}")
    return model


def continued(model, prompt, length, context, key):
    """Samples the next characters one by one; one record serves every length."""
    next_logits = pl.jit(lambda model, ids: model(ids)[0, -1])
    ids = list(prompt)
    for sample_key in pl.random.split_key(key, length):
        logits = next_logits(model, pl.asarray(np.array([ids[-context:]])))
        ids.append(pl.random.categorical(sample_key, logits / 0.7).item())
    return ids


def main():
    arguments = parsed_arguments()
    ids, alphabet = characters_of(arguments.texts or sorted(MANUAL.glob("*.md")))
    unknown = sorted(set(arguments.prompt) - set(alphabet))
    if unknown or not arguments.prompt:
        sys.exit(f"the prompt has {unknown}, which the texts have not" if unknown else "the prompt is empty")
    split = len(ids) * 9 // 10
    if len(ids) - split <= arguments.context:
        sys.exit(f"{len(ids)} characters are too few for a context of {arguments.context}")
    draw, sample = pl.random.split_key(pl.random.key(arguments.seed), 2)
    model = GPT(len(alphabet), arguments.context, arguments.width, arguments.depth, arguments.heads, key=draw)
    parameters = sum(leaf.size for leaf in pl.tree.leaves(model))
    print(f"{split} characters to learn from, {len(ids) - split} held out, {len(alphabet)} different; {parameters} parameters")
    model = trained(model, ids[:split], ids[split:], arguments)
    said = continued(model, [alphabet.index(each) for each in arguments.prompt], arguments.length, arguments.context, sample)
    print("".join(alphabet[each] for each in said))


if __name__ == "__main__":
    main()
