"""Checks of layers that several tests share: against PyTorch's layer of the same weights, and one layer in all ways to run it."""

import numpy as np
import plait as pl
import torch
from plait.inside.trees.buffers import of_structure
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence
from torch.testing._internal.common_modules import module_db

import torch_models

ACCURACY = 1e-10

pl.random.seed(1)  # for layers that are made without a key
torch.manual_seed(1)


def with_weights(model, arrays):
    leaves, structure = pl.tree.flatten(model)
    assert set(structure.paths) == set(arrays), set(structure.paths) ^ set(arrays)
    return structure.unflatten([pl.asarray(arrays[path]) for path in structure.paths])


def floats(tree):
    """The floating leaves of a result, in order."""
    return [leaf for leaf in pl.tree.leaves(tree) if leaf.dtype.kind == "floating"]


def loss_of(results):
    """A scalar that depends on all numbers of the results, on each in another way."""
    return sum(pl.sum(leaf * np.cos(np.arange(leaf.size) + 1.0).reshape(leaf.shape)) for leaf in floats(results))


def torch_results(results):
    if isinstance(results, torch.Tensor):
        return [results]
    return [each for part in results if part is not None for each in torch_results(part)]


def torch_loss(results):
    return sum((each * torch.cos(torch.arange(each.numel(), dtype=torch.float64) + 1).reshape(each.shape)).sum()
               for each in torch_results(results))


def to_plait(value):
    if isinstance(value, torch.Tensor):
        return pl.asarray(value.detach().numpy().copy())
    return tuple(map(to_plait, value)) if isinstance(value, tuple) else value


def followed(value):
    """The floating tensors among PyTorch's arguments, as leaves."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().requires_grad_()
    return tuple(map(followed, value)) if type(value) is tuple else value


def close(found, wanted, what, accuracy=ACCURACY):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: the shape {found.shape} instead of {wanted.shape}"
    np.testing.assert_allclose(found, wanted, rtol=accuracy, atol=accuracy, err_msg=what)


def compare(ours, theirs, arguments, named=None, *, ours_named=None, theirs_results=None):
    """Compares values, and gradients by weights and floating arguments, with PyTorch's layer, whose weights ours gets."""
    theirs, named = theirs.double(), named or {}
    theirs.zero_grad()
    ours = with_weights(ours, torch_models.arrays(theirs))
    ours = ours if theirs.training else ours.eval()
    arguments = tuple(map(followed, arguments))
    wanted = theirs(*arguments, **named)
    wanted = wanted if theirs_results is None else theirs_results(wanted)
    given = tuple(map(to_plait, arguments))
    options = {name: to_plait(value) for name, value in named.items()} if ours_named is None else ours_named
    found = ours(*given, **options)
    assert len(floats(found)) == len(torch_results(wanted)), "another number of results"
    for place, (one, other) in enumerate(zip(floats(found), torch_results(wanted))):
        close(one.numpy(), other.detach().numpy(), f"result {place}")
    torch_loss(wanted).backward()
    by_model, by_given = pl.grad(lambda ours, given: loss_of(ours(*given, **options)), (0, 1))(ours, given)
    gradients = {path: leaf for path, leaf in pl.tree.leaves_with_paths(by_model)}
    for path, parameter in theirs.named_parameters():
        close(gradients[path].numpy(), np.zeros(parameter.shape) if parameter.grad is None else parameter.grad.numpy(), f"gradient by {path}")
    for one, other in zip(floats(by_given), (each for each in torch_results(arguments) if each.is_floating_point())):
        close(one.numpy(), np.zeros(other.shape) if other.grad is None else other.grad.numpy(), "gradient by an argument")
    return ours, given, options


def of_database(names, **options):
    """(what, PyTorch's module, its constructor's arguments, ModuleInput) for all entries of PyTorch's database of modules."""
    for info in module_db:
        if info.module_cls.__name__ in names and info.module_cls.__module__.startswith("torch.nn.modules"):
            for training in True, False:
                for entry in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training, **options):
                    made = entry.constructor_input
                    yield info.module_cls, made.args, {name: each for name, each in made.kwargs.items() if name not in ("device", "dtype")}, \
                        entry.forward_input, training


