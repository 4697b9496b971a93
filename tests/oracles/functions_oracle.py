"""Compares functions of C++ with optax's and PyTorch's, in f64: projections, losses, pruning, orthogonal weights, fused normalisations and others.
Values and gradients, eager and jitted. Usage: functions_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp). Exits with 1 if anything differs.

The names of the cases are those of function_cases.cpp."""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from optax import projections
from torch import nn
from torch.nn.utils import fusion, parametrizations, prune

jax.config.update("jax_enable_x64", True)
TOLERANCE = 1e-10
RANDOM = np.random.default_rng(11)


def normal(*shape):
    return RANDOM.normal(size=shape)


# ---- Functions of optax: the operands, and a function of them.

PAIR = {"x": normal(4, 3), "v": normal(5), "a": 0.3 * normal(4, 3), "b": 0.3 * normal(5)}


def projected(function, *limits):
    """The matrix x and the vector v together; functions that clip take single arrays only in optax."""
    def of(x, v, a, b):
        trees = {"way": {"x": a, "v": b}}
        given = [trees.get(each, each) if isinstance(each, str) else each for each in limits]
        if function.__name__ in ("projection_box", "projection_hypercube"):
            made = {"x": function(x, *given), "v": function(v, *given)}
        else:
            made = function({"x": x, "v": v}, *given)
        return jnp.concatenate([made["x"].ravel(), made["v"].ravel()])

    return PAIR, of


def boxed_by_trees(x, v, a, b):
    return jnp.concatenate([projections.projection_box(x, a, a + 0.4).ravel(), projections.projection_box(v, b, b + 0.4).ravel()])


p = projections
PROJECTIONS = {
    "projection_non_negative": projected(p.projection_non_negative), "projection_box": projected(p.projection_box, -0.3, 0.4),
    "projection_box_trees": (PAIR, boxed_by_trees), "projection_hypercube": projected(p.projection_hypercube, 0.5),
    "projection_linf_ball": projected(p.projection_linf_ball, 0.5), "projection_simplex": projected(p.projection_simplex, 3.0),
    "projection_l1_sphere": projected(p.projection_l1_sphere, 30.0), "projection_l1_ball": projected(p.projection_l1_ball, 2.0),
    "projection_l1_ball_inside": projected(p.projection_l1_ball, 1000.0), "projection_l2_sphere": projected(p.projection_l2_sphere, 2.0),
    "projection_l2_ball": projected(p.projection_l2_ball), "projection_l2_ball_inside": projected(p.projection_l2_ball, 1000.0),
    "projection_vector": projected(p.projection_vector, "way"), "projection_hyperplane": projected(p.projection_hyperplane, "way", 0.4),
    "projection_halfspace": projected(p.projection_halfspace, "way", -5.0),
    "projection_halfspace_inside": projected(p.projection_halfspace, "way", 1e3),
}

SCORES, SHARES = 2.0 * normal(6, 4), RANDOM.dirichlet(np.ones(4), size=6)
LABELS, BITS, SIGNS = RANDOM.integers(0, 4, 6), RANDOM.integers(0, 2, (6, 4)), np.where(RANDOM.random((6, 4)) < 0.5, -1.0, 1.0)
SOME = RANDOM.random((6, 4)) < 0.6
SOME[:, 0], WITH_NONE = True, SOME.copy()
WITH_NONE[2] = False
IMAGES, ONE_HOT = normal(2, 3, 5, 4), np.eye(4)[RANDOM.integers(0, 4, (2, 3, 5))]
SPARSE = SHARES * (SHARES > 0.2)
KL = optax.losses.generalized_kl_divergence


def loss(function, x, labels, where=None, weights=None, **options):
    further = {name: value for name, value in {"where": where, "weights": weights}.items() if value is not None}
    return {"x": x, "labels": labels, **further}, lambda x, labels, **given: function(x, labels, **given, **options)


