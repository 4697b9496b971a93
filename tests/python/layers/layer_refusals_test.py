"""Arguments that layers refuse, and what they say."""

import inspect
import re
import unittest

import plait as pl

nn, NAN = pl.nn, float("nan")

# name, arguments, named arguments, what the error says after the name of the layer
REFUSED = [
    ("Linear", (-1, 3), {}, "in_features is -1, expected 0 or more"),
    ("Linear", (2, 3.0), {}, "out_features is 3.0, expected an integer"),
    ("Linear", (True, 3), {}, "in_features is True, expected an integer"),
    ("Bilinear", (0, 3, 1), {}, "in1_features is 0, expected 1 or more"),
    *[(f"Transformer{part}", (nn.Identity(), count), {}, f"num_layers is {count}, expected 0 to 65536")
      for part in ("Encoder", "Decoder") for count in (-1, 65537, 2**63 - 1)],
    ("TransformerEncoder", (None, 2), {}, "encoder_layer is None, expected a layer"),
    ("TransformerDecoder", (nn.Identity(), 2, 3), {}, "norm is 3, expected a layer"),
    ("Transformer", (8, 2, 1, 2**63 - 1), {}, "num_decoder_layers is 9223372036854775807, expected 0 to 65536"),
    ("TransformerEncoderLayer", (8, 2, None), {}, "dim_feedforward is None, expected an integer"),
    *[(name, (2, 3, count), {}, f"num_layers is {count}, expected") for name in ("RNN", "GRU", "LSTM") for count in (0, 2**63 - 1, 1.0)],
    ("RoPE", (4,), {"scaling": "yarn"}, "scaling is 'yarn', expected a dict"),
    ("MultiheadAttention", (8, None), {}, "num_heads is None, expected an integer"),
    ("MultiheadAttention", (8, 2), {"vdim": 0}, "vdim is 0, expected 1 or more"),
    ("ALiBi", (None,), {}, "num_heads is None, expected an integer"),
    ("SinusoidalEmbedding", (4, None), {}, "base is None, expected a number"),
    ("RoPE", (None,), {}, "head_dim is None, expected an integer"),
    ("RoPE", (4,), {"width": ()}, r"width is \(\), expected an integer"),
    ("MoE", (2, 3, 4), {"top_k": None}, "top_k is None, expected an integer"),
    ("MoE", (2, -3, 4), {}, "hidden is -3, expected 0 or more"),
    ("MoE", (2, 3, 4), {"noise": NAN}, "noise is nan, expected 0 or more"),
    ("Attention", (8, 2), {"window": 0}, "window is 0, expected 1 or more"),
    ("Attention", (8, None), {}, "num_heads is None, expected an integer"),
    ("Attention", (8, 2), {"qk_norm": 1}, "qk_norm is 1, expected a class of layers"),
    *[(name, (nn.Linear(2, 2), *arguments), {}, "the pattern is 3, expected a string such as") for name, arguments in (
        ("lora", (3,)), ("quantize", (8, None, 3)), ("parametrize", (3, pl.exp)), ("weight_norm", (3,)), ("spectral_norm", (3,)), ("orthogonal", (3,)),
        ("freeze", (3,)), ("unfreeze", (3,)))],
    ("LoRALinear", (2, 3), {"rank": None}, "rank is None, expected an integer"),
    ("QuantizedLinear", (2, 3), {"bits": {}}, "bits is {}, expected 8 or 4"),
    ("QuantizedLinear", (2, 3), {"group_size": 0}, "group_size is 0, expected 1 or more"),
    ("LinearCrossEntropyLoss", (2, 3), {"softcap": ()}, r"softcap is \(\), expected more than 0"),
    ("LinearCrossEntropyLoss", (2, 3), {"out_features": 3}, "out_features is 3, expected a tuple of sizes"),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, 5), {}, "cutoffs is 5, expected a list"),
    ("GRU", (2, 3), {"dropout": None}, "dropout is None, expected a number"),
    ("RNN", (2, 3), {"nonlinearity": {}}, "nonlinearity is {}, expected 'tanh' or 'relu'"),
    ("Conv2d", (2, 4, 3), {"padding_mode": {}}, "padding_mode is {}, expected one of"),
    ("ELU", (object(),), {}, "alpha is <object object at .*>, expected a number"),
    *[(f"{kind}Dict", (values,), {}, text) for kind in ("Module", "Parameter") for values, text in (
        (3, "3 has no parts, expected a list"), ("name", "'n' is not a pair, expected a dict, or pairs of a name and a value"))],
    *[(f"{kind}List", (3,), {}, "3 has no parts, expected a list") for kind in ("Module", "Parameter")],
    ("Unflatten", (1, 6), {}, "unflattened_size is 6, expected a tuple of sizes"),
    ("Unflatten", (1, (2, -3)), {}, "unflattened_size is -3"),
    ("Unflatten", (1, (-1, -1)), {}, r"unflattened_size is \(-1, -1\), expected -1 at one place at most"),
    *[(name, (), {"normalized_shape": sizes}, r"normalized_shape is .*, expected one size or more") for name in ("LayerNorm", "RMSNorm")
      for sizes in ((), [])],
    ("LoRALinear", (4, 4), {"alpha": NAN}, "alpha is nan, expected a number"),
    ("PixelShuffle", (0,), {}, "upscale_factor is 0, expected 1 or more"),
    ("PixelUnshuffle", (1.5,), {}, "downscale_factor is 1.5, expected an integer"),
    ("ChannelShuffle", (0,), {}, "groups is 0"),
    ("CosineSimilarity", (), {"eps": -1}, "eps is -1, expected 0 or more"),
    ("PairwiseDistance", (), {"p": NAN}, "p is nan, expected a number"),
    ("Embedding", (10, 3, 10), {}, "padding_idx is 10, expected a row below 10"),
    ("Embedding", (10, 3, -11), {}, "padding_idx is -11, expected -10 or more"),
    ("Embedding", (10, 3), {"max_norm": 0.0}, "max_norm is 0.0, expected a number above 0"),
    ("Embedding", (10, 3), {"sparse": True}, r"sparse gradients do not exist[\s\S]*leave sparse out"),
    ("Embedding", (10, 3), {"_weight": pl.ones((3, 3))}, r"_weight is \[3, 3\], expected \[10, 3\]"),
    ("EmbeddingBag", (10, 3), {"mode": "median"}, "mode is 'median', expected one of sum, mean, max"),
    ("EmbeddingBag", (10, 3), {"sparse": True}, "sparse gradients do not exist"),
    *[(f"Conv{n}d", arguments, named, text) for n in (1, 2, 3) for arguments, named, text in (
        ((4, 6, 0), {}, "kernel_size is 0, expected 1 or more"),
        ((4, 6, (2,) * (n + 1)), {}, f"kernel_size has {n + 1} numbers, expected one or {n}"),
        ((4, 6, 3, 0), {}, "stride is 0"), ((4, 6, 3), {"dilation": 0}, "dilation is 0"), ((4, 6, 3), {"padding": -1}, "padding is -1"),
        ((4, 6, 3), {"groups": 0}, "groups is 0"), ((4, 6, 3), {"groups": 3}, "in_channels is 4, expected a multiple of the 3 groups"),
        ((6, 4, 3), {"groups": 3}, "out_channels is 4, expected a multiple of the 3 groups"),
        ((4, 6, 3), {"padding": "full"}, "padding is 'full', expected one of valid, same"),
        ((4, 6, 3), {"padding": "same", "stride": 2}, "padding is 'same' with a stride of 2, expected a stride of 1"),
        ((4, 6, 3), {"padding_mode": "mirror"}, "padding_mode is 'mirror', expected one of zeros, reflect, replicate, circular"))],
    *[(f"ConvTranspose{n}d", arguments, named, text) for n in (1, 2, 3) for arguments, named, text in (
        ((4, 6, 3), {"output_padding": 1}, r"output_padding is \(1.*\), expected less than the stride, \(1.*\), or the dilation, \(1"),
        ((4, 6, 3), {"padding_mode": "reflect"}, "padding_mode is 'reflect', expected one of zeros"),
        ((4, 6, 3), {"groups": 3}, "in_channels is 4, expected a multiple of the 3 groups"))],
    *[(f"LazyConv{n}d", (6, 3), {"groups": 4}, "out_channels is 6, expected a multiple of the 4 groups") for n in (1, 2, 3)],
    *[(f"LazyConvTranspose{n}d", (6, 3, 0), {}, "stride is 0") for n in (1, 2, 3)],
    *[(f"LazyBatchNorm{n}d", (-1,), {}, "eps is -1") for n in (1, 2, 3)],
    *[(f"LazyInstanceNorm{n}d", (), {"momentum": "x"}, "momentum is 'x', expected a number") for n in (1, 2, 3)],
    ("LazyLinear", (-1,), {}, "out_features is -1"),
    ("Unfold", ((2, 2, 2),), {}, "kernel_size has 3 numbers, expected one or 2"),
    ("Fold", (0, 2), {}, "output_size is 0"),
    *[(f"{kind}Pool{n}d", arguments, named, text) for kind in ("Max", "Avg") for n in (1, 2, 3) for arguments, named, text in (
        ((0,), {}, "kernel_size is 0"), ((2, 0), {}, "stride is 0"),
        ((2,), {"padding": 2}, r"padding is \(2.*\), expected at most half of the windows, \(2"),
        ((2,), {"ceil_mode": 1}, "ceil_mode is 1, expected True or False"))],
    ("AvgPool2d", (2,), {"divisor_override": 0}, "divisor_override is 0"),
    *[(f"LPPool{n}d", (0, 2), {}, "norm_type is 0, expected another number") for n in (1, 2, 3)],
    *[(f"Adaptive{kind}Pool{n}d", ((1,) * (n + 1),), {}, f"output_size has {n + 1} numbers")
      for kind in ("Avg", "Max") for n in (1, 2, 3)],
    ("AdaptiveAvgPool1d", (-1,), {}, "output_size is -1"),
    ("MaxUnpool2d", (0,), {}, "kernel_size is 0"),
    *[(f"FractionalMaxPool{n}d", arguments, {}, text) for n in (2, 3) for arguments, text in (
        ((2,), "output_size is None and output_ratio None, expected one of them"),
        ((2, 3, 0.5), "output_size is 3 and output_ratio 0.5, expected one of them"),
        ((2, None, 1.0), "output_ratio is 1.0, expected one number or"), ((2, None, (0.5,)), "output_ratio is"))],
    *[(f"{kind}{n}d", arguments, {}, text) for kind in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3) for arguments, text in (
        ((-1,), "num_features is -1"), ((3, NAN), "eps is nan"), ((3, 1e-5, 0.1, 1), "affine is 1, expected True or False"))],
    *[(name, (3,), {"momentum": momentum}, f"momentum is {momentum}, expected a number, from 0 to 1")
      for name in ("BatchNorm1d", "BatchNorm2d", "InstanceNorm1d") for momentum in (2.0, -0.1)],
    *[("Flatten", dims, {}, f"start_dim is {dims[0]} and end_dim is {dims[1]}, expected the first") for dims in ((3, 1), (-1, -2))],
    ("SyncBatchNorm", (-1,), {}, "num_features is -1"),
    ("LayerNorm", (-3,), {}, "normalized_shape is -3"),
    ("LayerNorm", (3, NAN), {}, "eps is nan"),
    ("RMSNorm", ((3, 1.5),), {}, "normalized_shape is 1.5"),
    ("GroupNorm", (0, 4), {}, "num_groups is 0"),
    ("GroupNorm", (3, 4), {}, "num_channels is 4, expected a multiple of the 3 groups"),
    ("LocalResponseNorm", (0,), {}, "size is 0"),
    ("CrossMapLRN2d", (0,), {}, "size is 0"),
    *[(name, (p,), {}, f"{'drop_prob' if name == 'DropPath' else 'p'} is {p}, expected a probability") for p in (-0.1, 1.5) for name in (
        "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "DropPath")],
    ("Dropout", ("0.5",), {}, "p is '0.5', expected a number"),
    ("CELU", (0,), {}, "alpha is 0, expected a number above 0"),
    ("ELU", (NAN,), {}, "alpha is nan"),
    ("LeakyReLU", (None,), {}, "negative_slope is None, expected a number"),
    ("GELU", ("quick",), {}, "approximate is 'quick', expected one of none, tanh, fast"),
    ("Softplus", (0,), {}, "beta is 0"),
    ("Softshrink", (-1,), {}, "lambd is -1"),
    ("Hardtanh", (1, 1), {}, "min_val is 1 and max_val 1, expected min_val below max_val"),
    ("Hardtanh", (), {"min_value": 2, "max_value": 1}, "min_val is 2 and max_val 1"),
    ("Threshold", (0, None), {}, "value is None"),
    ("PReLU", (0,), {}, "num_parameters is 0"),
    ("RReLU", (0.5, 0.1), {}, "lower is 0.5 and upper 0.1"),
    *[(name, (), {}, r"dim is missing[\s\S]*dim=-1 is the last one") for name in ("Softmax", "LogSoftmax", "Softmin")],
    ("GLU", (0.5,), {}, "dim is 0.5, expected an integer"),
    ("Upsample", (), {}, "size is None and scale_factor None, expected one of them"),
    ("Upsample", (3, 2), {}, "size is 3 and scale_factor 2, expected one of them"),
    ("Upsample", (3,), {"mode": "cubic"}, "mode is 'cubic', expected one of nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area"),
    ("Upsample", (3,), {"align_corners": True}, "align_corners is True, which the mode nearest does not have"),
    ("UpsamplingNearest2d", (None, -1), {}, "scale_factor is -1, expected a number above 0"),
    ("ReflectionPad1d", ((1, 2, 3),), {}, "padding has 3 numbers, expected one or 2"),
    ("CircularPad2d", (-1,), {}, "padding is -1, expected 0 or more"),
    ("ConstantPad3d", (1, "x"), {}, "value is 'x', expected a number"),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, [5, 5]), {}, r"cutoffs are \[5, 5\], expected rising numbers below n_classes, 20"),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, [5, 20]), {}, r"cutoffs are \[5, 20\], expected rising numbers"),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, []), {}, r"cutoffs are \[\], expected rising numbers"),
    ("AdaptiveLogSoftmaxWithLoss", (8, 20, [5]), {"div_value": 0.5}, "div_value is 0.5"),
]

