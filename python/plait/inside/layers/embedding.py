"""Tables of vectors, looked up by ids."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import flag, name_of, number, one_of, positive, whole
from plait.inside.layers.first_weights import drawn
from plait.inside.layers.on_device import on_device
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


class _Table(Module):
    """weight [num_embeddings, embedding_dim], and what is done to rows as they are read."""

    def _set(self, num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
        self.num_embeddings = whole(self, "num_embeddings", num_embeddings)
        self.embedding_dim = whole(self, "embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else self._row(padding_idx)
        self.max_norm = None if max_norm is None else positive(self, "max_norm", max_norm)
        self.norm_type = number(self, "norm_type", norm_type)
        self.scale_grad_by_freq = flag(self, "scale_grad_by_freq", scale_grad_by_freq)
        if sparse:
            raise errors.ValueError.with_hint(f"{name_of(self)}: sparse gradients do not exist", "leave sparse out: gradients are dense tensors")

    def _row(self, padding_idx):
        row = whole(self, "padding_idx", padding_idx, -self.num_embeddings)
        if row >= self.num_embeddings:
            raise errors.ValueError(f"{name_of(self)}: padding_idx is {row}, expected a row below {self.num_embeddings}")
        return row % self.num_embeddings

    def _make_weight(self, weight, key, dtype):
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is not None:
            weight = asarray(weight)
            if tuple(weight.shape) != shape:
                raise errors.ShapeError(f"{name_of(self)}: _weight is {list(weight.shape)}, expected {list(shape)}")
            self.weight = weight
            return
        self.weight = _core.random.normal(drawn(key), shape, dtype=dtype)
        if self.padding_idx is not None:
            self.weight = self.weight.at[self.padding_idx].set(0.0)

    def _read(self, ids):
        """The table as it is read: with rows of at most max_norm, and a gradient that is divided by the number of reads."""
        weight = self.weight
        if self.max_norm is not None:
            norms = _core.norm(weight, self.norm_type, axis=-1, keepdims=True)
            scale = _core.where(norms > self.max_norm, self.max_norm / (norms + 1e-7), 1.0)
            weight = weight + _core.stop_gradient(weight * scale - weight)
        if self.scale_grad_by_freq:
            counts = _core.astype(_core.bincount(_core.flatten(ids), self.num_embeddings), weight.dtype)[:, None]
            constant = _core.stop_gradient(weight)
            weight = constant + (weight - constant) / _core.maximum(counts, 1.0)
        return weight


class Embedding(_Table):
    """Rows of a table, weight [num_embeddings, embedding_dim], selected by ids. The row padding_idx is initialised to
    zeros, and has no gradient. With max_norm, rows are scaled to that norm as they are read; the weight stays as it is.

    >>> plait.nn.Embedding(10, 4)(plait.tensor([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    @on_device
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False,
                 _weight=None, _freeze=False, *, key=None, dtype=_core.f32):
        self._set(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        self._make_weight(_weight, key, dtype)
        if _freeze:
            self.weight = Buffer(self.weight)

    def __call__(self, input):
        return _core.embedding(input, self._read(input), self.padding_idx)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of rows of a table, for each bag of ids: a row of [bags, ids], or the ids from one of the
    offsets to the next, each times its per_sample_weights, for a sum. Ids that are padding_idx do not count.

    >>> bags = plait.nn.EmbeddingBag(10, 4, mode="sum")
    >>> bags(plait.tensor([1, 2, 4, 5, 4]), plait.tensor([0, 3])).shape
    (2, 4)
    """

    @on_device
    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, *, key=None, dtype=_core.f32):
        self._set(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        self.mode = one_of(self, "mode", mode, ("sum", "mean", "max"))
        self.include_last_offset = flag(self, "include_last_offset", include_last_offset)
        self._make_weight(_weight, key, dtype)

    def __call__(self, input, offsets=None, per_sample_weights=None):
        """The reduced embeddings of bags: rows of input [bags, length], or of input [indices] from each of the offsets to the next one.
        per_sample_weights, of the shape of the input, multiply embeddings."""
        if (input.ndim == 1) != (offsets is not None) or input.ndim > 2:
            beside = "" if offsets is None else " beside offsets"
            raise errors.ShapeError.with_hint(f"{name_of(self)}: the ids have {input.ndim} dimensions{beside}",
                                              "[bags, ids], or [ids] with the offsets of the bags")
        if per_sample_weights is not None and self.mode != "sum":
            raise errors.ValueError(f"{name_of(self)}: per_sample_weights are for mode sum, not {self.mode}")
        return _core.embedding_bag(input, self._read(input), offsets=offsets, mode=self.mode,
                                        per_sample_weights=per_sample_weights, include_last_offset=self.include_last_offset,
                                        padding_idx=self.padding_idx)
