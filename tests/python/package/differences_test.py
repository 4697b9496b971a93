"""docs/from-pytorch.md and from-jax.md: the code in their tables of differences runs, and does what the rows say."""

import ast
import contextlib
import functools
import io
import os
import pathlib
import pickle
import re
import tempfile
import textwrap
import unittest
import warnings

import numpy as np
import plait as pl
import torch

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
PAGES = "from-pytorch", "from-jax"
HAS_GPU = bool(pl.devices("cuda"))
# Words of the rows that are code, and no statement here.
WORDS = {"super().__init__()", "get(self, index, key)", "tokenizer(text)", "layer.function.weight", "initial_seed()", "torch.load", "state_dict()",
         "load_state_dict(state)", "PLAIT_THREADS=4", "x log(x / y) - x + y", "if", "if x > 0"}
# The code that is meant where a row writes dots, or names that its reader has.
MEANT = {"(loss, model), g = …; model, optimizer = optimizer.update(model, g)": "(loss, model), g = pl.value_and_grad(loss_and_model, has_aux=True)(model, x); "
         "model, optimizer = optimizer.update(model, g)",
         "pl.nn.LSTM(…)(x, lengths=lengths)": "pl.nn.LSTM(2, 3)(sequences, lengths=lengths)", "nn.Attention(…, joined=False)":
         "pl.nn.Attention(8, 2, joined=False).q", "class Net(pl.Module)": "class Net(pl.Module): pass", 'state["m"] = …': 'state["m"] = x',
         "with pl.detect_anomaly():": "with pl.detect_anomaly(): f(x)", "with pl.flush_denormals():": "with pl.flush_denormals(): f(x)",
         ".peak": 'pl.memory_statistics("cuda").peak', "with_padding(…)": 'tokenizer.with_padding(pad_id=0, pad_token="<pad>")',
         "random_split": "pl.data.random_split(dataset, [2, 4], seed=0)", "betas=(rates.momentum, 0.999)": "pl.optim.AdamW(model, betas=(rates.momentum, 0.999))",
         "state.update(g, model=model)": "pl.optim.TrainState(model, optimizer).update(g, model=model)",
         "spectral_norm": 'pl.nn.spectral_norm(plain, "0.weight")', "orthogonal": 'pl.nn.orthogonal(plain, "0.weight")',
         "parametrize": 'pl.nn.parametrize(plain, "0.weight", pl.exp)', "fuse_linear_bn_eval": "pl.nn.utils.fuse_linear_bn_eval(fc, norm)",
         'pl.all_reduce_sum(x, "i")': 'pl.vmap(lambda x: pl.all_reduce_sum(x, "i"), axis_name="i")(x)'}
