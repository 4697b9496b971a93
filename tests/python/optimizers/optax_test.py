"""Every transformation and alias, compared with optax's for 200 steps in f64."""

import unittest

import numpy as np
import optax
import plait as pl
import with_optax
from optax import contrib

STEPS = with_optax.STEPS


def scaled(make):
    """A transformation that does not descend by itself."""
    return lambda module: module.chain(make(module), module.scale(-0.05))


def schedule(step):
    return 0.1 / (1.0 + 0.1 * (pl.astype(step, pl.f64) if isinstance(step, pl.Tensor) else step))


ALIASES = {
    "adam": lambda m: m.adam(0.05, 0.8, 0.95, 1e-6, 1e-9),
    "adam, nesterov": lambda m: m.adam(0.05, nesterov=True),
    "adamw": lambda m: m.adamw(0.05, weight_decay=0.01),
    "adamw, masked": lambda m: m.adamw(0.05, weight_decay=0.3, mask={"matrix": True, "vector": False, "number": True}),
    "adamw, schedule": lambda m: m.adamw(schedule, weight_decay=0.01),
    "sgd": lambda m: m.sgd(0.05),
    "sgd, momentum": lambda m: m.sgd(0.02, momentum=0.9),
    "sign_sgd": lambda m: m.sign_sgd(0.01),
    "signum": lambda m: m.signum(0.01),
    "nadam": lambda m: m.nadam(0.05),
    "nadamw": lambda m: m.nadamw(0.05),
    "adabelief": lambda m: m.adabelief(0.05),
    "adabelief, nesterov": lambda m: m.adabelief(0.05, nesterov=True),
    "adadelta": lambda m: m.adadelta(0.5, weight_decay=0.01),
    "adafactor": lambda m: m.adafactor(schedule, min_dim_size_to_factor=2, momentum=0.8, weight_decay_rate=1e-3, dtype_momentum="float64"),
    "adafactor, not factored": lambda m: m.adafactor(0.05),
    "adagrad": lambda m: m.adagrad(0.1),
    "adamax": lambda m: m.adamax(0.05),
    "adamaxw": lambda m: m.adamaxw(0.05, weight_decay=0.01),
    "adan": lambda m: m.adan(0.02, weight_decay=0.01),
    "amsgrad": lambda m: m.amsgrad(0.05),
    "amsgrad, biased": lambda m: m.amsgrad(0.05, bias_correction_mu=False, bias_correction_nu=False),
    "fromage": lambda m: m.fromage(0.02),
    "fromage, schedule": lambda m: m.fromage(schedule),
    "lamb": lambda m: m.lamb(0.02, weight_decay=0.01),
    "lars": lambda m: m.lars(0.5, weight_decay=0.01),
    "lars, masked": lambda m: m.lars(0.5, weight_decay=0.01, weight_decay_mask=lambda p: {k: p[k].ndim > 1 for k in p}, nesterov=True),
    "lion": lambda m: m.lion(0.01),
    "novograd": lambda m: m.novograd(0.02, weight_decay=0.01),
    "optimistic_gradient_descent": lambda m: m.optimistic_gradient_descent(0.02, 0.9, 0.7),
    "optimistic_adam": lambda m: m.optimistic_adam(0.02, 0.03),
    "optimistic_adam_v2": lambda m: m.optimistic_adam_v2(0.02, alpha=0.8),
    "radam": lambda m: m.radam(0.05),
    "radam, nesterov": lambda m: m.radam(0.05, b2=0.9, nesterov=True),
    "rmsprop": lambda m: m.rmsprop(0.02),
    "rmsprop, centred": lambda m: m.rmsprop(0.02, centered=True, momentum=0.7, initial_scale=2.0, eps=1e-3),
    "rmsprop, outside": lambda m: m.rmsprop(0.02, eps_in_sqrt=False, momentum=0.7, nesterov=True, bias_correction=True),
    "rprop": lambda m: m.rprop(0.02),
    "adopt": lambda m: m.adopt(0.05),
    "yogi": lambda m: m.yogi(0.05),
    "ademamix": lambda m: m.ademamix(0.02, weight_decay=0.01),
    "ademamix, schedules": lambda m: m.ademamix(0.02, b3=schedule, alpha=schedule),
    "simplified_ademamix": lambda m: m.simplified_ademamix(0.002, alpha=0.5),
    "acprop": lambda m: m.acprop(0.02, eps=1e-8),
    "madgrad": lambda m: m.madgrad(0.02),
    "cocob": lambda m: m.cocob(weight_decay=0.01),
    "MultiSteps": lambda m: m.MultiSteps(m.adam(0.05), 3, accumulator_dtype="float64").gradient_transformation(),
    "MultiSteps, sums, schedule": lambda m: m.MultiSteps(m.adam(0.05), lambda step: 1 + step % 2, use_grad_mean=False,
                                                         accumulator_dtype="float64").gradient_transformation(),
    "MultiSteps, skip_not_finite": lambda m: m.MultiSteps(m.adam(0.05), 3, should_skip_update_fn=m.skip_not_finite,
                                                          accumulator_dtype="float64").gradient_transformation(),
    "MultiSteps, skip_large_updates": lambda m: m.MultiSteps(
        m.adam(0.05), 3, should_skip_update_fn=lambda g, step, p: m.skip_large_updates(g, step, p, 221.0),
        accumulator_dtype="float64").gradient_transformation(),
    "apply_if_finite": lambda m: m.apply_if_finite(m.adam(0.05), 3),
    "schedule_free": lambda m: m.schedule_free(m.adam(0.05, b1=0.0), 0.05),
    "schedule_free_sgd": lambda m: m.schedule_free_sgd(0.05, warmup_steps=10, weight_decay=0.01),
    "schedule_free_adamw": lambda m: m.schedule_free_adamw(0.05, weight_decay=0.01),
    "sam": lambda m: m.sam(m.adam(0.05), m.chain(m.normalize(), m.sgd(0.1)), sync_period=3),
    "sam, kept state": lambda m: m.sam(m.sgd(0.05), m.adam(0.1), reset_state=False),
    "mechanize": lambda m: m.mechanize(m.adam(0.05), s_init=1e-2),
    "prodigy": lambda m: m.prodigy(schedule, estim_lr0=1e-3, weight_decay=0.01),
    "prodigy, safeguarded": lambda m: m.prodigy(0.1, beta3=0.9, estim_lr0=1e-3, safeguard_warmup=True),
    "dadapt_adamw": lambda m: m.dadapt_adamw(0.1, estim_lr0=1e-3, weight_decay=0.01),
    "dog": lambda m: m.dog(0.1, weight_decay=0.01),
    "dog, distance": lambda m: m.dog(0.1, init_step=("distance", 0.1)),
    "dog, rate": lambda m: m.dog(0.1, init_step=("learning_rate", 0.1)),
    "dowg": lambda m: m.dowg(0.1, weight_decay=0.01),
    "dowg, distance": lambda m: m.dowg(0.1, init_estim_sq_dist=0.1),
    "sgd, nesterov": lambda m: m.sgd(0.02, momentum=0.9, nesterov=True),
}