o = optax.losses
LOSSES = {
    "sparsemax_loss": loss(o.sparsemax_loss, SCORES, BITS), "multiclass_sparsemax_loss": loss(o.multiclass_sparsemax_loss, SCORES, LABELS),
    "perceptron_loss": loss(o.perceptron_loss, SCORES, SIGNS), "multiclass_perceptron_loss": loss(o.multiclass_perceptron_loss, SCORES, LABELS),
    "make_fenchel_young_loss": loss(o.make_fenchel_young_loss(lambda row: jax.scipy.special.logsumexp(row, axis=-1)), SCORES, SHARES),
    "poly_loss_cross_entropy": loss(o.poly_loss_cross_entropy, SCORES, SHARES),
    "poly_loss_cross_entropy_axis": loss(o.poly_loss_cross_entropy, SCORES, SHARES, epsilon=-0.5, axis=0),
    "poly_loss_cross_entropy_where": loss(o.poly_loss_cross_entropy, SCORES, SHARES, where=SOME),
    "ranking_softmax_loss": loss(o.ranking_softmax_loss, SCORES, SHARES),
    "ranking_softmax_loss_where": loss(o.ranking_softmax_loss, SCORES, BITS, where=WITH_NONE),
    "ranking_softmax_loss_weights": loss(o.ranking_softmax_loss, SCORES, SHARES, where=SOME, weights=SHARES[::-1].copy()),
    "ranking_softmax_loss_sum": loss(o.ranking_softmax_loss, SCORES, SHARES, where=WITH_NONE, reduce_fn=jnp.sum),
    "ranking_softmax_loss_none": loss(o.ranking_softmax_loss, SCORES, SHARES, reduce_fn=None),
    "generalized_kl_divergence": loss(KL, SCORES, SPARSE), "generalized_kl_divergence_all": loss(KL, SCORES, SHARES, where=SOME, axis=None),
    "convex_kl_divergence": loss(KL, SCORES, SPARSE, axis=0),
    "multiclass_generalized_dice_loss": loss(o.multiclass_generalized_dice_loss, IMAGES, ONE_HOT),
    "multiclass_generalized_dice_loss_background": loss(o.multiclass_generalized_dice_loss, IMAGES, ONE_HOT, smooth=0.1, ignore_background=True),
    "multiclass_generalized_dice_loss_shares": loss(o.multiclass_generalized_dice_loss, SHARES[None], np.eye(4)[LABELS][None], apply_softmax=False),
}


class Fixed:
    """Noise that is the same in both libraries, whatever the key."""

    def __init__(self, values, log_prob):
        self.values, self.log_prob = values, log_prob

    def sample(self, key, shape, dtype):
        return self.values.reshape(shape)


def perturbed(log_prob, use_baseline):
    def of(x, z, c):
        function = lambda x: jnp.sum(jnp.round(3 * x) * c)  # noqa: E731
        return optax.perturbations.make_perturbed_fun(function, 1, 0.3, Fixed(z, log_prob), use_baseline)(jax.random.key(1), x)

    return {"x": normal(4), "z": normal(4), "c": normal(4)}, of


def second_order(function):
    def squares(params, x, y):
        return jnp.sum((jnp.tanh(x @ params["weight"].T + params["bias"]) - y) ** 2)

    return ({"x": normal(3, 4), "bias": normal(3), "inputs": normal(5, 4), "targets": normal(5, 3)},
            lambda x, bias, inputs, targets: function(squares, {"bias": bias, "weight": x}, inputs, targets))


def assignment(*shape):
    return {"x": normal(*shape)}, lambda x: jnp.stack(optax.assignment.hungarian_algorithm(x))


def power(x, v0):
    value, vector = optax.power_iteration(x, v0=v0, num_iters=30)
    return jnp.concatenate([value[None], vector])


def clipped(x, most):
    return optax.transforms._clipping.unitwise_clip(optax.transforms._clipping.unitwise_norm(x), most, x)


HALF = normal(5, 5)
OPTAX = {
    "hessian_diag": second_order(optax.second_order.hessian_diag), "fisher_diag": second_order(optax.second_order.fisher_diag),
    "make_perturbed_fun_gumbel": perturbed(lambda z: -z - jnp.exp(-z), True), "make_perturbed_fun_normal": perturbed(lambda z: -0.5 * z**2, False),
    "hungarian_square": assignment(9, 9), "hungarian_wide": assignment(5, 8), "hungarian_tall": assignment(8, 5),
    "nnls": ({"x": normal(6, 4), "y": normal(6)}, lambda x, y: optax.nnls(x, y, 50)),
    "nnls_columns": ({"x": normal(6, 4), "y": normal(6, 3)}, lambda x, y: optax.nnls(x, y, 50, unroll=5, L=40.0)),
    "power_iteration": ({"x": HALF @ HALF.T, "v0": normal(5)}, power),
    "unitwise_clip": ({"x": normal(3, 4), "most": np.full((3, 4), 1.5)}, clipped),
}
WITHOUT_GRADIENT = {"hungarian_square", "hungarian_wide", "hungarian_tall", "power_iteration"}