def padded(packed):
    """The padded sequences, and the lengths, of one of PyTorch's packed sequences."""
    return pad_packed_sequence(packed) if isinstance(packed, PackedSequence) else packed


def directions(tree, seed):
    """A direction for each leaf of a tree; None for integers."""
    random = np.random.default_rng(seed)
    return [pl.asarray(random.normal(size=leaf.shape)) if leaf.dtype.kind == "floating" else None for leaf in pl.tree.leaves(tree)]


def moved(tree, way, step):
    leaves, structure = pl.tree.flatten(tree)
    return structure.unflatten([leaf if by is None else leaf + step * by for leaf, by in zip(leaves, way)])


def in_all_ways(make, call, arguments, accuracy=1e-11, second=True):
    """Results and gradients of call(layer, *arguments) are the same eagerly, jitted, rematerialised and for a stack of layers
    by vmap; the derivative of the gradient is that by differences. make(key) returns a layer."""
    layer = make(pl.random.key(1))

    def loss(layer, arguments):
        return loss_of(call(layer, *arguments))

    def gradient(layer, arguments):
        return floats(pl.grad(loss, (0, 1))(layer, arguments))

    wanted, slopes = floats(call(layer, *arguments)), gradient(layer, arguments)
    for name, way in (("jit", pl.jit(gradient)), ("remat", pl.remat(gradient)),
                      ("grad of remat", lambda *given: floats(pl.grad(pl.remat(loss), (0, 1))(*given))),
                      ("grad of jit", lambda *given: floats(pl.grad(pl.jit(loss), (0, 1))(*given)))):
        for place, (one, other) in enumerate(zip(way(layer, arguments), slopes, strict=True)):
            close(one.numpy(), other.numpy(), f"{name}: gradient {place}", accuracy)
    for one, other in zip(floats(pl.jit(call)(layer, *arguments)), wanted, strict=True):
        close(one.numpy(), other.numpy(), "jit", accuracy)
    layers = [layer, make(pl.random.key(2)), make(pl.random.key(3))]
    stack = pl.tree.map(lambda *leaves: pl.stack(leaves), *layers)
    alone = [(*floats(call(each, *arguments)), *gradient(each, arguments)) for each in layers]
    together = pl.vmap(lambda each: (*floats(call(each, *arguments)), *gradient(each, arguments)))(stack)
    for place, leaf in enumerate(together):
        for sample, one in enumerate(alone):
            close(leaf[sample].numpy(), one[place].numpy(), f"vmap: result {place} of layer {sample}", 1e-10)
    if second:
        structure = pl.tree.structure((layer, arguments))
        way = [None if is_buffer else each for each, is_buffer in zip(directions((layer, arguments), 5), of_structure(structure))]
        tangent = structure.unflatten(way)
        _, found = pl.jvp(lambda both: gradient(*both), ((layer, arguments),), (tangent,))
        step = 1e-5
        ahead, behind = (gradient(*moved((layer, arguments), way, sign * step)) for sign in (1, -1))
        for place, (one, after, before) in enumerate(zip(found, ahead, behind, strict=True)):
            scale = max(1.0, np.abs(one.numpy()).max(initial=0))
            close(one.numpy() / scale, (after - before).numpy() / (2 * step * scale), f"second derivative {place}", 1e-6)


def for_symbolic_sizes(call, layer, cases, records=2):
    """A jitted call gives what it gives eagerly for all cases, from at most two records: sizes are symbols in the second one."""
    jitted = pl.jit(call)
    for case in cases:
        for one, other in zip(floats(jitted(layer, *case)), floats(call(layer, *case)), strict=True):
            close(one.numpy(), other.numpy(), "symbolic sizes", 1e-11)
    assert pl.stats(jitted).traces <= records, pl.stats(jitted)


def refused(case, table):
    """table: (a call, the error's class, a part of its message)."""
    for call, kind, text in table:
        with case.subTest(text), case.assertRaisesRegex(kind, text):
            call()