TRANSFORMS = {
    "conditionally_transform": lambda m: m.conditionally_transform(m.scale_by_adam(), lambda step: step % 3 > 0),
    "conditionally_mask": lambda m: m.conditionally_mask(m.scale_by_adam(), lambda step: step % 3 > 0),
    "split_real_and_imaginary": lambda m: m.split_real_and_imaginary(m.scale_by_adam()),
    "snapshot": lambda m: m.snapshot("norm", m.global_norm),
    "monitor": lambda m: m.monitor({"norm": m.global_norm, "mean": m.measure_with_ema(m.global_norm, 0.9)}),
    "scale_by_amsgrad": lambda m: m.scale_by_amsgrad(),
    "scale_by_adamax": lambda m: m.scale_by_adamax(),
    "scale_by_adan": lambda m: m.scale_by_adan(),
    "scale_by_belief": lambda m: m.scale_by_belief(),
    "scale_by_yogi": lambda m: m.scale_by_yogi(eps_root=1e-8, initial_accumulator_value=1e-3),
    "scale_by_radam": lambda m: m.scale_by_radam(threshold=8.0),
    "scale_by_lion": lambda m: m.scale_by_lion(),
    "scale_by_lion, smooth": lambda m: m.scale_by_lion(mode="smooth", smooth_beta=2.0),
    "scale_by_lion, refined": lambda m: m.scale_by_lion(mode="refined"),
    "scale_by_acprop": lambda m: m.scale_by_acprop(eps=1e-8),
    "scale_by_ademamix": lambda m: m.scale_by_ademamix(),
    "scale_by_simplified_ademamix": lambda m: m.scale_by_simplified_ademamix(0.9),
    "scale_by_adopt": lambda m: m.scale_by_adopt(),
    "scale_by_adopt, nesterov": lambda m: m.scale_by_adopt(nesterov=True, use_clipping=False),
    "scale_by_rss": lambda m: m.scale_by_rss(),
    "scale_by_rms": lambda m: m.scale_by_rms(bias_correction=True),
    "scale_by_stddev": lambda m: m.scale_by_stddev(eps=1e-3, initial_scale=3.0, eps_in_sqrt=True, bias_correction=True),
    "scale_by_adadelta": lambda m: m.scale_by_adadelta(eps=1e-3),
    "scale_by_novograd": lambda m: m.scale_by_novograd(),
    "scale_by_optimistic_gradient": lambda m: m.scale_by_optimistic_gradient(),
    "scale_by_rprop": lambda m: m.scale_by_rprop(0.5),
    "apply_every": lambda m: m.apply_every(3),
    "scale_by_cocob": lambda m: m.scale_by_cocob(),
    "scale_by_madgrad": lambda m: m.scale_by_madgrad(-0.1),
    "scale_by_distance_over_gradients": lambda m: m.scale_by_distance_over_gradients(reps_rel=0.1, param_dtype="float64"),
    "scale_by_factored_rms": lambda m: m.scale_by_factored_rms(min_dim_size_to_factor=3),
    "scale_by_learning_rate": lambda m: m.scale_by_learning_rate(0.3, flip_sign=False),
    "scale": lambda m: m.scale(0.3),
    "scale_by_sign": lambda m: m.scale_by_sign(),
    "scale_by_param_block_norm": lambda m: m.scale_by_param_block_norm(0.3),
    "scale_by_param_block_rms": lambda m: m.scale_by_param_block_rms(),
    "scale_by_trust_ratio": lambda m: m.scale_by_trust_ratio(0.1, 0.5, 0.01),
    "normalize_by_update_norm": lambda m: m.normalize_by_update_norm(0.7),
    "normalize": lambda m: m.normalize(),
    "centralize": lambda m: m.centralize(),
    "add_decayed_weights": lambda m: m.add_decayed_weights(0.3),
    "add_decayed_weights, schedule": lambda m: m.add_decayed_weights(schedule),
    "keep_params_nonnegative": lambda m: m.keep_params_nonnegative(),
    "set_to_zero, freeze": lambda m: m.freeze({"matrix": True, "vector": False, "number": True}),
    "selective_transform": lambda m: m.selective_transform(m.scale_by_adam(), freeze_mask={"matrix": True, "vector": False, "number": True}),
    "masked": lambda m: m.masked(m.scale_by_adam(), {"matrix": True, "vector": False, "number": True}),
    "partition": lambda m: m.partition({"a": m.scale_by_adam(), "b": m.trace(0.9)}, {"matrix": "a", "vector": "b", "number": "a"}),
    "named_chain": lambda m: m.named_chain(("a", m.clip(0.5)), ("b", m.scale_by_adam())),
    "flatten": lambda m: m.flatten(m.scale_by_trust_ratio()),
    "stateless": lambda m: m.stateless(lambda g, p: {k: g[k] + 0.1 * p[k] for k in g}),
    "stateless_with_tree_map": lambda m: m.stateless_with_tree_map(lambda g, p: g + 0.1 * p),
    "identity": lambda m: m.identity(),
    "clip": lambda m: m.clip(0.5),
    "clip_by_global_norm": lambda m: m.clip_by_global_norm(1.5),
    "clip_by_block_rms": lambda m: m.clip_by_block_rms(0.5),
    "adaptive_grad_clip": lambda m: m.adaptive_grad_clip(0.3),
    "zero_nans": lambda m: m.zero_nans(),
    "scale_by_adam": lambda m: m.scale_by_adam(),
    "scale_by_schedule": lambda m: m.scale_by_schedule(schedule),
    "trace": lambda m: m.trace(0.9, nesterov=True),
    "ema": lambda m: m.ema(0.8),
    "ema, biased": lambda m: m.ema(0.8, debias=False),
}
WITH_VALUE = {
    "polyak_sgd": lambda m: m.polyak_sgd(0.1),
    "polyak_sgd, sps+": lambda m: m.polyak_sgd(0.1, f_min=2.0, eps=0.1, variant="sps+"),
    "scale_by_polyak": scaled(lambda m: m.scale_by_polyak()),
    "momo": lambda m: m.momo(0.1, weight_decay=0.01),
    "momo, adapted": lambda m: m.momo(0.1, lower_bound=3.0, adapt_lower_bound=True),
    "momo_adam": lambda m: m.momo_adam(0.05, weight_decay=0.01),
    "momo_adam, adapted": lambda m: m.momo_adam(0.05, lower_bound=3.0, adapt_lower_bound=True),
    "reduce_on_plateau": lambda m: m.chain(m.sgd(0.05), m.reduce_on_plateau(0.5, patience=3, cooldown=2)),
    "reduce_on_plateau, means": lambda m: m.chain(m.sgd(0.05), m.reduce_on_plateau(0.5, patience=2, accumulation_size=3, min_scale=0.1)),
}
WITH_SEARCH = {
    "lbfgs": lambda m: m.lbfgs(),
    "lbfgs, rate": lambda m: m.lbfgs(0.1, memory_size=3, scale_init_precond=False, linesearch=None),
    "scale_by_lbfgs": lambda m: m.chain(m.scale_by_lbfgs(4), m.scale(-0.3)),
    "scale_by_zoom_linesearch": lambda m: m.chain(m.sgd(1.0), m.scale_by_zoom_linesearch(15)),
    "scale_by_zoom_linesearch, flat": lambda m: m.chain(m.sgd(8.0), m.scale_by_zoom_linesearch(15, curv_rtol=0.001)),  # by minima of cubics
    "scale_by_zoom_linesearch, bounded": lambda m: m.chain(m.adam(0.1), m.scale_by_zoom_linesearch(15, max_learning_rate=3.0, curv_rtol=0.1)),
    "scale_by_backtracking_linesearch": lambda m: m.chain(m.sgd(1.0), m.scale_by_backtracking_linesearch(15)),
    "scale_by_backtracking_linesearch, stored": lambda m: m.chain(m.adam(0.3), m.scale_by_backtracking_linesearch(
        15, max_learning_rate=4.0, increase_factor=2.0, rtol=1e-3, store_grad=True)),
}
LATER = {
    "muon": lambda m: (m.muon(0.05, weight_decay=0.01)),
    "muon, dion": lambda m: (m.muon(0.05, ns_coeffs="dion", consistent_rms=0.2, nesterov=False, adaptive=True)),
    "muon, schatten": lambda m: (m.muon(0.05, preconditioning="schatten")),
    "muon, aol": lambda m: (m.muon(0.05, preconditioning="aol", adam_learning_rate=0.02)),
    "muon, turned": lambda m: m.muon(0.05, weight_decay=0.01, consistent_rms=0.2, muon_weight_dimension_numbers={
        "matrix": contrib.MuonDimensionNumbers(-1, 0), "vector": None, "number": None}),
    "galore": lambda m: m.galore(0.05, rank=2, update_proj_gap=5, weight_decay=0.01),
    "galore, of lion": lambda m: m.galore(0.01, rank=1, update_proj_gap=7, scale=0.5, base_optimizer=m.scale_by_lion()),
    "galore, turned": lambda m: m.galore(0.05, rank=2, update_proj_gap=5, weight_dimension_numbers=contrib.GaLoreDimensionNumbers(-1, 0)),
    "scale_by_galore, by name": scaled(lambda m: m.scale_by_galore(2, 9, weight_dimension_numbers={
        "matrix": contrib.GaLoreDimensionNumbers(1, (0,)), "vector": None, "number": None})),
    "sophia": lambda m: m.sophia(0.05, gamma=0.5, update_interval=3, hessian_diagonal_fn=m.stateless(lambda g, p: {k: g[k] * g[k] + 0.1 for k in g})),
    "sophia, not clipped": lambda m: m.sophia(0.02, gamma=1.0, clip_threshold=None, eps=0.5, hessian_diagonal_fn=m.stateless(
        lambda g, p: {k: g[k] * g[k] + 0.1 for k in g})),
}
CASES = {**ALIASES, **{name: scaled(make) for name, make in TRANSFORMS.items()}}


