"""The base of optimizers whose formula is one for each weight, as PyTorch's are: numbers, groups, and states by path."""

import types

from plait import _core, errors
from plait.inside.arrays.dtype_info import finfo
from plait.inside.help.keywords import keyword_for
from plait.inside.optimizers.base import ModelOptimizer
from plait.inside.optimizers.groups import LENGTHS, Group, as_numbers, expect_matches, expect_model, group_of, groups_from, set_zero
from plait.inside.optimizers.numbers import expect_flag, number_at
from plait.inside.optimizers.weights import Weights, expect_devices, expect_shapes
from plait.inside.trees.roles import mark_parameters

ACCEPTED = ("foreach", "fused", "capturable", "differentiable")


class GroupedOptimizer(ModelOptimizer):
    """Subclasses have: `_numbers` and `_options`, the names of attributes; `_optional`, those of the numbers that are absent (None
    in the formula, without a state) if they are 0 when the optimizer is made; `_states_of`, the names of the states of a weight; `_of_step`, which adds numbers
    that are the same for all weights; and `_formula`, which gets one weight and returns it with its states. Complex weights are pairs of
    real numbers along a last axis there; weights of 16 bits are f32."""

    _numbers, _options, _optional = ("lr", "weight_decay"), ("maximize",), ()
    _lengths = LENGTHS
    _states = ()
    _scalar_states = ()  # one f64[] for each weight
    _exact = ()  # numbers of a step that stay f64
    _is_real = False  # true if complex weights are refused
    _zeros = ()

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        Group._known.update(cls._numbers, cls._options)

    def _begin(self, params, groups, accepted, **given):
        name = type(self).__name__
        for each in accepted.keys() - set(ACCEPTED):
            said = (f"{name}: unknown argument {each!r}; expected {', '.join([*given, 'groups'])} (and {', '.join(ACCEPTED)}, "
                    "which have no effect)")
            renamed = keyword_for(each, [*given, "groups"])
            raise errors.TypeError.with_hint(said, renamed) if renamed else errors.TypeError(said)
        expect_model(name, params)
        model = Weights(name, params)
        weights = model.values
        for each, value in given.items():
            setattr(self, each, value)
        self.groups = groups_from(self, groups, model.names)
        self.steps, self.state = _core.zeros((), dtype=_core.i64), {}
        settings = self._settings(model.names)
        for path, value in weights.items():
            self._expect_usable(path, value)
            n = settings[path]
            for each in self._states_of(n, value):
                self.state.setdefault(each, {})[path] = self._first_state(each, n, value)
        mark_parameters(list(weights.values()))

    def __setattr__(self, name, value):
        if name in self._numbers:
            set_zero(f"{type(self).__name__}: {name}", self, name, value, "steps" in vars(self))
            value = as_numbers(type(self), name, value)
        elif name in self._options:
            self._expect_option(name, value, f"{type(self).__name__}: {name}")
        super().__setattr__(name, value)

    @classmethod
    def _expect_option(cls, name, value, label):
        """An error for a value that an option cannot have. `label` names the option."""
        expect_flag(label, value)

    def _settings(self, names):
        """For each path, the numbers and options of its weight, at the present step. Weights of a group have the same object."""
        of_group = {}
        for index in (None, *range(len(self.groups))):
            own = {} if index is None else vars(self.groups[index])
            made = {}
            for each in self._numbers:
                holder = self.groups[index] if each in own else self
                is_absent = each in self._optional and each in holder._zeros
                made[each] = None if is_absent else self._at(getattr(holder, each))
            made |= {each: own.get(each, getattr(self, each)) for each in self._options}
            of_group[index] = types.SimpleNamespace(**made)
        return {path: of_group[index] for path, index in group_of(type(self).__name__, self.groups, names).items()}

    def _at(self, value):
        return tuple(each if each is None else self._at(each) for each in value) if isinstance(value, tuple) else number_at(value, self.steps)

    def _leave_out(self, frozen):
        if frozen:
            self.state = {name: {path: state for path, state in states.items() if path not in frozen} for name, states in self.state.items()}

    def _of_model(self, weights, extra):
        return {**extra, "model": weights}

    def _step(self, weights, gradients, model):
        expect_matches(type(self).__name__, self.groups, model.paths)
        settings = self._settings(model.names)
        self._expect_states(weights, settings)
        steps = self.steps + 1
        prepared, following, states = {}, {}, {each: {} for each in self.state}
        for path, value in weights.items():
            self._expect_usable(path, value)
            key = id(settings[path]), wide_of(value.dtype)
            if key not in prepared:
                prepared[key] = self._prepared(settings[path], steps, key[1])
            names = self._states_of(settings[path], value)
            before = [self.state[each][path] for each in names]
            try:
                following[path], *made = self._stepped(prepared[key], names, value, gradients[path], before)
            except errors.DeviceError as error:
                expect_devices(type(self).__name__, path, value, gradients[path], dict(zip(names, before)), error)
                raise
            for each, state in zip(names, made):
                states[each][path] = state
        self.steps, self.state = steps, states
        return following

    def _expect_states(self, weights, settings):
        expected = {each: {} for each in self.state}
        for path, value in weights.items():
            for each in self._states_of(settings[path], value):
                expected.setdefault(each, {})[path] = () if each in self._scalar_states else self._state_shape(each, value)
        for each, shapes in expected.items():
            expect_shapes(type(self).__name__, each, self.state.get(each, {}), shapes)

    def _prepared(self, n, steps, dtype):
        """The numbers of a step, computed as f64, then of the dtype of the computation."""
        n = types.SimpleNamespace(**vars(n))
        self._of_step(n, _core.astype(steps, _core.f64))
        return types.SimpleNamespace(**{name: value if name in self._exact else _cast(value, dtype) for name, value in vars(n).items()})

    def _stepped(self, n, names, value, gradient, states):
        """Converts to the dtype of the computation, and back."""
        gradient = widened(gradient, value.dtype)
        kept = [each in self._scalar_states for each in names]
        made = self._formula(n, widened(value, value.dtype), -gradient if n.maximize else gradient,
                             *(state if is_kept else widened(state, value.dtype) for state, is_kept in zip(states, kept)))
        return [each if is_kept else narrowed(each, value.dtype) for each, is_kept in zip(made, (False, *kept))]

    def _expect_usable(self, path, value):
        if self._is_real and value.dtype.kind == "complex":
            raise errors.TypeError.with_hint(f"{type(self).__name__}: {path or 'the model'} is {value.dtype.name}, expected real numbers",
                                             "keep real and imaginary parts as separate weights, or use SGD or Adam")

    def _states_of(self, n, value):
        return self._states

    def _state_shape(self, name, value):
        return tuple(value.shape)

    def _first_state(self, name, n, value):
        return _core.zeros_like(value)

    def _of_step(self, n, steps):
        """Adds to the numbers what is the same for all weights. `steps` is f64[], and counts this one."""


def wide_of(dtype):
    return _core.f64 if dtype in (_core.f64, _core.c128) else _core.f32


def widened(value, dtype):
    """A tensor as the formula gets it, for weights of a dtype."""
    if dtype.kind != "complex":
        return _core.astype(value, wide_of(dtype))
    return _core.astype(_core.stack([_core.real(value), _core.imag(value)], -1), wide_of(dtype))


def narrowed(value, dtype):
    if dtype.kind != "complex":
        return _core.astype(value, dtype)
    return _core.astype(_core.make_complex(value[..., 0], value[..., 1]), dtype)


def _cast(value, dtype):
    if isinstance(value, tuple):
        return tuple(_cast(each, dtype) for each in value)
    return _core.astype(value, dtype) if isinstance(value, _core.Tensor) else value


def decayed(n, value, gradient):
    """The gradient with weight_decay times the weight added to it. A weight that is infinite counts as the largest number, so that
    without decay it stays as it is."""
    largest = finfo(value.dtype).max
    return gradient + n.weight_decay * _core.clip(value, -largest, largest)
