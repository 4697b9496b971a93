"""Compares the optimizers of C++ with PyTorch's, transformations with optax's, for 200 steps in f64, eager and jitted in turn; schedules
with both for 1,000 steps. Usage: optimizers_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp). Exits with 1 if anything differs.

The names of the cases are those of optimizer_cases.cpp."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import warnings
from unittest import mock

import jax
import numpy as np
import optax
import torch
from optax import contrib
from optax._src import factorized

jax.config.update("jax_enable_x64", True)
STEPS, TOLERANCE = 200, 1e-10
RANDOM = np.random.default_rng(3)
SHAPES = {"matrix": (4, 3), "vector": (5,), "number": ()}


def normal(shape):
    return RANDOM.normal(size=shape)


START = {name: normal(shape) for name, shape in SHAPES.items()} | {"complex": normal(3) + 1j * normal(3)}
TARGET = {name: normal(shape) for name, shape in SHAPES.items()} | {"complex": normal(3) + 1j * normal(3)}
CURVATURE = {name: RANDOM.uniform(0.2, 3.0, size=each.shape) for name, each in START.items()}
NOISE = {name: 0.3 * normal((STEPS, *shape)) for name, shape in SHAPES.items()} | {"complex": 0.3 * (normal((STEPS, 3)) + 1j * normal((STEPS, 3)))}
LOSSES = np.abs(normal(1000)) + np.exp(-np.arange(1000) / 50)


def gradient(name, value, step):
    """The gradient of a bowl, with noise."""
    return CURVATURE[name] * (value - TARGET[name]) + 0.1 * value * value * value + NOISE[name][step]


def loss(params, module=np):
    """The loss of that bowl, without the noise."""
    of = torch.tensor if module is torch else lambda x: x
    return sum(module.sum(of(CURVATURE[name]) * (value - of(TARGET[name])) ** 2 / 2 + 0.025 * value**4) for name, value in params.items())


# ---- PyTorch's

def complex_too(cls, **options):
    return cls, options, list(START)


def real_only(cls, **options):
    return cls, options, list(SHAPES)


t = torch.optim
OF_TORCH = {
    "sgd": complex_too(t.SGD, lr=0.01), "sgd_momentum": complex_too(t.SGD, lr=0.01, momentum=0.9),
    "sgd_dampening": complex_too(t.SGD, lr=0.01, momentum=0.9, dampening=0.5),
    "sgd_decay": complex_too(t.SGD, lr=0.01, momentum=0.9, weight_decay=0.1),
    "sgd_nesterov": complex_too(t.SGD, lr=0.01, momentum=0.9, weight_decay=0.1, nesterov=True),
    "sgd_maximize": complex_too(t.SGD, lr=1e-3, weight_decay=0.9, maximize=True),
    "sgd_groups": complex_too(t.SGD, lr=0.01, groups={"momentum": 0.9, "weight_decay": 0.1}),
    "asgd": complex_too(t.ASGD), "asgd_averaged": complex_too(t.ASGD, lr=0.02, lambd=0.1, t0=100),
    "asgd_decay": complex_too(t.ASGD, weight_decay=0.1, maximize=True),
    "rprop": complex_too(t.Rprop), "rprop_etas": complex_too(t.Rprop, lr=2e-4, etas=(0.4, 1.1), step_sizes=(2e-6, 10.0)),
    "rprop_maximize": complex_too(t.Rprop, maximize=True),
    "adam": complex_too(t.Adam), "adam_betas": complex_too(t.Adam, lr=0.01, betas=(0.8, 0.9)), "adam_decay": complex_too(t.Adam, weight_decay=0.1),
    "adam_amsgrad": complex_too(t.Adam, lr=0.01, weight_decay=0.1, amsgrad=True),
    "adam_maximize": complex_too(t.Adam, weight_decay=0.1, maximize=True),
    "adam_decoupled": complex_too(t.Adam, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "adam_groups": complex_too(t.Adam, groups={"lr": 0.01, "amsgrad": True}),
    "adamw": complex_too(t.AdamW), "adamw_amsgrad": complex_too(t.AdamW, lr=0.01, weight_decay=0.9, amsgrad=True),
    "adamax": complex_too(t.Adamax), "adamax_decay": complex_too(t.Adamax, lr=0.01, weight_decay=0.1, maximize=True),
    "nadam": complex_too(t.NAdam), "nadam_decay": complex_too(t.NAdam, lr=1e-3, weight_decay=0.1, momentum_decay=6e-3),
    "nadam_decoupled": complex_too(t.NAdam, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": complex_too(t.RAdam), "radam_betas": complex_too(t.RAdam, lr=0.01, betas=(0.5, 0.9)),
    "radam_decoupled": complex_too(t.RAdam, lr=2e-3, weight_decay=0.1, decoupled_weight_decay=True),
    "sparse_adam": real_only(t.SparseAdam, lr=0.01),
    "adagrad": complex_too(t.Adagrad),
    "adagrad_decay": complex_too(t.Adagrad, lr=0.1, lr_decay=0.5, weight_decay=0.1, initial_accumulator_value=0.1),
    "adagrad_maximize": complex_too(t.Adagrad, maximize=True),
    "adadelta": complex_too(t.Adadelta), "adadelta_decay": complex_too(t.Adadelta, rho=0.95, weight_decay=0.9, maximize=True),
    "rmsprop": complex_too(t.RMSprop), "rmsprop_centered": complex_too(t.RMSprop, lr=1e-3, weight_decay=0.1, centered=True),
    "rmsprop_momentum": complex_too(t.RMSprop, lr=1e-3, alpha=0.9, weight_decay=0.1, momentum=0.1, centered=True),
    "rmsprop_maximize": complex_too(t.RMSprop, momentum=0.5, maximize=True),
    "adafactor": real_only(t.Adafactor), "adafactor_decay": real_only(t.Adafactor, beta2_decay=-0.6, eps=(1e-10, 1e-2), d=1.5, weight_decay=0.1),
    "muon": (t.Muon, {}, ["matrix"]),
    "muon_rates": (t.Muon, {"lr": 0.01, "weight_decay": 0.0, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, ["matrix"]),
}
EXACT = types.SimpleNamespace(**{**vars(torch), "bfloat16": torch.float64})  # Muon rounds to bf16, where the order of a sum decides


def way_in_torch(cls, options, names):
    weights = {name: torch.nn.Parameter(torch.tensor(START[name])) for name in names}
    options = dict(options)
    own = options.pop("groups", None)
    given = list(weights.values())
    if own:
        given = [{"params": [weights[name] for name in names if name not in ("vector", "number")]},
                 {"params": [weights["vector"], weights["number"]], **own}]
    optimizer, way = cls(given, **options), []
    for step in range(STEPS):
        for name, weight in weights.items():
            weight.grad = torch.tensor(gradient(name, weight.detach().numpy(), step))
            if cls is t.SparseAdam:
                weight.grad = weight.grad.to_sparse()
        with mock.patch.object(torch.optim._muon, "torch", EXACT):
            optimizer.step()
        way.append({name: weight.detach().numpy().copy() for name, weight in weights.items()})
    for name, weight in weights.items():
        way[-1] |= {f"{state}.{name}": np.asarray(value) for state, value in optimizer.state[weight].items() if state != "step" and value is not None}
    return way


# ---- optax's

def schedule(step):
    return 0.1 / (1.0 + 0.1 * step)


m = types.SimpleNamespace(**{name: getattr(module, name) for module in (contrib, optax) for name in dir(module) if not name.startswith("__")})
MASK = {"matrix": True, "vector": False, "number": True}
SQUARES = m.stateless(lambda g, p: {k: g[k] * g[k] + 0.1 for k in g})  # in place of the diagonal of a Hessian
ADAM, F64 = m.adam(0.05), {"accumulator_dtype": "float64"}
OF_OPTAX = {
    "adam": m.adam(0.05, 0.8, 0.95, 1e-6, 1e-9), "adam_nesterov": m.adam(0.05, nesterov=True), "adamw": m.adamw(0.05, weight_decay=0.01),
    "adamw_masked": m.adamw(0.05, weight_decay=0.3, mask=MASK), "adamw_schedule": m.adamw(schedule, weight_decay=0.01), "sgd": m.sgd(0.05),
    "sgd_momentum": m.sgd(0.02, momentum=0.9), "sgd_nesterov": m.sgd(0.02, momentum=0.9, nesterov=True), "sign_sgd": m.sign_sgd(0.01),
    "signum": m.signum(0.01), "nadam": m.nadam(0.05), "nadamw": m.nadamw(0.05), "adabelief": m.adabelief(0.05),
    "adabelief_nesterov": m.adabelief(0.05, nesterov=True), "adadelta": m.adadelta(0.5, weight_decay=0.01),
    "adafactor": lambda: m.adafactor(schedule, min_dim_size_to_factor=2, momentum=0.8, weight_decay_rate=1e-3, dtype_momentum="float64"),
    "adafactor_not_factored": lambda: m.adafactor(0.05), "adagrad": m.adagrad(0.1), "adamax": m.adamax(0.05),
    "adamaxw": m.adamaxw(0.05, weight_decay=0.01), "adan": m.adan(0.02, weight_decay=0.01), "amsgrad": m.amsgrad(0.05),
    "amsgrad_biased": m.amsgrad(0.05, bias_correction_mu=False, bias_correction_nu=False), "fromage": m.fromage(0.02),
    "fromage_schedule": m.fromage(schedule), "lamb": m.lamb(0.02, weight_decay=0.01), "lars": m.lars(0.5, weight_decay=0.01),
    "lars_masked": m.lars(0.5, weight_decay=0.01, weight_decay_mask=lambda p: {k: p[k].ndim > 1 for k in p}, nesterov=True), "lion": m.lion(0.01),
    "novograd": m.novograd(0.02, weight_decay=0.01), "optimistic_gradient_descent": m.optimistic_gradient_descent(0.02, 0.9, 0.7),
    "optimistic_adam": m.optimistic_adam(0.02, 0.03), "optimistic_adam_v2": m.optimistic_adam_v2(0.02, alpha=0.8), "radam": m.radam(0.05),
    "radam_nesterov": m.radam(0.05, b2=0.9, nesterov=True), "rmsprop": m.rmsprop(0.02),
    "rmsprop_centred": m.rmsprop(0.02, centered=True, momentum=0.7, initial_scale=2.0, eps=1e-3),
    "rmsprop_outside": m.rmsprop(0.02, eps_in_sqrt=False, momentum=0.7, nesterov=True, bias_correction=True), "rprop": m.rprop(0.02),
    "adopt": m.adopt(0.05), "yogi": m.yogi(0.05), "ademamix": m.ademamix(0.02, weight_decay=0.01),
    "ademamix_schedules": m.ademamix(0.02, b3=schedule, alpha=schedule), "simplified_ademamix": m.simplified_ademamix(0.002, alpha=0.5),
    "acprop": m.acprop(0.02, eps=1e-8), "madgrad": m.madgrad(0.02), "cocob": m.cocob(weight_decay=0.01),
    "multi_steps": m.MultiSteps(ADAM, 3, **F64).gradient_transformation(),
    "multi_steps_sums": m.MultiSteps(ADAM, lambda step: 1 + step % 2, use_grad_mean=False, **F64).gradient_transformation(),
    "multi_steps_finite": m.MultiSteps(ADAM, 3, should_skip_update_fn=m.skip_not_finite, **F64).gradient_transformation(),
    "multi_steps_small": m.MultiSteps(ADAM, 3, should_skip_update_fn=lambda g, step, p: m.skip_large_updates(g, step, p, 221.0),
                                      **F64).gradient_transformation(),
    "apply_if_finite": m.apply_if_finite(ADAM, 3), "schedule_free": m.schedule_free(m.adam(0.05, b1=0.0), 0.05),
    "schedule_free_sgd": m.schedule_free_sgd(0.05, warmup_steps=10, weight_decay=0.01),
    "schedule_free_adamw": m.schedule_free_adamw(0.05, weight_decay=0.01), "sam": m.sam(ADAM, m.chain(m.normalize(), m.sgd(0.1)), sync_period=3),
    "sam_kept_state": m.sam(m.sgd(0.05), m.adam(0.1), reset_state=False), "mechanize": m.mechanize(ADAM, s_init=1e-2),
    "prodigy": m.prodigy(schedule, estim_lr0=1e-3, weight_decay=0.01),
    "prodigy_safeguarded": m.prodigy(0.1, beta3=0.9, estim_lr0=1e-3, safeguard_warmup=True),
    "dadapt_adamw": m.dadapt_adamw(0.1, estim_lr0=1e-3, weight_decay=0.01), "dog": m.dog(0.1, weight_decay=0.01),
    "dog_distance": m.dog(0.1, init_step=("distance", 0.1)), "dog_rate": m.dog(0.1, init_step=("learning_rate", 0.1)),
    "dowg": m.dowg(0.1, weight_decay=0.01), "dowg_distance": m.dowg(0.1, init_estim_sq_dist=0.1), "muon": m.muon(0.05, weight_decay=0.01),
    "muon_dion": m.muon(0.05, ns_coeffs="dion", consistent_rms=0.2, nesterov=False, adaptive=True),
    "galore": m.galore(0.05, rank=2, update_proj_gap=5, weight_decay=0.01),
    "galore_of_lion": m.galore(0.01, rank=1, update_proj_gap=7, scale=0.5, base_optimizer=m.scale_by_lion()),
    "galore_turned": m.galore(0.05, rank=2, update_proj_gap=5, weight_dimension_numbers=contrib.GaLoreDimensionNumbers(-1, 0)),
    "sophia": m.sophia(0.05, gamma=0.5, update_interval=3, hessian_diagonal_fn=SQUARES), "sm3": m.sm3(0.05),
    "sophia_not_clipped": m.sophia(0.02, gamma=1.0, clip_threshold=None, eps=0.5, hessian_diagonal_fn=SQUARES),
    "muon_schatten": m.muon(0.05, preconditioning="schatten"), "muon_aol": m.muon(0.05, preconditioning="aol", adam_learning_rate=0.02),
}
PARTS = {
    "scale_by_amsgrad": m.scale_by_amsgrad(), "scale_by_adamax": m.scale_by_adamax(), "scale_by_adan": m.scale_by_adan(),
    "scale_by_belief": m.scale_by_belief(), "scale_by_yogi": m.scale_by_yogi(eps_root=1e-8, initial_accumulator_value=1e-3),
    "scale_by_radam": m.scale_by_radam(threshold=8.0), "scale_by_lion": m.scale_by_lion(),
    "scale_by_lion_smooth": m.scale_by_lion(mode="smooth", smooth_beta=2.0), "scale_by_lion_refined": m.scale_by_lion(mode="refined"),
    "scale_by_acprop": m.scale_by_acprop(eps=1e-8), "scale_by_ademamix": m.scale_by_ademamix(),
    "scale_by_simplified_ademamix": m.scale_by_simplified_ademamix(0.9), "scale_by_adopt": m.scale_by_adopt(),
    "scale_by_adopt_nesterov": m.scale_by_adopt(nesterov=True, use_clipping=False), "scale_by_rss": m.scale_by_rss(),
    "scale_by_rms": m.scale_by_rms(bias_correction=True),
    "scale_by_stddev": m.scale_by_stddev(eps=1e-3, initial_scale=3.0, eps_in_sqrt=True, bias_correction=True),
    "scale_by_adadelta": m.scale_by_adadelta(eps=1e-3), "scale_by_novograd": m.scale_by_novograd(),
    "scale_by_optimistic_gradient": m.scale_by_optimistic_gradient(), "scale_by_rprop": m.scale_by_rprop(0.5), "apply_every": m.apply_every(3),
    "scale_by_cocob": m.scale_by_cocob(), "scale_by_madgrad": m.scale_by_madgrad(-0.1),
    "scale_by_distance_over_gradients": m.scale_by_distance_over_gradients(reps_rel=0.1, param_dtype="float64"),
    "scale_by_factored_rms": lambda: m.scale_by_factored_rms(min_dim_size_to_factor=3),
    "scale_by_learning_rate": m.scale_by_learning_rate(0.3, flip_sign=False), "scale": m.scale(0.3), "scale_by_sign": m.scale_by_sign(),
    "scale_by_param_block_norm": m.scale_by_param_block_norm(0.3), "scale_by_param_block_rms": m.scale_by_param_block_rms(),
    "scale_by_trust_ratio": m.scale_by_trust_ratio(0.1, 0.5, 0.01), "normalize_by_update_norm": m.normalize_by_update_norm(0.7),
    "normalize": m.normalize(), "centralize": m.centralize(), "add_decayed_weights": m.add_decayed_weights(0.3),
    "add_decayed_weights_schedule": m.add_decayed_weights(schedule), "keep_params_nonnegative": m.keep_params_nonnegative(),
    "freeze": m.freeze(MASK), "selective_transform": m.selective_transform(m.scale_by_adam(), freeze_mask=MASK),
    "masked": m.masked(m.scale_by_adam(), MASK),
    "partition": m.partition({"a": m.scale_by_adam(), "b": m.trace(0.9)}, {"matrix": "a", "vector": "b", "number": "a"}),
    "named_chain": m.named_chain(("a", m.clip(0.5)), ("b", m.scale_by_adam())), "flatten": m.flatten(m.scale_by_trust_ratio()),
    "stateless_with_tree_map": m.stateless_with_tree_map(lambda g, p: g + 0.1 * p), "identity": m.identity(), "clip": m.clip(0.5),
    "clip_by_global_norm": m.clip_by_global_norm(1.5), "clip_by_block_rms": m.clip_by_block_rms(0.5), "adaptive_grad_clip": m.adaptive_grad_clip(0.3),
    "clip_by_norm": m.stateless(lambda g, p: {k: g[k] / jax.numpy.maximum(jax.numpy.sqrt((g[k] ** 2).sum()) / 0.5, 1.0) for k in g}),
    "zero_nans": m.zero_nans(), "scale_by_adam": m.scale_by_adam(), "scale_by_schedule": m.scale_by_schedule(schedule),
    "trace": m.trace(0.9, nesterov=True), "ema": m.ema(0.8), "ema_biased": m.ema(0.8, debias=False),
    "conditionally_transform": m.conditionally_transform(m.scale_by_adam(), lambda step: step % 3 > 0),
    "conditionally_mask": m.conditionally_mask(m.scale_by_adam(), lambda step: step % 3 > 0),
    "split_real_and_imaginary": m.split_real_and_imaginary(m.scale_by_adam()), "monitor": m.monitor({"norm": m.global_norm}),
}
WITH_VALUE = {
    "polyak_sgd": m.polyak_sgd(0.1), "polyak_sgd_plus": m.polyak_sgd(0.1, f_min=2.0, eps=0.1, variant="sps+"),
    "momo": m.momo(0.1, weight_decay=0.01), "momo_adapted": m.momo(0.1, lower_bound=3.0, adapt_lower_bound=True),
    "momo_adam": m.momo_adam(0.05, weight_decay=0.01), "momo_adam_adapted": m.momo_adam(0.05, lower_bound=3.0, adapt_lower_bound=True),
    "reduce_on_plateau": m.chain(m.sgd(0.05), m.reduce_on_plateau(0.5, patience=3, cooldown=2)),
    "reduce_on_plateau_means": m.chain(m.sgd(0.05), m.reduce_on_plateau(0.5, patience=2, accumulation_size=3, min_scale=0.1)),
}
CLASSES = {"lion_class": m.lion(0.01, weight_decay=0.1), "lamb_class": m.lamb(0.01, weight_decay=0.1),
           "lars_class": m.lars(2.0, eps=0.1, nesterov=True, trust_coefficient=0.01)}
LOOKAHEAD = {"lookahead": {}, "lookahead_reset": {"reset_state": True}}


def with_wide_counts(state):
    """With i64 instead of i32, of which roots and schedules are f32."""
    if not any(name in repr(state) for name in ("Madgrad", "ScheduleFree")):
        return state
    return jax.tree.map(lambda each: each.astype("int64") if getattr(each, "dtype", None) == np.int32 else each, state)


def arrays(tree):
    return {name: jax.numpy.asarray(each) for name, each in tree.items()}


def gradients(params, step):
    return arrays({name: gradient(name, np.asarray(each), step) for name, each in params.items()})


def way_in_optax(transformation, with_value=False, names=tuple(SHAPES)):
    transformation = transformation() if not hasattr(transformation, "init") else transformation

    def step_of(params, state, given, named):
        updates, state = optax.with_extra_args_support(transformation).update(given, state, params, **named)
        return optax.apply_updates(params, updates), state

    run, params = jax.jit(step_of), arrays({name: START[name] for name in names})
    state, way = with_wide_counts(transformation.init(params)), []
    for step in range(STEPS):
        named = {"value": np.asarray(loss({name: np.asarray(each) for name, each in params.items()}))} if with_value else {}
        params, state = run(params, state, gradients(params, step), named)
        way.append({name: np.asarray(each) for name, each in params.items()})
    return way


def way_of_lookahead(options):
    """optax has slow weights as a part of the weights."""
    transformation = optax.lookahead(optax.adam(0.05), 4, 0.6, **options)
    both, way = optax.LookaheadParams.init_synced(arrays({name: START[name] for name in SHAPES})), []
    state, update, apply = transformation.init(both), jax.jit(transformation.update), jax.jit(optax.apply_updates)
    for step in range(STEPS):
        updates, state = update(gradients(both.fast, step), state, both)
        both = apply(both, updates)
        way.append({name: np.asarray(each) for name, each in both.fast.items()})
    return way


# ---- Searches, for a few steps on the bowl without noise

SEARCHES = 12
WITH_SEARCH = {
    "lbfgs": m.lbfgs(), "lbfgs_rate": m.lbfgs(0.1, memory_size=3, scale_init_precond=False, linesearch=None),
    "scale_by_lbfgs": m.chain(m.scale_by_lbfgs(4), m.scale(-0.3)), "zoom": m.chain(m.sgd(1.0), m.scale_by_zoom_linesearch(15)),
    "zoom_bounded": m.chain(m.adam(0.1), m.scale_by_zoom_linesearch(15, max_learning_rate=3.0, curv_rtol=0.1)),
    "zoom_flat": m.chain(m.sgd(1.0), m.scale_by_zoom_linesearch(15, increase_factor=8.0, curv_rtol=1e-4, approx_dec_rtol=None)),
    "backtracking": m.chain(m.sgd(1.0), m.scale_by_backtracking_linesearch(15)),
    "backtracking_longer": m.chain(m.adam(0.3), m.scale_by_backtracking_linesearch(15, max_learning_rate=4.0, increase_factor=2.0, rtol=1e-3)),
}
LBFGS = {"lbfgs": {"lr": 0.3, "max_iter": 2, "history_size": 3}, "lbfgs_wolfe": {"max_iter": 2, "history_size": 3, "line_search_fn": "strong_wolfe"},
         "lbfgs_few": {"max_iter": 3, "max_eval": 3, "line_search_fn": "strong_wolfe"},
         "valley": {"max_iter": 2, "max_eval": 10, "line_search_fn": "strong_wolfe"},
         "valley_long": {"lr": 30.0, "max_iter": 2, "line_search_fn": "strong_wolfe"},
         "lbfgs_long": {"lr": 30.0, "max_iter": 2, "line_search_fn": "strong_wolfe"}}


def way_of_search(transformation):
    def value_fn(params):
        return loss(params, jax.numpy)

    def step_of(params, state):
        value, grad = jax.value_and_grad(value_fn)(params)
        updates, state = optax.with_extra_args_support(transformation).update(grad, state, params, value=value, grad=grad, value_fn=value_fn)
        return optax.apply_updates(params, updates), state

    run, params = jax.jit(step_of), arrays({name: START[name] for name in SHAPES})
    state, way = transformation.init(params), []
    for _ in range(SEARCHES):
        params, state = run(params, state)
        way.append({name: np.asarray(each) for name, each in params.items()})
    return way


def valley(weights):
    """Rosenbrock's function, where searches take longer."""
    x = weights["vector"]
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def way_of_lbfgs(options, is_valley):
    starts = {"vector": 5 * START["vector"]} if is_valley else {name: START[name] for name in sorted(SHAPES)}
    weights = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in starts.items()}
    optimizer, way = torch.optim.LBFGS(list(weights.values()), **options), []

    def closure():
        optimizer.zero_grad()
        value = valley(weights) if is_valley else loss(weights, torch)
        value.backward()
        return value

    for _ in range(SEARCHES):
        optimizer.step(closure)
        way.append({name: weight.detach().numpy().copy() for name, weight in weights.items()})
    return way


