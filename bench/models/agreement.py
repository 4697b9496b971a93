"""Compares Plait's models with PyTorch's: copies the weights of ../shared/peers/models_torch.py, and compares, for the same batch,
the logits, the loss, each parameter's gradient, and each parameter after a step of the case's optimizer. Prints one line of JSON:
the relative error in the norm of the whole array, for parameters the largest one; and the tolerance.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/agreement.py vit_train --batch 1

The error of an updated parameter is relative to its update, beyond the rounding of the weight itself. Biases of keys are excluded:
they cancel in softmax, so their gradient is rounding error. The exit status is 1 if an error exceeds its tolerance.
"""

import argparse
import json
import sys

import numpy as np
import plait as pl
import torch
from torch.nn import functional

import peers
from cases import GPT, TRAINED, ViT, dtype_of, loss_of, narrow, narrowed, step

ALLOWED = {"fp32": {"logits": 1e-4, "loss": 1e-5, "gradient": 1e-3, "step of SGD": 1e-3, "step of AdamW": 2e-2},
           "bf16": {"logits": 3e-2, "loss": 5e-3, "gradient": 1e-1, "step of SGD": 1e-1, "step of AdamW": 5e-1}}
PLACES = {"patches.": "patch.", "class_token": "cls", "positions": "pos", "tokens.": "tok.", "attention.qkv.": "qkv.",
          "attention.out.": "proj.", "mlp.": ""}
OPTIMIZERS = {"vit_train": lambda parameters: torch.optim.SGD(parameters, 1e-3),
              "gpt_train": lambda parameters: torch.optim.AdamW(parameters, 3e-4)}


def their_name(path):
    for ours, theirs in PLACES.items():
        path = path.replace(ours, theirs)
    return path


def telling(path, array):
    """Excludes the biases of keys."""
    return np.delete(array.reshape(3, -1), 1, 0) if path.endswith("qkv.bias") else array


def apart(found, wanted):
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    return float(np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30))


def apart_behind_step(found, wanted, before):
    found, wanted, before = (np.asarray(each, np.float64) for each in (found, wanted, before))
    beyond = max(0.0, np.linalg.norm(found - wanted) - 2.0**-24 * np.linalg.norm(wanted))
    return float(beyond / max(np.linalg.norm(wanted - before), 1e-30))


def batch_of(name, count):
    if name.startswith("vit"):
        return torch.randn(count, 3, 224, 224), torch.randint(1000, (count,))
    ids = torch.randint(256, (count, 257))
    return ids[:, :-1], ids[:, 1:]


def with_weights(model, arrays):
    structure = pl.tree.flatten(model)[1]
    return structure.unflatten([pl.asarray(arrays[their_name(path)]) for path in structure.paths])


def arrays_of(module, values=lambda parameter: parameter):
    return {name: values(parameter).detach().numpy().copy() for name, parameter in module.named_parameters()}


def inferred(name, dtype, count):
    """The logits with weights in the dtype."""
    module = peers.load("models_torch").ViT().eval()
    ours, (x, _) = with_weights(ViT(key=pl.random.key(0)), arrays_of(module)), batch_of(name, count)
    own_model, own_x = narrow((ours, pl.asarray(x.numpy())), dtype_of(dtype))
    theirs = torch.bfloat16 if dtype == "bf16" else torch.float32
    with torch.inference_mode():
        wanted = module.to(theirs)(x.to(theirs)).float().numpy()
    found = pl.jit(lambda model, x: model(x))(own_model, own_x)
    return {"logits": apart(found.astype(pl.f32).numpy(), wanted)}


def trained(name, dtype, count):
    models = peers.load("models_torch")
    module = models.ViT() if name == "vit_train" else models.GPT()
    before, (x, y) = arrays_of(module), batch_of(name, count)
    own_x, own_y = pl.asarray(x.numpy()), pl.asarray(y.numpy())
    model = with_weights((ViT if name == "vit_train" else GPT)(key=pl.random.key(0)), before)

    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
        logits = module(x)
        loss = functional.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), y.reshape(-1))
    optimizer = OPTIMIZERS[name](module.parameters())
    loss.backward()
    gradients = arrays_of(module, lambda parameter: parameter.grad)
    optimizer.step()
    after = arrays_of(module)

    own_optimizer = TRAINED[name][1](model)
    moved, _, own_loss = pl.jit(narrowed(step, dtype))(model, own_optimizer, own_x, own_y)
    slopes = pl.jit(narrowed(pl.grad(loss_of), dtype))(model, own_x, own_y)
    own_logits = pl.jit(narrowed(lambda model, x: model(x), dtype))(model, own_x)
    found = {"logits": apart(own_logits.astype(pl.f32).numpy(), logits.detach().float().numpy()),
             "loss": abs(own_loss.item() / loss.item() - 1)}

    def worst(tree, distance):
        return max((distance(path, leaf.numpy(), their_name(path)), path) for path, leaf in pl.tree.leaves_with_paths(tree))

    found["gradient"], at_gradient = worst(
        slopes, lambda path, leaf, name: apart(telling(path, leaf), telling(path, gradients[name])))
    kind = f"step of {type(own_optimizer).__name__}"
    found[kind], at_step = worst(
        moved, lambda path, leaf, name: apart_behind_step(*(telling(path, each) for each in (leaf, after[name], before[name]))))
    return found | {"worst": {"gradient": at_gradient, kind: at_step}}


WAYS = {"vit_train": trained, "gpt_train": trained, "vit_infer": inferred}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=WAYS)
    parser.add_argument("--dtype", choices=ALLOWED, default="fp32")
    parser.add_argument("--batch", type=int, default=2, help="(2)")
    options = parser.parse_args()
    peers.expect_there()
    torch.manual_seed(0)
    found = WAYS[options.case](options.case, options.dtype, options.batch)
    allowed = {name: ALLOWED[options.dtype][name] for name in found if name != "worst"}
    agrees = all(found[name] <= limit for name, limit in allowed.items())
    print(json.dumps({"case": options.case, "dtype": options.dtype, "batch": options.batch, "agrees": agrees, "apart": found, "allowed": allowed}))
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