def weights_like(x):
    return np.cos(np.arange(x.size)).reshape(x.shape)


def wanted_of_jax(name, inputs, function):
    given = {key: jnp.asarray(each) for key, each in inputs.items()}
    value = function(**given)
    if name in WITHOUT_GRADIENT:
        return value, None
    return value, jax.grad(lambda x: jnp.sum(function(**(given | {"x": x})) * weights_like(value)))(given["x"])


# ---- Functions of PyTorch

def linear_of(x, bias):
    layer = nn.Linear(x.shape[1], x.shape[0])
    layer.weight, layer.bias = nn.Parameter(x), nn.Parameter(bias)
    return layer


def pruned(*steps):
    """The weight, the bias and the mask of the weight after these steps."""
    def of(x, bias, **others):
        layer = linear_of(x.detach().clone(), bias.detach().clone())
        for step in steps:
            step(layer, **others)
        made = {name: getattr(layer, f"{name}_mask", torch.ones_like(getattr(layer, name))) for name in ("weight", "bias")}
        return torch.cat([(x * made["weight"]).ravel(), bias * made["bias"], made["weight"].ravel()])

    return {"x": normal(5, 4), "bias": normal(5), "scores": normal(5, 4), "mask": RANDOM.integers(0, 2, (5, 4))}, of


def l1(amount):
    return lambda layer, **others: prune.l1_unstructured(layer, "weight", amount)


PRUNED = {
    "l1_unstructured": pruned(l1(0.3)),
    "l1_unstructured_scores": pruned(lambda layer, scores, **_: prune.l1_unstructured(layer, "weight", 5, importance_scores=scores)),
    "l1_unstructured_twice": pruned(l1(4), l1(0.5)),
    "ln_structured": pruned(lambda layer, **_: prune.ln_structured(layer, "weight", 2, 1, 0)),
    "ln_structured_twice": pruned(l1(7), lambda layer, **_: prune.ln_structured(layer, "weight", 0.5, 2, -1)),
    "global_unstructured": pruned(lambda layer, **_: prune.global_unstructured([(layer, "weight"), (layer, "bias")], prune.L1Unstructured, amount=9)),
    "custom_from_mask": pruned(lambda layer, mask, **_: prune.custom_from_mask(layer, "weight", mask)),
    "prune_identity": pruned(lambda layer, **_: prune.identity(layer, "weight")),
}


def orthogonal(shape, by, use_trivialization=True):
    """The weight, and where its original has moved by x, which leaves the signs on the diagonal as they are."""
    def made_of(weight):
        layer = nn.Linear(shape[1], shape[0], bias=False)
        layer.weight = nn.Parameter(weight.clone())
        return parametrizations.orthogonal(layer, orthogonal_map=by, use_trivialization=use_trivialization)

    def of(x, weight, base=None):
        layer = made_of(weight)
        found = layer.parametrizations.weight
        if base is not None:  # which has random columns otherwise
            found[0].base = base
        return torch.stack([layer.weight.detach(), found[0](found.original.detach() + x)])

    weight = normal(*shape)
    base = {"base": made_of(torch.tensor(weight)).parametrizations.weight[0].base.numpy()} if use_trivialization else {}
    return {"x": 0.3 * normal(*shape) * (1 - np.eye(*shape)), "weight": weight, **base}, of


SHAPES = {"tall": (5, 3), "wide": (3, 5), "square": (4, 4)}
ORTHOGONAL = {f"orthogonal_{by}_{name}{end}": orthogonal(shape, by, not end)
              for by in ("matrix_exp", "cayley", "householder") for name, shape in SHAPES.items() for end in ("", "_plain")}
ORTHOGONAL |= {f"orthogonal_default_{name}": orthogonal(SHAPES[name], None) for name in ("tall", "square")}


