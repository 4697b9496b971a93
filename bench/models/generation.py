"""Language models that generate, and an encoder of mixed lengths, beside PyTorch's and JAX's.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/generation.py gpt6-1 gpt12-8-bf16 encoder --rounds 1

gpt6 has six layers of 384, gpt12 twelve of 768; then comes the batch. A step decodes 128 tokens, one at a time, after a prompt of 128 whose keys and
values are there. The tokens are given, so that rounding does not lead to other texts. Memory for keys and values has 256 places, and each call
overwrites it: Plait's and JAX's jitted step is donated the cache; eager PyTorch attends to the filled places only, the compiled one to all of them
with a mask. In bf16 weights and caches are, too.

`encoder` has six layers of 384 that are not causal. A step is a pass over 16 batches of 8 sequences, each of another length from 20 to 300; the first
pass is the column `first`. PyTorch compiles it for all lengths together, JAX for each. THREADS=1 in the environment selects one thread.
"""

import functools

import blocks
import sides
import steps

PROMPT, PLACES = 128, 256
SIZES = {"gpt6": {"width": 384, "depth": 6, "heads": 6}, "gpt12": {"width": 768, "depth": 12, "heads": 12}}
LENGTHS = [20 + (i * 7 % 16) * 56 // 3 for i in range(16)]  # 20 to 300, in no order


def torch_dtype(dtype):
    import torch

    return torch.bfloat16 if dtype == "bf16" else torch.float32


# ---- Decoding. Each side has the function of a prompt or token, and calls it 128 times.


def torch_decoding(size, compiles, dtype, data):
    import torch

    state, (ids,) = steps.parted(data)
    kind, ids = torch_dtype(dtype), torch.from_numpy(ids)
    model = steps.loaded(blocks.torch_gpt(PLACES, **size), state).eval().to(kind)
    shape = (len(ids), size["heads"], PLACES, size["width"] // size["heads"])
    memories = [[torch.zeros(shape, dtype=kind) for _ in range(2)] for _ in range(size["depth"])]
    call, places, logits = torch.compile(model.decode) if compiles else model.decode, torch.arange(PLACES), None

    with torch.inference_mode():
        model.decode(ids[:, :PROMPT], memories, places[:PROMPT], PROMPT)

    def run():
        nonlocal logits
        with torch.inference_mode():
            for i in range(PROMPT, PLACES):
                logits = call(ids[:, i:i + 1], memories, places[i:i + 1], None if compiles else i + 1)

    return run, lambda: {"logits": logits.float().numpy()}


def plait_decode(model, ids, caches):
    """(the logits after the last of the ids, the next caches)."""
    import plait as pl

    x, after = model.tokens(ids) + model.positions[caches[0].position + pl.iota(ids.shape[1])], []
    for block, cache in zip(model.blocks, caches):
        attended, cache = block.attention(block.norm1(x), cache=cache)
        x = x + attended
        x = x + block.mlp(block.norm2(x))
        after.append(cache)
    return model.head(model.norm(x[:, -1])), after


def plait_decoding(size, dtype, data):
    import numpy as np
    import plait as pl
    from models import GPT

    state, (ids,) = steps.parted(data)
    model = pl.nn.load_state(GPT(context=PLACES, **size, key=pl.random.key(0)), state).to(dtype=pl.bf16 if dtype == "bf16" else pl.f32)
    prompt, call = (pl.jit(plait_decode, donate=(2,)) for _ in range(2))  # a function for both would have a program for symbolic sizes
    _, caches = prompt(model, pl.asarray(ids[:, :PROMPT]), [block.attention.cache(PLACES, len(ids)) for block in model.blocks])
    tokens, logits = [pl.asarray(ids[:, i:i + 1].copy()) for i in range(PROMPT, PLACES)], None

    def run():
        nonlocal caches, logits
        caches = [pl.nn.KeyValueCache(cache.keys, cache.values, PROMPT) for cache in caches]
        for token in tokens:
            logits, caches = call(model, token, caches)

    return run, lambda: {"logits": np.asarray(logits.astype(pl.f32))}


def jax_decoding(size, dtype, data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    state, (ids,) = steps.parted(data)
    kind = jnp.bfloat16 if dtype == "bf16" else jnp.float32
    w, shape = steps.for_jax(state, kind), (len(ids), PLACES, size["heads"], size["width"] // size["heads"])
    memories = [(jnp.zeros(shape, kind), jnp.zeros(shape, kind)) for _ in range(size["depth"])]

    @functools.partial(jax.jit, donate_argnums=2)
    def call(w, ids, memories, place):
        return blocks.jax_gpt(w, ids, size["depth"], size["heads"], True, memories, place)

    _, memories = call(w, jnp.asarray(ids[:, :PROMPT]), memories, 0)
    tokens, logits = [jnp.asarray(ids[:, i:i + 1]) for i in range(PROMPT, PLACES)], None

    def run():
        nonlocal memories, logits
        for i, token in enumerate(tokens):
            logits, memories = call(w, token, memories, PROMPT + i)
        jax.block_until_ready(logits)

    return run, lambda: {"logits": np.asarray(logits.astype(jnp.float32))}


def decoding(name, batch, dtype):
    size = SIZES[name]

    def data():
        import torch

        return steps.state_of(blocks.torch_gpt(PLACES, **size)) | {"ids": torch.randint(256, (batch, PLACES)).numpy()}

    functions = {"plait": functools.partial(plait_decoding, size, dtype), "torch": functools.partial(torch_decoding, size, False, dtype),
                 "torch-compile": functools.partial(torch_decoding, size, True, dtype), "jax": functools.partial(jax_decoding, size, dtype)}
    return sides.Case(data, functions, apart=3e-2 if dtype == "bf16" else 1e-4)


# ---- The encoder.


def torch_encoder(compiles, data):
    import torch

    state, inputs = steps.parted(data)
    model, inputs = steps.loaded(blocks.torch_gpt(300, is_causal=False), state).eval(), [torch.from_numpy(each) for each in inputs]
    call, outputs = torch.compile(model, dynamic=True) if compiles else model, None

    def run():
        nonlocal outputs
        with torch.inference_mode():
            outputs = [call(ids) for ids in inputs]

    return run, lambda: {str(y.shape[1]): y.numpy() for y in outputs}


def plait_encoder(data):
    import numpy as np
    import plait as pl
    from models import GPT

    state, inputs = steps.parted(data)
    model, inputs = GPT(context=300, key=pl.random.key(0)), [*map(pl.asarray, inputs)]
    for block in model.blocks:
        block.attention.is_causal = False
    model, outputs = pl.nn.load_state(model, state), None
    call = pl.jit(lambda model, ids: model(ids))

    def run():
        nonlocal outputs
        outputs = [call(model, ids) for ids in inputs]

    return run, lambda: {str(y.shape[1]): np.asarray(y) for y in outputs}


def jax_encoder(data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    state, inputs = steps.parted(data)
    w, inputs, outputs = steps.for_jax(state), [*map(jnp.asarray, inputs)], None
    call = jax.jit(lambda w, ids: blocks.jax_gpt(w, ids, is_causal=False)[0])

    def run():
        nonlocal outputs
        outputs = jax.block_until_ready([call(w, ids) for ids in inputs])

    return run, lambda: {str(y.shape[1]): np.asarray(y) for y in outputs}


def encoder():
    def data():
        import torch

        ids = {f"ids{length}": torch.randint(256, (8, length)).numpy() for length in LENGTHS}
        return steps.state_of(blocks.torch_gpt(300, is_causal=False)) | ids

    functions = {"plait": plait_encoder, "torch": functools.partial(torch_encoder, False), "torch-compile": functools.partial(torch_encoder, True),
                 "jax": jax_encoder}
    return sides.Case(data, functions, apart=1e-4)


CASES = {f"{name}-{batch}{'-bf16' if dtype == 'bf16' else ''}": decoding(name, batch, dtype)
         for name in SIZES for batch in (1, 8) for dtype in ("fp32", "bf16")}
CASES["encoder"] = encoder()

if __name__ == "__main__":
    sides.main(__doc__, __file__, CASES)
