"""Normalisation with running statistics, which are buffers: in training, a call assigns new ones to the layer."""

from plait import _core, errors
from plait.inside.layers.checks import expect_dimensions, flag, is_empty, name_of, number, probability, whole
from plait.inside.layers.normalization import affine_weights
from plait.inside.layers.on_device import on_device
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


class _WithStatistics(Module):
    _dimensions = None

    def _set(self, num_features, eps, momentum, affine, track_running_stats, bias, dtype):
        self.num_features, self.eps = whole(self, "num_features", num_features), number(self, "eps", eps, 0)
        self.momentum = None if momentum is None else probability(self, "momentum", momentum, "a number")
        self.affine, self.track_running_stats = flag(self, "affine", affine), flag(self, "track_running_stats", track_running_stats)
        self._make_weights(bias, dtype)

    def _make_weights(self, bias, dtype):
        self.weight, self.bias = affine_weights((self.num_features,), self.affine, bias, dtype)
        if self.track_running_stats:
            self.running_mean = Buffer(_core.zeros(self.num_features, dtype=dtype))
            self.running_var = Buffer(_core.ones(self.num_features, dtype=dtype))
            self.num_batches_tracked = Buffer(_core.zeros((), dtype=_core.i64))
        else:
            self.running_mean = self.running_var = self.num_batches_tracked = None

    @property
    def _affine(self):
        return {"weight": self.weight, "bias": self.bias, "eps": self.eps}

    def _by_running_statistics(self, input):
        return _core.batch_norm(input, running_mean=self.running_mean, running_var=self.running_var, training=False, **self._affine).values

    def _only_scaled(self, input):
        """The values of an empty input, which has no statistics; the gradients of the weights are 0."""
        mean, var = (make(self.num_features, dtype=input.dtype) for make in (_core.zeros, _core.ones))
        return _core.batch_norm(input, running_mean=mean, running_var=var, training=False, **self._affine).values

    def _blend(self, mean, var, momentum):
        """Moves the running statistics towards those of this batch."""
        self.running_mean = self.running_mean + momentum * (_core.stop_gradient(mean) - self.running_mean)
        self.running_var = self.running_var + momentum * (_core.stop_gradient(var) - self.running_var)