def adaptive():
    return nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6])


# Refused calls: a layer, its inputs, what is said.
CALLS = [
    (lambda: nn.Conv2d(3, 4, 2)(pl.ones((3, 5))), r"nn.Conv2d: the input is \[3, 5\], expected 3 or 4 dimensions"),
    (lambda: nn.ConvTranspose1d(3, 4, 2)(pl.ones((1, 3, 5, 5))), "nn.ConvTranspose1d: the input is"),
    (lambda: nn.BatchNorm1d(3)(pl.ones((2, 3, 4, 4))), "nn.BatchNorm1d: the input is .* expected 2 or 3 dimensions"),
    (lambda: nn.BatchNorm2d(3)(pl.ones((2, 3))), "nn.BatchNorm2d: the input is .* expected 4 dimensions"),
    (lambda: nn.InstanceNorm3d(3)(pl.ones((2, 3))), "nn.InstanceNorm3d: the input is"),
    (lambda: nn.MaxPool3d(2)(pl.ones((2, 3))), "nn.MaxPool3d: the input is"),
    (lambda: nn.AdaptiveMaxPool2d(2)(pl.ones((2, 3))), "nn.AdaptiveMaxPool2d: the input is"),
    (lambda: nn.ZeroPad2d(1)(pl.ones(3)), "nn.ZeroPad2d: the input is"),
    (lambda: nn.Softmax2d()(pl.ones((2, 3))), "nn.Softmax2d: the input is"),
    (lambda: nn.CrossMapLRN2d(3)(pl.ones((2, 3))), "nn.CrossMapLRN2d: the input is"),
    (lambda: nn.Upsample(3, mode="bilinear")(pl.ones((2, 3, 4))), "nn.Upsample: the input is .* expected 4 dimensions"),
    (lambda: nn.FractionalMaxPool2d(3, 5)(pl.ones((2, 3, 6, 6))), r"nn.FractionalMaxPool2d: .* do not fit into"),
    (lambda: nn.EmbeddingBag(5, 2)(pl.tensor([1, 2])), r"nn.EmbeddingBag: the ids have 1 dimensions[\s\S]*offsets of the bags"),
    (lambda: nn.EmbeddingBag(5, 2)(pl.tensor([[1, 2]]), pl.tensor([0])), "nn.EmbeddingBag: the ids have 2 dimensions beside offsets"),
    (lambda: nn.EmbeddingBag(5, 2)(pl.tensor([[1, 2]]), per_sample_weights=pl.ones((1, 2))), "per_sample_weights are for mode sum, not mean"),
    *[(lambda n=n, at=at: getattr(nn, f"MaxUnpool{n}d")(2)(pl.ones((1, *[1] * n)), at(pl.zeros((1, *[1] * n), dtype=pl.i64))), text)
      for n in (1, 2, 3) for at, text in ((lambda zero: zero - 1, rf"nn.MaxUnpool{n}d: the indices are negative somewhere, expected those of max"),
                                          (lambda zero: zero * 1.0, rf"nn.MaxUnpool{n}d: the indices are f32.*, expected those of max pooling"))],
    *[(lambda target=target: adaptive()(pl.ones((2, 4)), pl.tensor(target)), f"nn.AdaptiveLogSoftmaxWithLoss: the {text}")
      for target, text in (([-1, 2], "targets are negative somewhere, expected classes from 0 to 9"),
                           ([1], r"target is \[1\] for the input \[2, 4\]"), ([1.0, 2.0], r"targets are f32\[2\], expected classes from 0 to 9"))],
    (lambda: pl.jit(adaptive())(pl.ones((2, 4)), pl.tensor([-1, 2])), "targets are negative somewhere"),
]


