"""Optimizers, as Modules whose state consists of trees like the model's. Nothing is changed in place: `update`
returns the model and the optimizer of the next step, so it works the same eagerly and in jitted functions. Formulas
and names of classes are PyTorch's. A rate, or another number, is a tensor of the optimizer, or a schedule: a value that is called
with the step. The functions that make schedules have optax's names; lr_scheduler has PyTorch's classes."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.optimizers.adam import Adam, AdamW  # noqa: F401
from plait.inside.optimizers.adam_variants import Adamax, NAdam, RAdam, SparseAdam  # noqa: F401
from plait.inside.optimizers.adaptive import Adadelta, Adafactor, Adagrad, RMSprop  # noqa: F401
from plait.inside.optimizers.assignment import hungarian_algorithm  # noqa: F401
from plait.inside.optimizers.averages import EMA, AveragedModel  # noqa: F401
from plait.inside.optimizers.base import ModelOptimizer as _Optimizer  # noqa: F401
from plait.inside.optimizers.gradient_clipping import clip_grad_norm, clip_grad_value, get_total_norm  # noqa: F401
from plait.inside.optimizers.descent import ASGD, SGD, Lion, Rprop  # noqa: F401
from plait.inside.optimizers.layerwise import LAMB, LARS  # noqa: F401
from plait.inside.optimizers.lbfgs import LBFGS  # noqa: F401
from plait.inside.optimizers.linear_algebra import nnls, power_iteration  # noqa: F401
from plait.inside.optimizers.muon import Muon  # noqa: F401
from plait.inside.optimizers.perturbations import make_perturbed_fun  # noqa: F401
from plait.inside.optimizers.projections import (  # noqa: F401
    projection_box, projection_halfspace, projection_hypercube, projection_hyperplane, projection_l1_ball, projection_l1_sphere,
    projection_l2_ball, projection_l2_sphere, projection_linf_ball, projection_non_negative, projection_simplex, projection_vector)
from plait.inside.optimizers.schedules import (  # noqa: F401
    constant_schedule, cosine_decay_schedule, cosine_onecycle_schedule, exponential_decay, inverse_sqrt_schedule, join_schedules,
    linear_onecycle_schedule, linear_schedule, natural_exp_decay, piecewise_constant_schedule, piecewise_interpolate_schedule,
    polynomial_schedule, sgdr_schedule, warmup_constant_schedule, warmup_cosine, warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule, warmup_linear_decay_schedule, warmup_stable_decay_schedule)
from plait.inside.optimizers.second_order import fisher_diag, hessian_diag  # noqa: F401
from plait.inside.optimizers.train_state import TrainState  # noqa: F401
from plait.inside.transformations.accumulation import ema, trace  # noqa: F401
from plait.inside.transformations.descents import (  # noqa: F401
    acprop, adabelief, adam, adamax, adamaxw, adamw, adan, ademamix, adopt, amsgrad, dpsgd, fromage, lamb, lars, lion, nadam, nadamw, noisy_sgd,
    optimistic_adam, optimistic_adam_v2, optimistic_gradient_descent, polyak_sgd, radam, sgd, sign_sgd, signum, simplified_ademamix, yogi)
from plait.inside.transformations.descents_by_squares import adadelta, adafactor, adagrad, cocob, madgrad, novograd, rmsprop, rprop, sm3  # noqa: F401
from plait.inside.transformations.optimizer import Optimizer, apply_updates, global_norm, incremental_update, periodic_update  # noqa: F401
from plait.inside.transformations.clipping import (  # noqa: F401
    adaptive_grad_clip, add_noise, clip, clip_by_block_rms, clip_by_global_norm, clip_by_norm, differentially_private_aggregate,
    expect_finite, keep_params_nonnegative, per_example_global_norm_clip, per_example_layer_norm_clip, unitwise_clip, unitwise_norm,
    zero_nans)
from plait.inside.transformations.combining import (  # noqa: F401
    chain, flatten, freeze, masked, multi_transform, named_chain, partition, selective_transform)
from plait.inside.transformations.conditions import (  # noqa: F401
    MultiSteps, apply_if_finite, conditionally_mask, conditionally_transform, skip_large_updates, skip_not_finite)
from plait.inside.transformations.galore import galore, scale_by_galore  # noqa: F401
from plait.inside.transformations.linesearch import (  # noqa: F401
    lbfgs, scale_by_backtracking_linesearch, scale_by_lbfgs, scale_by_zoom_linesearch, value_and_grad_from_state)
from plait.inside.transformations.matrices import (  # noqa: F401
    hutchinson_estimator_diag_hessian, muon, scale_by_muon, scale_by_sophia, sophia)
from plait.inside.transformations.matrix_views import GaLoreDimensionNumbers, MuonDimensionNumbers  # noqa: F401
from plait.inside.transformations.moments import (  # noqa: F401
    scale_by_acprop, scale_by_adam, scale_by_adamax, scale_by_adan, scale_by_ademamix, scale_by_adopt, scale_by_amsgrad, scale_by_belief,
    scale_by_lion, scale_by_radam, scale_by_simplified_ademamix, scale_by_yogi)
from plait.inside.transformations.monitoring import measure_with_ema, monitor, reduce_on_plateau, snapshot  # noqa: F401
from plait.inside.transformations.narrow import adamw_8bit, loss_scale, scale_by_adam_8bit  # noqa: F401
from plait.inside.transformations.parameter_free import dadapt_adamw, dog, dowg, momo, momo_adam, prodigy  # noqa: F401
from plait.inside.transformations.scaling import (  # noqa: F401
    add_decayed_weights, centralize, normalize, normalize_by_update_norm, scale, scale_by_learning_rate, scale_by_param_block_norm,
    scale_by_param_block_rms, scale_by_polyak, scale_by_schedule, scale_by_sign, scale_by_trust_ratio)
from plait.inside.transformations.slices import microbatches  # noqa: F401
from plait.inside.transformations.squares import (  # noqa: F401
    apply_every, scale_by_adadelta, scale_by_cocob, scale_by_distance_over_gradients, scale_by_factored_rms, scale_by_madgrad, scale_by_novograd,
    scale_by_optimistic_gradient, scale_by_rms, scale_by_rprop, scale_by_rss, scale_by_sm3, scale_by_stddev)
from plait.inside.transformations.transformation import (  # noqa: F401
    GradientTransformation, identity, set_to_zero, stateless, stateless_with_tree_map)
from plait.inside.transformations.wrappers import (  # noqa: F401
    lookahead, mechanize, sam, schedule_free, schedule_free_adamw, schedule_free_eval_params, schedule_free_sgd, split_real_and_imaginary)
from plait.optim import lr_scheduler  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