# Rows whose code is an error here, as they say.
REFUSED = {"x.max(1)", "pl.sort(x, dim=1)", "x.std(dim=1)", "x.transpose(0, 1)", "x.split(2)"}
SETUP = """
    class Net(pl.Module):
        def __init__(self, key):
            self.fc = pl.nn.Linear(2, 2, key=key)
        def __call__(self, x):
            return self.fc(x)

    class Holder(pl.Module):
        pass

    def loss_of(model, *batch):
        return pl.mean(model.eval()(*(batch or (x,))[:1]) ** 4)

    def loss_and_model(model, x):
        return pl.mean(model(x) ** 4), model

    def step(model):
        return pl.grad(loss_of)(model, x)

    def f(x):
        return 2 * x

    model = pl.nn.Sequential(pl.nn.Linear(2, 8), pl.nn.BatchNorm1d(8), pl.nn.Linear(8, 2))
    x = pl.asarray(np.random.default_rng(0).uniform(-1, 1, (2, 2)).astype("f"))
    optimizer, gradient = pl.optim.SGD(model, lr=0.1), pl.grad(loss_of)(model, x)
    loss, key, self, w, lr = loss_of(model, x), pl.random.key(0), Holder(), pl.ones(2), 0.1
    layer, device, gradients, state, i = pl.nn.Linear(2, 2), "cpu", gradient, pl.nn.state(model), pl.tensor([0])
    folder = tempfile.mkdtemp()
    path = f"{folder}/model"
"""
# Further names of the code of single rows, by the beginning of the row.
FURTHER = {
    "w.requires_grad_": "w = pl.ones(2).requires_grad(); pl.sum(w * w).backward()",
    "loss.backward()` fills": "x = pl.ones(2).requires_grad(); loss = pl.sum(x * x)",
    "F.linear_cross": "w, target = pl.ones((5, 2)), pl.tensor([0, 1])",
    "F.kl_div": "log_p, q = pl.log_softmax(x, 1), pl.softmax(x, 1)",
    "p.requires_grad_": 'model = pl.nn.Sequential({"encoder": pl.nn.Linear(2, 2), "head": pl.nn.Linear(2, 2)})',
    "optimizer.param_groups": "optimizer = pl.optim.SGD(model, lr=pl.optim.constant_schedule(0.1))",
    "LBFGS": "optimizer = pl.optim.LBFGS(model)",
    "loss.backward()` several": "transformation = pl.optim.sgd(0.1)",
    "OneCycleLR": "OneCycleLR, SGD = pl.optim.lr_scheduler.OneCycleLR, pl.optim.SGD",
    "f64 from NumPy": "X = np.ones((2, 2))",
    "torch.load(path": "pl.io.save_safetensors(path, state); file = io.BytesIO(pickle.dumps(x))",
    "torch.nn.DataParallel": "g0 = g1 = gradient",
    "torch.func.stack": "keys, Net = pl.random.split_key(key, 3), Net\nmodels = pl.vmap(Net)(keys)\ndef make_optimizer(model): return pl.optim.LAMB(model)\n"
                        "optimizers, gradients = pl.vmap(make_optimizer)(models), models",
    "nn.utils.parametrizations": "plain = model",
    "prune.": "model = pl.nn.Sequential(pl.nn.Linear(2, 8))",
    "fuse_conv_bn": "conv, bn = pl.nn.Conv2d(3, 4, 3).eval(), pl.nn.BatchNorm2d(4).eval()\nfc, norm = pl.nn.Linear(3, 4).eval(), pl.nn.BatchNorm1d(4).eval()",
    "parameters_to_vector": "vector = pl.nn.utils.parameters_to_vector(model)",
    "pack_padded": "sequences, lengths = pl.ones((5, 4, 2)), pl.tensor([5, 3, 2, 1])",
    "PEFT": "class Block(pl.Module):\n  def __init__(self): self.attention = pl.nn.Attention(8, 2, joined=False)\nmodel = Block()",
    "model.generate": "layer, length = pl.nn.Attention(8, 2, is_causal=True), 16",
    "layer.register_forward_hook": "output, activations = x, [x]",
    "torch.multinomial": "p = pl.softmax(x, 1)",
    "torchmetrics": 'metric, predictions, targets, logits = pl.metrics.Accuracy("binary"), pl.tensor([0.2, 0.8]), pl.tensor([0, 1]), x',
    "torch.save({": "step, state = 3, pl.optim.TrainState(model, optimizer)",
    "load_file": "pl.io.save_safetensors(path, state)",
    "torch.load`, files": "torch.save({name: torch.from_numpy(value.numpy().copy()) for name, value in state.items()}, path)",
    "torch.utils.data.DataLoader": "batch = torch.ones(2, 2), torch.ones(2)",
    "generator=torch": "dataset = range(6)",
    "ImageFolder": "root = folder; os.makedirs(folder + '/cat'); pl.io.write_image(folder + '/cat/1.png', np.zeros((3, 4, 4), 'u1'))",
    "SummaryWriter": "folder = tempfile.mkdtemp()",
    "AutoTokenizer": "tokenizer, text = pl.text.characters(['ab']), 'ab'",
    "jnp.max": "z = pl.tensor([1j, 2.0])",
    "side effects": "self.n, state = 0, {}",
    "jax.random.normal": "n = 3",
    "jax.debug.print": "x = pl.abs(x) + 1",
    "jax.device_put": "tree = {'a': x}",
}