_MODULES = {"alias", "transform", "base", "combine", "lookahead", "factorized", "linesearch", "update", "linear_algebra", "_accumulation",
            "_adding", "_clipping", "_combining", "_conditionality", "_constraining", "_freezing", "_layouts", "_masking", "_monitoring",
            *(name for name in ("_acprop", "_ademamix", "_adopt", "_cocob", "_complex_valued", "_dadapt_adamw", "_dog", "_galore", "_madgrad",
                                "_mechanic", "_momo", "_muon", "_privacy", "_prodigy", "_reduce_on_plateau", "_sam", "_schedule_free", "_sophia"))}
REASONS = {  # reasons of optax's functions that are not compared with it
    "add_noise": "draws from another stream: tested by its statistics", "noisy_sgd": "add_noise",
    "differentially_private_aggregate": "draws from another stream", "dpsgd": "differentially_private_aggregate and sgd in a chain",
    "hutchinson_estimator_diag_hessian": "draws from another stream",
    "incremental_update": "tested by its example", "periodic_update": "tested by its example",
    "init_empty_state": "of optax's own types", "with_extra_args_support": "every update takes further arguments",
    "value_and_grad_from_state": "tested by its example", "schedule_free_eval_params": "tested by its example",
    "power_iteration": "of linear algebra", "matrix_inverse_pth_root": "of linear algebra", "nnls": "of linear algebra",
    "unitwise_clip": "of adaptive_grad_clip; tested by its example",
}