def fused(make, **inputs):
    def of(x, gamma, beta, mean, var, bias=None):
        scaled = x, bias, mean, var, 1e-5, gamma, beta
        weight, made = (fusion.fuse_linear_bn_weights(*scaled) if make is nn.Linear else fusion.fuse_conv_bn_weights(*scaled))
        return torch.cat([weight.ravel(), made])

    return inputs, of


def channels(n):
    return {"gamma": normal(n), "beta": normal(n), "mean": normal(n), "var": RANDOM.uniform(0.5, 2.0, n)}


def fused_groups(x, bias, gamma, beta, mean, var):
    """A transposed convolution of two groups, group by group: PyTorch's function takes no groups."""
    halves = [fusion.fuse_conv_bn_weights(x[2 * i:2 * i + 2], bias[2 * i:2 * i + 2], *(each[2 * i:2 * i + 2] for each in (mean, var)), 1e-5,
                                          *(each[2 * i:2 * i + 2] for each in (gamma, beta)), transpose=True) for i in range(2)]
    return torch.cat([torch.cat([weight for weight, _ in halves]).ravel(), *(bias for _, bias in halves)])


FUSED = {
    "fuse_conv_bn_eval": fused(nn.Conv2d, x=normal(4, 3, 2, 3), bias=normal(4), **channels(4)),
    "fuse_conv_bn_eval_groups": fused(nn.Conv1d, x=normal(4, 2, 3), **channels(4)),
    "fuse_conv_bn_eval_transposed": ({"x": normal(4, 2, 2, 3), "bias": normal(4), **channels(4)}, fused_groups),
    "fuse_linear_bn_eval": fused(nn.Linear, x=normal(5, 3), bias=normal(5), **channels(5)),
}


def to_vector(x, bias):
    return torch.cat([x.ravel(), bias])  # the order of a Linear's parameters


def from_vector(x, w, bias):
    return 2 * x[:w.numel()].reshape(w.shape) + x[w.numel():]


VECTORS = {"parameters_to_vector": ({"x": normal(3, 4), "bias": normal(3)}, to_vector),
           "vector_to_parameters": ({"x": normal(20), "w": normal(4, 4), "bias": normal(4)}, from_vector)}


def wanted_of_torch(name, inputs, function):
    given = {key: torch.tensor(each) for key, each in inputs.items()}
    given["x"].requires_grad_()
    value = function(**given)
    (value * torch.tensor(weights_like(value.detach().numpy()))).sum().backward()
    slope = given["x"].grad  # none of fused weights, which are parameters of their own
    return value.detach().numpy(), None if slope is None else slope.numpy()


# ---- Comparisons

OF_JAX = PROJECTIONS | LOSSES | OPTAX
OF_TORCH = PRUNED | ORTHOGONAL | FUSED | VECTORS


def failures_in(found):
    failures, checks, names = [], 0, {name.split("/")[0] for name in found}
    failures += [f"{name}: is compared with nothing" for name in sorted(names - set(OF_JAX) - set(OF_TORCH))]
    for cases, wanted_of in (OF_JAX, wanted_of_jax), (OF_TORCH, wanted_of_torch):
        for name, (inputs, function) in cases.items():
            value, gradient = wanted_of(name, inputs, function)
            for what, wanted in ("", value), ("/jitted", value), ("/gradient", gradient), ("/gradient_jitted", gradient):
                if wanted is None:
                    continue
                checks += 1
                if name + what not in found:
                    failures.append(f"{name}{what}: is not there")
                elif found[name + what].shape != wanted.shape:
                    failures.append(f"{name}{what}: is {found[name + what].shape}, expected {wanted.shape}")
                elif not np.allclose(found[name + what], wanted, rtol=TOLERANCE, atol=TOLERANCE):
                    failures.append(f"{name}{what}: by {np.abs(found[name + what] - np.asarray(wanted)).max():.1e}")
    return failures, checks


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(pathlib.Path(folder) / "inputs.npz",
                 **{f"{name}/{key}": np.asarray(each) for name, (inputs, _) in (OF_JAX | OF_TORCH).items() for key, each in inputs.items()})
        subprocess.run([sys.argv[1], "functions", folder], check=True)
        with np.load(pathlib.Path(folder) / "out.npz") as found:
            failures, checks = failures_in(dict(found))
    print("\n".join(failures) if failures else f"{checks} values and gradients of functions are optax's and PyTorch's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