def refuses(call, words):
    """True if a call is an error of Plait with these words."""
    try:
        call()
    except pl.Error as error:
        return re.search(words, str(error)) is not None
    return False


class Plain:
    def __init__(self):
        self.w = pl.ones(2)


def with_lambda():
    model = held(pl.nn.Linear(2, 2))
    model.act = lambda x: model.layer(x)
    return model


def held(layer):
    class Holder(pl.Module):
        pass

    made = Holder()
    made.layer = layer
    return made


def tied():
    """A model of two places of one tensor, after a step."""
    model = held(pl.nn.Linear(2, 2))
    model.embed, model.head = pl.nn.Linear(2, 2), pl.nn.Linear(2, 2)
    model.head.weight = model.embed.weight
    gradient = pl.grad(lambda model: pl.sum(model.head(model.embed(pl.ones(2)))))(model)
    return pl.optim.SGD(model, lr=0.1).update(model, gradient)[0]


def assigning(x):
    x[0] = 1
    return pl.sum(x)


def sizes_recorded(sizes, **how):
    f = pl.jit(lambda x: x + 1, **how)
    for size in sizes:
        f(pl.ones(size))
    return pl.stats(f).traces


def generator_is_its_seed():
    generator = torch.Generator().manual_seed(3)
    first = list(pl.data.RandomSampler(range(8), generator=generator))
    torch.rand(1, generator=generator)
    return first == list(pl.data.RandomSampler(range(8), generator=torch.Generator().manual_seed(3)))