for _name in "RNN", "GRU", "LSTM":
    for _lengths in [5, 3], [-1, 2]:
        CALLS.append((lambda name=_name, lengths=_lengths: getattr(nn, name)(2, 3)(pl.ones((4, 2, 2)), lengths=pl.tensor(lengths)),
                      rf"nn.{_name}: lengths are .*, expected numbers from 0 to the 4 steps"))


class Refusals(unittest.TestCase):
    def test_arguments(self):
        for name, arguments, named, text in REFUSED:
            with self.subTest(name=name, arguments=arguments, named=named):
                with self.assertRaisesRegex((pl.ValueError, pl.TypeError, pl.ShapeError), rf"nn\.{name}: {text}"):
                    getattr(nn, name)(*arguments, **named)

    def test_inputs(self):
        for call, text in CALLS:
            with self.subTest(text), self.assertRaisesRegex((pl.ValueError, pl.ShapeError, pl.TypeError, pl.CheckError), text):
                call()

    def test_flags(self):
        """Those of all classes that are Modules: layers, losses, optimizers, transformations, schedules, metrics."""
        count = 0
        for module in nn, pl.optim, pl.optim.lr_scheduler, pl.metrics:
            for name in dir(module):
                cls = getattr(module, name)
                if not isinstance(cls, type) or not issubclass(cls, pl.Module):
                    continue
                for flag in inspect.signature(cls).parameters.values():
                    if isinstance(flag.default, bool):
                        count += 1
                        for value in "no", 1, None:
                            said = f"{cls.__name__}: {flag.name} is {value!r}, expected True or False, at layer_refusals_test.py"
                            with self.subTest(said), self.assertRaisesRegex(pl.TypeError, re.escape(said)):
                                cls(**{flag.name: value})
        self.assertGreater(count, 200)

    def test_flags_of_functions(self):
        optim = pl.optim
        for call, text in (
                (lambda: nn.Linear(2, 2, "no"), "nn.Linear: bias is 'no'"), (lambda: optim.sgd(0.1, nesterov="no"), "optim.sgd: nesterov is 'no'"),
                (lambda: optim.adam(0.1, nesterov=1), "optim.scale_by_adam: nesterov is 1"),
                (lambda: optim.scale_by_learning_rate(0.1, flip_sign=0), "optim.scale_by_learning_rate: flip_sign is 0"),
                (lambda: optim.rmsprop(0.1, centered="no"), "optim.rmsprop: centered is 'no'"),
                (lambda: optim.rmsprop(0.1, nesterov="no"), "optim.rmsprop: nesterov is 'no'"),
                (lambda: optim.muon(0.1, nesterov="no"), "optim.scale_by_muon: nesterov is 'no'"),
                (lambda: optim.adafactor(0.1, multiply_by_parameter_scale="no"), "optim.adafactor: multiply_by_parameter_scale is 'no'"),
                (lambda: optim.exponential_decay(0.1, 2, 0.5, staircase="no"), "exponential_decay: staircase is 'no'"),
                (lambda: optim.natural_exp_decay(0.1, 2, 0.5, staircase="no"), "natural_exp_decay: staircase is 'no'"),
                (lambda: optim.microbatches(2, changes_model="no"), "optim.microbatches: changes_model is 'no'"),
                (lambda: optim.clip_grad_norm(pl.ones(2), 1.0, error_if_nonfinite="no"), "clip_grad_norm: error_if_nonfinite is 'no'")):
            with self.subTest(text), self.assertRaisesRegex(pl.TypeError, text + ", expected True or False, at layer_refusals_test.py"):
                call()

    def test_a_class_that_derives_from_a_layer_is_named_as_the_layer(self):
        class Block(nn.Conv2d):
            pass

        with self.assertRaisesRegex(pl.ValueError, "nn.Conv2d: stride is 0"):
            Block(3, 4, 2, 0)


if __name__ == "__main__":
    unittest.main()