# ---- Schedules

lrs = torch.optim.lr_scheduler
ALL_STEPS = np.arange(1000)
RISE = np.minimum(ALL_STEPS / 100, 1)
CYCLIC = {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 30, "cycle_momentum": False}
SCHEDULES_OF_TORCH = {  # and the tolerance: PyTorch multiplies the last rate by a factor, whose roundings accumulate
    "StepLR": (lambda o: lrs.StepLR(o, 7, 0.9), 1e-12), "MultiStepLR": (lambda o: lrs.MultiStepLR(o, [3, 50, 51, 400], 0.3), 1e-12),
    "ConstantLR": (lambda o: lrs.ConstantLR(o, 0.25, 40), 1e-12), "LinearLR": (lambda o: lrs.LinearLR(o, 0.1, 0.7, 333), 1e-11),
    "ExponentialLR": (lambda o: lrs.ExponentialLR(o, 0.995), 1e-12), "PolynomialLR": (lambda o: lrs.PolynomialLR(o, 700, 1.5), 1e-9),
    "CosineAnnealingLR": (lambda o: lrs.CosineAnnealingLR(o, 1001, 1e-3), 1e-9),
    "CosineAnnealingWarmRestarts": (lambda o: lrs.CosineAnnealingWarmRestarts(o, 10, 2, 0.01), 1e-12),
    "CosineAnnealingWarmRestarts_same": (lambda o: lrs.CosineAnnealingWarmRestarts(o, 13), 1e-12),
    "OneCycleLR": (lambda o: lrs.OneCycleLR(o, 0.3, total_steps=1001), 1e-12),
    "OneCycleLR_three": (lambda o: lrs.OneCycleLR(o, 0.3, total_steps=1001, three_phase=True, anneal_strategy="linear", div_factor=10.0), 1e-12),
    "CyclicLR": (lambda o: lrs.CyclicLR(o, **CYCLIC), 1e-12),
    "CyclicLR_2": (lambda o: lrs.CyclicLR(o, **CYCLIC, step_size_down=50, mode="triangular2"), 1e-12),
    "CyclicLR_range": (lambda o: lrs.CyclicLR(o, **CYCLIC, mode="exp_range", gamma=0.999), 1e-12),
    "CyclicLR_function": (lambda o: lrs.CyclicLR(o, **CYCLIC, scale_fn=lambda cycle: 1 / cycle), 1e-12),
    "LambdaLR": (lambda o: lrs.LambdaLR(o, lambda step: 1 / (1 + 0.1 * step)), 1e-12),
    "SWALR": (lambda o: torch.optim.swa_utils.SWALR(o, 0.02, anneal_epochs=30), 1e-9),
    "SequentialLR": (lambda o: lrs.SequentialLR(o, [lrs.ConstantLR(o, 0.1, 20), lrs.ExponentialLR(o, 0.99), lrs.StepLR(o, 100)], [20, 500]), 1e-12),
    "ChainedScheduler": (lambda o: lrs.ChainedScheduler([lrs.ConstantLR(o, 0.1, 20), lrs.ExponentialLR(o, 0.99)]), 1e-12),
}
CYCLING = CYCLIC | {"cycle_momentum": True}
MOMENTA_OF_TORCH = {
    "CyclicLR_momentum": lambda o: lrs.CyclicLR(o, **CYCLING),
    "CyclicLR_2_momentum": lambda o: lrs.CyclicLR(o, **CYCLING, step_size_down=50, mode="triangular2", base_momentum=0.6, max_momentum=0.8),
    "OneCycleLR_momentum": lambda o: lrs.OneCycleLR(o, 0.3, total_steps=1001),
    "OneCycleLR_three_momentum": lambda o: lrs.OneCycleLR(o, 0.3, total_steps=1001, three_phase=True, anneal_strategy="linear", base_momentum=0.5,
                                                          max_momentum=0.9),
}
s = optax.schedules
SCHEDULES_OF_OPTAX = {
    "constant_schedule": s.constant_schedule(0.3), "linear_schedule": s.linear_schedule(0.3, 0.01, 400, 50),
    "polynomial_schedule": s.polynomial_schedule(0.3, 0.01, 2.5, 400, transition_begin=10),
    "exponential_decay": s.exponential_decay(0.3, 100, 0.5, transition_begin=30, staircase=True),
    "exponential_decay_down": s.exponential_decay(0.3, 100, 0.5, end_value=0.1),
    "exponential_decay_up": s.exponential_decay(0.3, 100, 1.5, end_value=2.0), "cosine_decay_schedule": s.cosine_decay_schedule(0.3, 700, 0.1, 2.0),
    "piecewise_constant_schedule": s.piecewise_constant_schedule(0.3, {10: 0.5, 700: 3.0, 50: 0.1}),
    "piecewise_interpolate_schedule": s.piecewise_interpolate_schedule("linear", 0.3, {10: 0.5, 700: 3.0}),
    "piecewise_interpolate_schedule_cosine": s.piecewise_interpolate_schedule("cosine", 0.3, {10: 0.5, 700: 3.0, 50: 0.1}),
    "linear_onecycle_schedule": s.linear_onecycle_schedule(900, 0.3),
    "cosine_onecycle_schedule": s.cosine_onecycle_schedule(900, 0.3, pct_start=0.2, div_factor=10.0),
    "warmup_constant_schedule": s.warmup_constant_schedule(0.01, 0.3, 100),
    "warmup_cosine_decay_schedule": s.warmup_cosine_decay_schedule(0.01, 0.3, 100, 800, end_value=0.001, exponent=1.5),
    "warmup_exponential_decay_schedule": s.warmup_exponential_decay_schedule(0.01, 0.3, 100, 50, 0.9, end_value=0.1),
    "sgdr_schedule": s.sgdr_schedule([{"init_value": 0.0, "peak_value": peak, "warmup_steps": 20, "decay_steps": 250} for peak in (0.3, 0.2, 0.1)]),
}
FURTHER_SCHEDULES = {
    "natural_exp_decay": 0.1 * np.exp(-2 * ALL_STEPS / 300), "natural_exp_decay_stairs": 0.1 * np.exp(-2.0 * (ALL_STEPS // 300)),
    "inverse_sqrt_schedule": 0.1 * np.where(ALL_STEPS < 100, RISE, np.sqrt(100 / np.maximum(ALL_STEPS, 1))),
    "warmup_linear_decay_schedule": np.where(ALL_STEPS < 100, 0.1 * RISE, np.maximum(0.1 - 0.09 * (ALL_STEPS - 100) / 500, 0.01)),
    "warmup_stable_decay_schedule": 0.1 * RISE * np.clip(1 - (ALL_STEPS - 600) / 200, 0, 1),
    "warmup_stable_decay_schedule_cosine": 0.1 * RISE * (1 + np.cos(np.pi * np.clip((ALL_STEPS - 600) / 200, 0, 1))) / 2,
}
PLATEAUS = [{"patience": 3}, {"mode": "max", "patience": 5, "factor": 0.5, "cooldown": 4, "min_lr": 1e-3},
            {"threshold_mode": "abs", "threshold": 0.01, "patience": 0, "factor": 0.9, "cooldown": 1}]


def rates_of_torch(make, metrics=None, number="lr"):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.9)
    scheduler, rates = make(optimizer), []
    for step in ALL_STEPS:
        rates.append(optimizer.param_groups[0][number])
        optimizer.step()
        scheduler.step(*([] if metrics is None else [metrics[step]]))
        if metrics is not None:
            rates[-1] = optimizer.param_groups[0]["lr"]
    return np.array(rates)


# ---- Comparisons

def difference_of_ways(found, wanted):
    """The largest difference over all steps, relative to the length of the way; of states, at the end, relative to their size."""
    length = max(np.abs(step[name] - START[name]).max() for step in wanted for name in wanted[0])
    states = [np.abs(found[name][0] - value.reshape(found[name][0].shape)).max() / max(np.abs(value).max(), 1e-3)
              for name, value in wanted[-1].items() if "." in name and name in found]
    return max([np.abs(found[name][i] - step[name]).max() / length for i, step in enumerate(wanted) for name in wanted[0]] + states)


def wanted_ways():
    for name, (cls, options, names) in OF_TORCH.items():
        yield f"torch/{name}", way_in_torch(cls, options, names)
    for name, each in CLASSES.items():
        yield f"torch/{name}", way_in_optax(each)
    for name, each in OF_OPTAX.items():
        yield f"optax/{name}", way_in_optax(each, names=["matrix", "vector"] if name == "sm3" else SHAPES)  # optax's does not take numbers
    for name, each in PARTS.items():
        yield f"optax/{name}", way_in_optax(m.chain(each() if not hasattr(each, "init") else each, m.scale(-0.05)))
    for name, each in WITH_VALUE.items():
        yield f"optax/{name}", way_in_optax(each, with_value=True)
    for name, each in WITH_SEARCH.items():
        yield f"search/{name}", way_of_search(each)
    for name, options in LBFGS.items():
        yield f"lbfgs/{name}", way_of_lbfgs(options, name.startswith("valley"))
    for name, options in LOOKAHEAD.items():
        yield f"optax/{name}", way_of_lookahead(options)


def wanted_rates():
    for name, (make, tolerance) in SCHEDULES_OF_TORCH.items():
        yield f"schedule/{name}", rates_of_torch(make), tolerance
    for name, make in MOMENTA_OF_TORCH.items():
        yield f"schedule/{name}", rates_of_torch(make, number="momentum"), 1e-12
    for name, each in SCHEDULES_OF_OPTAX.items():
        yield f"schedule/{name}", np.array(jax.vmap(lambda step: jax.numpy.asarray(each(step), dtype=float))(jax.numpy.arange(1000))), 1e-12
    for name, each in FURTHER_SCHEDULES.items():
        yield f"schedule/{name}", each, 1e-12
    for i, options in enumerate(PLATEAUS):
        yield f"plateau/{i}", rates_of_torch(lambda optimizer: lrs.ReduceLROnPlateau(optimizer, **options), LOSSES), 1e-15


def problem():
    parts = {"start": START, "target": TARGET, "curvature": CURVATURE, "noise": NOISE}
    return {f"{part}.{name}": np.asarray(value) for part, values in parts.items() for name, value in values.items()} | {"losses": LOSSES}


# Its moments are kept when the projection is computed again, so they depend on the signs of singular vectors, which are LAPACK's here and there.
DEPENDS_ON_SIGNS = "optax/galore"


def failures_in(found):
    names, checks, failures = {name.rsplit("/", 1)[0] for name in found if not name.startswith(("schedule", "plateau"))}, 0, []
    for name, way in wanted_ways():
        if DEPENDS_ON_SIGNS in name and os.environ.get("PLAIT_HAS_LAPACK") == "0":
            names.discard(name)
            continue
        checks += 1
        own = {each.rsplit("/", 1)[1]: array for each, array in found.items() if each.rsplit("/", 1)[0] == name}
        if set(own) != set(way[-1]) and name.removeprefix("torch/") not in CLASSES:
            failures.append(f"{name}: has {sorted(own)}, expected {sorted(way[-1])}")
        elif not (difference := difference_of_ways(own, way)) < TOLERANCE:
            failures.append(f"{name}: by {difference:.1e}")
        names.discard(name)
    failures += [f"{name}: is compared with nothing" for name in sorted(names)]
    for name, rates, tolerance in wanted_rates():
        for full in (name, f"{name}/jitted") if name.startswith("schedule") else (name,):
            checks += 1
            if full not in found or not np.allclose(found[full], rates, rtol=tolerance, atol=1e-16 if tolerance < 1e-11 else 1e-12):
                failures.append(f"{full}: " + (f"by {np.abs(found[full] - rates).max():.1e}" if full in found else "is not there"))
    return failures, checks


def prepare():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    galore = sys.modules[contrib.galore.__module__]  # whose projections optax computes in f32
    galore.jnp = types.SimpleNamespace(**{**vars(galore.jnp), "float32": galore.jnp.float64})
    decay = factorized.scale_by_factored_rms  # which optax computes in f32
    decay.__defaults__ = (*decay.__defaults__[:-1], lambda step, exponent: 1.0 - (step + 1.0) ** -exponent)


def main():
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        np.savez(pathlib.Path(folder) / "problem.npz", **problem())
        subprocess.run([sys.argv[1], "optimizers", folder], check=True)
        with np.load(pathlib.Path(folder) / "out.npz") as found:
            failures, checks = failures_in(dict(found))
    print("\n".join(failures) if failures else f"{checks} optimizers and schedules are PyTorch's and optax's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