def same_as_torch(ours, theirs):
    for x in np.random.default_rng(0).normal(size=(3, 4)).astype("f"), np.arange(6).reshape(2, 3):
        np.testing.assert_allclose(np.asarray(ours(pl.asarray(x))), theirs(torch.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-6)
    return True


def dtype_of_a_step(x):
    """The dtypes of the output and of the gradients of a layer of f32."""
    layer = pl.nn.Linear(2, 2)
    return layer(pl.asarray(x)).dtype, pl.grad(lambda layer: pl.sum(layer(pl.asarray(x))))(layer).weight.dtype


def sums_along(x, size):
    """Two results of a jitted function with an if on a tensor, one of each path, and the number of its records."""
    f = pl.jit(lambda x: pl.sum(x) if pl.sum(x) > size else -pl.sum(x))
    return f(x).item(), f(-x).item(), pl.stats(f).traces


# The claims of rows, by their beginning, for which the code of a row does not stand: expressions that are true. `refuses` is true if a call is an error.
CLAIMS = {
    "loss.backward()` fills": ["(pl.grad(lambda x: pl.sum(x * x))(pl.ones(2)) == 2).all().item()", "loss.backward() is None and x.grad is not None"],
    "optimizer.step()": ["refuses(lambda: exec('optimizer.update(model, gradients)', globals()), 'not used')"],
    "x.sum(dim=1)": ["same_as_torch(lambda x: x.sum(dim=1), lambda x: x.sum(dim=1))", "same_as_torch(lambda x: x.view(-1), lambda x: x.view(-1))",
                     "same_as_torch(lambda x: x.clamp(min=0), lambda x: x.clamp(min=0))"],
    "class Net": ["pl.nn.Module is pl.Module", "refuses(lambda: pl.grad(lambda o: o.w)(Plain()), 'Module|tree')"],
    "self.scale": ["isinstance(pl.nn.Parameter(x), pl.Tensor)"],
    "register_buffer": ["(setattr(layer, 'mask', pl.nn.Buffer(x)), pl.grad(lambda layer: pl.sum(layer.weight * layer.mask))(layer).mask)[1] is None"],
    "running_mean": ["refuses(lambda: pl.value_and_grad(lambda model: pl.sum(model(x)))(model), 'would be lost')"],
    "self.act": ["refuses(lambda: pl.grad(lambda m: pl.sum(m.act(x)))(with_lambda()), 'weights')",
                 "refuses(lambda: pl.optim.SGD(with_lambda()), 'weights')"],
    "torch.utils.checkpoint` of": ["'layer.function.weight' in pl.nn.state(held(pl.remat(layer)))"],
    "F.cross_entropy": ["pl.nn.cross_entropy(pl.ones((2, 3), dtype=pl.bf16), pl.tensor([0, 1])).dtype == pl.f32",
                        "refuses(lambda: pl.nn.cross_entropy(pl.ones((2, 3, 4)), pl.zeros((2, 3), dtype=pl.i64)), 'axis')",
                        "pl.nn.cross_entropy(pl.ones((2, 3, 4)), pl.zeros((2, 3), dtype=pl.i64), axis=-1).shape == ()"],
    "F.kl_div": ["same_as_torch(lambda x: pl.kl_div_loss(pl.log_softmax(x + 0.0, -1), pl.softmax(x * 2.0, -1)), "
                 "lambda x: torch.nn.functional.kl_div(torch.log_softmax(x + 0.0, -1), torch.softmax(x * 2.0, -1)))",
                 "abs(pl.kl_div(pl.tensor(0.5), pl.tensor(0.25)).item() - (0.5 * np.log(2) - 0.25)) < 1e-6"],
    "w.requires_grad_": ["refuses(lambda: exec('v = pl.ones(2); v.requires_grad(); pl.sum(v * v).backward()', globals()), '')"],
    "self.head.weight": ["tied().head.weight is tied().embed.weight or (lambda t: t.head.weight is t.embed.weight)(tied())"],
    "model.train()": ["refuses(lambda: exec('model.eval()', globals()), 'not used')", "refuses(lambda: exec('model.train()', globals()), 'not used')"],
    "p.requires_grad_": ["pl.grad(lambda m: pl.sum(m(x)))(pl.nn.freeze(model, 'encoder.*'))[0].weight is None"],
    "sum(p.numel()": ["sum(w.size for w in pl.nn.state(model, buffers=False).values()) == 2 * 8 + 8 + 16 + 16 + 2"],
    "F.dropout": ["(pl.dropout(x, 0.1, training=False) == x).all().item()"],
    "torch.manual_seed": ["(pl.dropout(x, 0.5, key) == pl.jit(lambda x, key: pl.dropout(x, 0.5, key))(x, key)).all().item()"],
    "x[0] = 1": ["refuses(lambda: pl.grad(assigning)(x), 'argument')"],
    "torch.compile": ["sums_along(x + 5, 0)[2] == 2", "refuses(lambda: pl.jit(lambda x: float(pl.sum(x)), fullgraph=True)(x), '')"],
    "1 / 2 of int64": ["(pl.tensor(1) / pl.tensor(2)).dtype == pl.f32 and (torch.tensor(1) / torch.tensor(2)).dtype == torch.float32"],
    "f64 from NumPy": ["dtype_of_a_step(X) == (pl.f64, pl.f32)"],
    "torch.set_default_dtype": ["(pl.ones(2, dtype=pl.f64) * 0.1).dtype == pl.f64 and not hasattr(pl, 'set_default_dtype')"],
    "parameters_to_vector": ["vector.shape == (2 * 8 + 8 + 16 + 16 + 2,)"],
    "torch.multinomial": ["pl.random.categorical(key, pl.log(p))[:, None].shape == (2, 1)"],
    "import torch.nn": ["pl.interpolate(pl.ones((1, 1, 2, 2)), size=(3, 3), mode='linear').shape == (1, 1, 3, 3)"],
    "state_dict": ["list(pl.nn.state(layer)) == list(torch.nn.Linear(2, 2).state_dict())"],
    "torch.utils.data.DataLoader": ["(batch[0].fill_(3), pl.asarray(batch[0]).mean().item())[1] == 3"],
    "generator=torch": ["generator_is_its_seed()"],
    "model.to(torch.bfloat16)": ["pl.tree.map(lambda w: w.astype(pl.bf16), layer).weight.dtype == pl.bf16"],
    "jit` traces": ["sums_along(x + 5, 0)[2] == 2"],
    "a new size": ["sizes_recorded([2, 3, 4, 5]) == 2", "sizes_recorded([2, 3, 4, 5], dynamic=[pl.Dynamic(argument=0, axis=0)]) == 1"],
    "indices out of range": ["refuses(lambda: x[5], '')", "x.at[pl.tensor([7])].get(default=0).sum().item() == 0"],
    "float64` only": ["pl.asarray(np.ones(2)).dtype == pl.f64 and pl.tensor(0.5).dtype == pl.f32"],
    "jnp.max": ["refuses(lambda: pl.max(z), '')", "refuses(lambda: pl.sort(z), '')", "refuses(lambda: z < z, '')"],
    "dicts are flattened": ["list(pl.tree.structure({'b': x, 'a': x}).paths) == ['b', 'a']"],
    "donate_argnums": ["refuses(lambda: (lambda y: (pl.jit(lambda x: x + 1, donate=(0,))(y), y.numpy()))(x + 0), '')"],
}


def tables():
    """(page, cells) of each row of the tables of differences."""
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        table = text.partition("## What differs\n\n")[2].partition("\n\n")[0]
        for line in table.split("\n")[2:]:
            yield page, [cell.strip() for cell in line.strip("| ").split(" | ")]


def codes(cells):
    """The pieces of code of a row that run here."""
    for cell in cells[1:]:
        for piece in re.findall(r"`([^`]+)`", cell):
            is_code = piece in MEANT or piece in REFUSED or re.search(r"\bpl\.|[(=]", piece)
            if is_code and piece not in WORDS and not re.fullmatch(r"\w+=\S*", piece):
                yield piece


def names_of(row):
    """The names that the code of a row uses."""
    names = {"pl": pl, "np": np, "torch": torch, "functools": functools, "pickle": pickle, "tempfile": tempfile, "os": os, "io": io}
    exec(textwrap.dedent(SETUP), names)  # noqa: S102
    for begin, code in FURTHER.items():
        if row.lstrip("*`").startswith(begin):
            exec(code, names)  # noqa: S102
    return names


def run(code, names):
    """The value of an expression or of the last statement."""
    code = MEANT.get(code, code)
    if not HAS_GPU:
        code = re.sub(r'"cuda(:\d)?"', '"cpu"', code)
    if code.startswith("return "):
        code = code.removeprefix("return ")
    if "tokenizer.json" in code:
        names["tokenizer"].save(f"{names['folder']}/tokenizer.json")
        code = code.replace('"tokenizer.json"', "f'{folder}/tokenizer.json'")
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return exec(code, names)  # noqa: S102
    names["_"] = eval(code, names)  # noqa: S307
    return names["_"]


class Differences(unittest.TestCase):
    def setUp(self):
        for each in warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
            self.enterContext(each)

    def test_their_code_runs(self):
        count = 0
        for page, cells in tables():
            names = names_of(cells[0])
            for code in codes(cells):
                count += 1
                with self.subTest(f"{page}: {cells[0]}", code=code):
                    if code in REFUSED:
                        with self.assertRaisesRegex(pl.Error, r"NumPy|PyTorch|\w+="):
                            run(code, names)
                    else:
                        run(code, names)
        self.assertGreater(count, 100)

    def test_what_they_say(self):
        said = set()
        for page, cells in tables():
            for begin in (begin for begin in CLAIMS if cells[0].lstrip("*`").startswith(begin)):
                said.add(begin)
                for claim in CLAIMS[begin]:
                    with self.subTest(f"{page}: {cells[0]}", claim=claim):
                        self.assertTrue(eval(claim, {**globals(), **names_of(cells[0])}))  # noqa: S307
        self.assertEqual(said, set(CLAIMS))

    def test_rows_and_lists_agree(self):
        """Nothing is listed here that the pages have no more."""
        pages = [cells for _, cells in tables()]
        text = "\n".join(" | ".join(cells) for cells in pages)
        for each in (*WORDS, *MEANT, *REFUSED):
            self.assertIn(f"`{each}`", text)
        for begin in FURTHER:
            self.assertTrue(any(cells[0].lstrip("*`").startswith(begin) for cells in pages), begin)
        self.assertEqual({len(cells) for cells in pages} - {2, 3}, set())


if __name__ == "__main__":
    unittest.main()
