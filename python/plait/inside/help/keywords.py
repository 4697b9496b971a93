"""Keywords of layers and optimizers that have another name in Plait: those of TensorFlow, Flax, Optax and others."""

from plait.inside.help.names import nearest

_WIDTHS = ("out_features", "out_channels", "embedding_dim", "num_features", "normalized_shape", "num_channels", "hidden_size")
# The first of the names that a class has.
RENAMED = {
    "epsilon": ("eps",), "use_bias": ("bias",), "rate": ("p", "lr"), **dict.fromkeys(("dropout_rate", "drop_rate", "drop_prob", "dropout"), ("dropout", "p")),
    **dict.fromkeys(("features", "units", "filters", "output_dim", "num_features", "out_features"), _WIDTHS),
    **dict.fromkeys(("input_dim", "in_features"), ("in_features", "num_embeddings", "in_channels", "input_size")),
    "vocab_size": ("num_embeddings",), "hidden_dim": ("hidden_size",), "strides": ("stride",), **dict.fromkeys(("kernel_dilation", "dilation_rate"), ("dilation",)),
    **dict.fromkeys(("feature_group_count", "num_groups"), ("groups",)), "groups": ("num_groups",),
    **dict.fromkeys(("pool_size", "window_shape", "kernel"), ("kernel_size",)), **dict.fromkeys(("rngs", "rng", "seed"), ("key",)),
    "param_dtype": ("dtype",), **dict.fromkeys(("use_scale", "scale", "center"), ("affine", "elementwise_affine")), "axis": ("dim",), "dim": ("axis",),
    "alpha": ("negative_slope",), **dict.fromkeys(("learning_rate", "step_size"), ("lr",)), "lr": ("learning_rate",), "nesterov_momentum": ("nesterov",),
    "usecols": ("columns",), "na_values": ("missing",), "quotechar": ("quote",), **dict.fromkeys(("sep", "delimiter"), ("separator",)), "dtypes": ("types",),
    **dict.fromkeys(("beta1", "beta2", "beta_1", "beta_2", "b1", "b2"), ("betas",)), **dict.fromkeys(("decay", "wd", "l2"), ("weight_decay",)),
}


def keyword_for(name, names):
    """The hint for a keyword that does not exist among these names; None if nothing is near."""
    here = next((each for each in RENAMED.get(name, ()) if each in names), None) or nearest(name, names)
    return here and f"{here}= instead of {name}="