class Everywhere:
    """optax's names, its contributed ones too."""

    def __getattr__(self, name):
        return getattr(optax, name, None) or getattr(contrib, name)


def value_of(params, step):
    return {"value": np.asarray(with_optax.loss({name: np.asarray(each) for name, each in params.items()}, np))}


class AsOptax(unittest.TestCase):
    def expect_alike(self, cases, extra=None):
        for name, make in cases.items():
            wanted = with_optax.theirs(make(Everywhere()), extra=extra)
            for jitted in False, True:
                with self.subTest(name, jitted=jitted):
                    self.assertLess(with_optax.difference(with_optax.ours(make(pl.optim), extra=extra, jitted=jitted), wanted), 1e-10)

    def test_200_steps(self):
        self.expect_alike(CASES)

    def test_with_a_search(self):
        """Descends the bowl without noise, until it is at its bottom."""
        for name, make in WITH_SEARCH.items():
            wanted = with_optax.searched(make(Everywhere()), with_optax.jax.numpy)
            for jitted in False, True:
                with self.subTest(name, jitted=jitted):
                    self.assertLess(with_optax.difference(with_optax.searched(make(pl.optim), pl, jitted=jitted), wanted), 1e-10)

    def test_of_second_order(self):
        self.expect_alike(LATER)

    def test_muon_of_further_axes(self):
        """Heads are columns, or a batch of matrices."""
        import jax

        start, step_of = np.random.default_rng(4).normal(size=(3, 4, 2)), np.random.default_rng(5).normal(size=(20, 3, 4, 2))
        for axes in contrib.MuonDimensionNumbers(0, (1, 2)), contrib.MuonDimensionNumbers(2, 0), contrib.MuonDimensionNumbers((2, 0), -2):
            for named in {}, {"adaptive": True}:
                theirs = contrib.muon(0.05, muon_weight_dimension_numbers={"w": axes}, weight_decay=0.1, **named)
                ours = pl.optim.muon(0.05, muon_weight_dimension_numbers=lambda params, axes=axes: {name: axes for name in params}, weight_decay=0.1, **named)
                a, b = {"w": jax.numpy.asarray(start)}, {"w": pl.asarray(start)}
                theirs_state, state, update = theirs.init(a), ours.init(b), jax.jit(theirs.update)
                for each in step_of:
                    updates, theirs_state = update({"w": jax.numpy.asarray(each)}, theirs_state, a)
                    a = optax.apply_updates(a, updates)
                    updates, state = ours.update({"w": pl.asarray(each)}, state, b)
                    b = pl.optim.apply_updates(b, updates)
                np.testing.assert_allclose(b["w"], a["w"], rtol=1e-10, atol=1e-12)

    def test_lookahead(self):
        """The slow weights are in the state here, and in optax a part of the weights."""
        import jax

        for named in {}, {"reset_state": True}:
            theirs, ours = optax.lookahead(optax.adam(0.05), 4, 0.6, **named), pl.optim.lookahead(pl.optim.adam(0.05), 4, 0.6, **named)
            both = optax.LookaheadParams.init_synced({name: jax.numpy.asarray(each) for name, each in with_optax.START.items()})
            params = with_optax.tensors(with_optax.START)
            state, theirs_state = ours.init(params), theirs.init(both)
            update, apply = jax.jit(theirs.update), jax.jit(optax.apply_updates)
            for step in range(STEPS):
                updates, theirs_state = update(with_optax.gradient(both.fast, step), theirs_state, both)
                both = apply(both, updates)
                updates, state = ours.update(with_optax.tensors(with_optax.gradient(params, step)), state, params)
                params = pl.optim.apply_updates(params, updates)
            for name in params:
                np.testing.assert_allclose(params[name], both.fast[name], rtol=1e-10, atol=1e-12)
                np.testing.assert_allclose(state.slow[name], both.slow[name], rtol=1e-10, atol=1e-12)

    def test_sam_in_one(self):
        def run(module, gradient_of, params, apply):
            tx = module.sam(module.sgd(0.05), module.chain(module.normalize(), module.sgd(0.1)), sync_period=3, opaque_mode=True)
            state = tx.init(params)
            for _ in range(50):
                updates, state = tx.update(gradient_of(params), state, params, grad_fn=lambda params, i: gradient_of(params))
                params = apply(params, updates)
            return params

        import jax

        wanted = run(Everywhere(), jax.grad(lambda params: with_optax.loss(params, jax.numpy)),
                     {name: jax.numpy.asarray(each) for name, each in with_optax.START.items()}, optax.apply_updates)
        made = run(pl.optim, pl.grad(lambda params: with_optax.loss(params, pl)), with_optax.tensors(with_optax.START), pl.optim.apply_updates)
        for name in made:
            np.testing.assert_allclose(made[name], wanted[name], rtol=1e-10, atol=1e-12)

    def test_sm3(self):
        """optax's does not take numbers."""
        for name in list(with_optax.START):
            if name == "number":
                continue
            theirs, ours = optax.sm3(0.05), pl.optim.sm3(0.05)
            a = b = with_optax.START[name]
            theirs_state, state = theirs.init(a), ours.init(pl.asarray(b))
            for step in range(STEPS):
                updates, theirs_state = theirs.update(with_optax.gradient({name: a}, step)[name], theirs_state)
                a = np.asarray(a + updates)
                updates, state = ours.update(pl.asarray(with_optax.gradient({name: b}, step)[name]), state)
                b = b + updates.numpy()
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)

    def test_clip_by_norm(self):
        """optax has no function for it."""
        import jax

        theirs = optax.stateless(lambda g, p: {k: g[k] / jax.numpy.maximum(jax.numpy.sqrt((g[k] ** 2).sum()) / 0.5, 1.0) for k in g})
        wanted = with_optax.theirs(optax.chain(theirs, optax.scale(-0.05)))
        made = pl.optim.chain(pl.optim.clip_by_norm(0.5), pl.optim.scale(-0.05))
        for jitted in False, True:
            self.assertLess(with_optax.difference(with_optax.ours(made, jitted=jitted), wanted), 1e-10)

    def test_per_example_clipping(self):
        grads = {name: np.random.default_rng(2).normal(size=(6, *each.shape)) for name, each in with_optax.START.items()}
        for name, arguments in (("per_example_global_norm_clip", (1.5,)), ("per_example_layer_norm_clip", (1.5,)),
                                ("per_example_layer_norm_clip", (1.5, False))):
            wanted, counts = getattr(optax, name)(grads, *arguments)
            made, ours = getattr(pl.optim, name)({key: pl.asarray(each) for key, each in grads.items()}, *arguments)
            for key in made:
                np.testing.assert_allclose(made[key], wanted[key], rtol=1e-12)
            flat = lambda counts: {key: int(each) for key, each in counts.items()} if isinstance(counts, dict) else int(counts)  # noqa: E731
            self.assertEqual(flat(ours), flat(counts))

    def test_all_of_optax_is_here(self):
        """Each of optax's functions that makes a transformation is compared with it, or has a reason."""
        compared = " ".join([*CASES, *WITH_VALUE, *WITH_SEARCH, *LATER, "lookahead sam sm3 scale_by_sm3 per_example_global_norm_clip",
                             "per_example_layer_norm_clip apply_updates global_norm multi_transform measure_with_ema",
                             "skip_not_finite skip_large_updates MultiSteps freeze set_to_zero chain scale_by_muon scale_by_sophia"])
        compared = compared.replace(",", " ").split()
        for module in optax, contrib:
            for name in dir(module):
                value = getattr(module, name)
                origin = getattr(value, "__module__", "").split(".")
                is_function = origin[0] == "optax" and origin[-1] in _MODULES and not isinstance(value, type)
                is_of_updates = is_function or name in ("nadam", "nadamw", "MultiSteps")
                if name.startswith("_") or not callable(value) or not is_of_updates:
                    continue
                with self.subTest(name):
                    self.assertTrue(name in compared and hasattr(pl.optim, name) or name in REASONS, name)

    def test_with_the_loss(self):
        self.expect_alike(WITH_VALUE, value_of)


if __name__ == "__main__":
    unittest.main()