class _BatchNorm(_WithStatistics):
    @on_device
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, *, bias=True, dtype=_core.f32):
        self._set(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def __call__(self, input):
        expect_dimensions(self, input, *self._dimensions)
        if not self.training and self.running_mean is not None:
            return self._by_running_statistics(input)
        momentum = self._counted() if self.training and self.running_mean is not None else None
        if is_empty(input):
            return self._only_scaled(input)
        if momentum is None:
            return self._normalized(input, {})
        return self._normalized(input, {"running_mean": self.running_mean, "running_var": self.running_var, "momentum": momentum})

    def _counted(self):
        """Counts the batch, and returns its part in the running statistics."""
        self.num_batches_tracked = self.num_batches_tracked + 1
        return 1.0 / _core.astype(self.num_batches_tracked, self.running_mean.dtype) if self.momentum is None else self.momentum

    def _normalized(self, input, running):
        is_mean = isinstance(running.get("momentum"), _core.Tensor)  # a number that batch_norm would read
        found = _core.batch_norm(input, training=True, **{**running, **({"momentum": 1.0} if is_mean else {})}, **self._affine)
        if is_mean:
            self._blend(found.running_mean, found.running_var, running["momentum"])
        elif running:
            self.running_mean, self.running_var = found.running_mean, found.running_var
        return found.values


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of [batch, channels] or [batch, channels, length] over the batch to mean 0 and variance 1, then
    multiplies by its weight and adds its bias. In training it assigns new running statistics, which it uses in evaluation: a
    function that a transform calls must return the layer. With momentum=None they are the mean over all batches.

    >>> norm = plait.nn.BatchNorm1d(2)
    >>> norm(plait.tensor([[1.0, 10.0], [3.0, 30.0]]))
    [[-0.999995 -1.      ]
     [ 0.999995  1.      ]] : f32[2, 2]
    >>> norm.running_mean, norm.num_batches_tracked
    ([0.2 2. ] : f32[2], 1 : i64[])
    """

    _dimensions = 2, 3


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d of images [batch, channels, height, width].

    >>> plait.nn.BatchNorm2d(3)(plait.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    _dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d of volumes [batch, channels, depth, height, width].

    >>> plait.nn.BatchNorm3d(3)(plait.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    _dimensions = (5,)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm of [batch, channels, …], whose statistics in training are those of all batches along the named axis of vmap. Without
    axis_name it is like BatchNorm.

    >>> norm = plait.nn.SyncBatchNorm(1, track_running_stats=False, axis_name="data")
    >>> plait.vmap(norm, axis_name="data")(plait.tensor([[[1.0]], [[3.0]]])).flatten()
    [-0.999995  0.999995] : f32[2]
    """

    _dimensions = 2, 3, 4, 5

    @on_device
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, axis_name=None, *, bias=True,
                 dtype=_core.f32):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias=bias, dtype=dtype)
        self.axis_name = axis_name

    def _normalized(self, input, running):
        if self.axis_name is None or not self.training:
            return super()._normalized(input, running)
        axes = (0, *range(2, input.ndim))
        mean = _core.all_reduce_mean(_core.mean(input, axis=axes, keepdims=True), self.axis_name)
        var = _core.all_reduce_mean(_core.mean(_core.square(input - mean), axis=axes, keepdims=True), self.axis_name)
        if running:
            count = _core.all_reduce_sum(_core.sum(_core.ones_like(input[:, :1]), axis=axes), self.axis_name)
            self._blend(_core.flatten(mean), _core.flatten(var) * (count / (count - 1)), running["momentum"])
        values = (input - mean) * _core.rsqrt(var + self.eps)
        channels = (-1, *(1,) * (input.ndim - 2))
        if self.weight is not None:
            values = values * _core.reshape(self.weight, channels)
        return values if self.bias is None else values + _core.reshape(self.bias, channels)


class _InstanceNorm(_WithStatistics):
    @on_device
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, *, bias=True, dtype=_core.f32):
        self._set(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def __call__(self, input):
        expect_dimensions(self, input, *self._dimensions)
        if self.training or self.running_mean is None:
            self._expect_variance(input)
        if input.ndim == self._dimensions[0]:
            return self(input[None])[0]
        if not self.training and self.running_mean is not None:
            return self._by_running_statistics(input)
        if self.training and self.running_mean is not None and not is_empty(input):
            space = tuple(range(2, input.ndim))
            var = _core.var(input, axis=space, correction=1)
            self._blend(_core.mean(input, axis=(0, *space)), _core.mean(var, axis=0), self.momentum or 0.0)
        return _core.instance_norm(input, **self._affine)

    def _expect_variance(self, input):
        """ValueError for one element in space, which has no variance."""
        if all(isinstance(size, int) and size == 1 for size in input.shape[1 - self._dimensions[0]:]):
            shape = ", ".join(map(str, input.shape))
            raise errors.ValueError.with_hint(f"{name_of(self)}: the input is [{shape}], which has one element per channel of a sample, expected "
                                              "two or more", "plait.nn.LayerNorm or GroupNorm normalise over channels, too")


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of [batch, channels, length] to mean 0 and variance 1; with affine, it multiplies by a
    weight and adds a bias. With track_running_stats it keeps running statistics, as BatchNorm1d does.

    >>> plait.nn.InstanceNorm1d(2)(plait.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    [[[-0.999995    0.999995  ]
      [-0.99999994  0.99999994]]] : f32[1, 2, 2]
    """

    _dimensions = 2, 3


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d of images [batch, channels, height, width].

    >>> plait.nn.InstanceNorm2d(3)(plait.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    _dimensions = 3, 4


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d of volumes [batch, channels, depth, height, width].

    >>> plait.nn.InstanceNorm3d(3)(plait.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    _dimensions = 4, 5
