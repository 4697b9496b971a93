"""Host state: eighty kinds of state that Python code can hold and a jitted function reads or changes. Each function
is called five times with changes in between, eagerly, jitted and within derivatives: results and the state afterwards must be equal."""

import collections
import contextlib
import contextvars
import dataclasses
import functools
import itertools
import threading
import types
import unittest
import warnings
import weakref

import numpy as np
import plait as pl

WAYS = []


def way(make):
    """make() returns f, change(i), which is called before each call, and seen(), which returns the state."""
    WAYS.append(make)
    return make


def number(value):
    return pl.tensor(float(value))


class Box:
    def __init__(self, **named):
        self.__dict__.update(named)


# ---- Read.


@way
def closure_tensor():
    w = number(1)

    def change(i):
        nonlocal w
        w = number(i + 2)

    return lambda x: x * w, change, lambda: w


@way
def closure_number():
    n = 1

    def change(i):
        nonlocal n
        n = i

    return lambda x: x * n, change, lambda: n


GLOBAL = 1.0


@way
def global_number():
    def change(i):
        global GLOBAL
        GLOBAL = float(i)

    return lambda x: x + GLOBAL, change, lambda: GLOBAL


@way
def attribute_tensor():
    box = Box(w=number(1))
    return lambda x: x * box.w, lambda i: setattr(box, "w", number(i)), lambda: box.w


@way
def attribute_flag():
    box = Box(training=True)
    return lambda x: x * 2 if box.training else x, lambda i: setattr(box, "training", i % 2 == 0), lambda: box.training


@way
def attribute_by_computed_name():
    box = Box(layer0=number(1), layer1=number(2))
    return (lambda x: x * sum(getattr(box, f"layer{i}") for i in range(2)), lambda i: setattr(box, "layer1", number(i)),
            lambda: box.layer1)


@way
def attribute_that_is_absent_at_first():
    box = Box()
    return lambda x: x * 2 if hasattr(box, "double") else x, lambda i: setattr(box, "double", 1) if i == 2 else None, lambda: vars(box)


@way
def attribute_with_default():
    box = Box()
    return lambda x: x + getattr(box, "shift", 0.0), lambda i: setattr(box, "shift", float(i)) if i > 1 else None, lambda: vars(box)


@way
def attribute_that_is_tried():
    box = Box()

    def f(x):
        try:
            return x * box.scale
        except AttributeError:
            return x

    return f, lambda i: setattr(box, "scale", 3.0) if i == 4 else None, lambda: 0


@way
def nested_attributes():
    box = Box(inner=Box(inner=Box(w=number(1))))
    return lambda x: x * box.inner.inner.w, lambda i: setattr(box.inner.inner, "w", number(i)), lambda: 0


@way
def another_object_in_an_attribute():
    box = Box(inner=Box(scale=1.0))
    return lambda x: x * box.inner.scale, lambda i: setattr(box, "inner", Box(scale=float(i))), lambda: 0


@way
def bound_method():
    class Model:
        def __init__(self):
            self.w = number(1)

        def loss(self, x):
            return self.w * x

    model = Model()
    return model.loss, lambda i: setattr(model, "w", number(i)), lambda: model.w


@way
def bound_method_that_calls_others():
    class Model:
        scale = 2.0

        def __init__(self):
            self.w = number(1)

        def helper(self, x):
            return x * self.scale

        def loss(self, x):
            return self.helper(self.w * x)

    model = Model()
    return model.loss, lambda i: setattr(model, "scale", float(i)), lambda: model.scale


@way
def class_attribute():
    class Config:
        scale = 1.0

    return lambda x: x * Config.scale, lambda i: setattr(Config, "scale", float(i)), lambda: Config.scale


@way
def class_attribute_of_a_base():
    class Base:
        scale = 1.0

    class Config(Base):
        pass

    config = Config()
    return lambda x: x * config.scale, lambda i: setattr(Base, "scale", float(i)), lambda: 0


@way
def class_attribute_tensor():
    class Config:
        w = number(1)

    return lambda x: x * Config.w, lambda i: setattr(Config, "w", number(i)), lambda: 0


@way
def module_attribute():
    module = types.ModuleType("settings_of_a_test")
    module.scale = 1.0
    return lambda x: x * module.scale, lambda i: setattr(module, "scale", float(i)), lambda: 0


@way
def module_function_is_replaced():
    module = types.ModuleType("functions_of_a_test")
    module.apply = lambda x: x
    return lambda x: module.apply(x), lambda i: setattr(module, "apply", lambda x: x * i), lambda: 0


@way
def slots():
    class Slotted:
        __slots__ = ("w", "scale")

    it = Slotted()
    it.w, it.scale = number(1), 1.0

    def change(i):
        it.w, it.scale = number(i), i + 0.5

    return lambda x: x * it.w + it.scale, change, lambda: 0


@way
def read_only_property():
    class Model:
        _w = number(1)

        @property
        def w(self):
            return self._w * self.factor

        factor = 1.0

    model = Model()
    return lambda x: x * model.w, lambda i: setattr(model, "factor", float(i)), lambda: 0


@way
def property_that_writes():
    class Model:
        def __init__(self):
            self._w = number(1)

        @property
        def w(self):
            return self._w

        @w.setter
        def w(self, value):
            self._w = value

    model = Model()

    def f(x):
        model.w = model.w + x
        return model.w

    return f, lambda i: None, lambda: model.w


@way
def callable_object():
    class Scale:
        def __init__(self):
            self.by = number(1)

        def __call__(self, x):
            return x * self.by

    scale = Scale()
    return scale, lambda i: setattr(scale, "by", number(i)), lambda: 0


@way
def callable_object_in_a_closure():
    class Scale:
        def __init__(self):
            self.by = number(1)

        def __call__(self, x):
            return x * self.by

    scale = Scale()
    return lambda x: scale(x), lambda i: setattr(scale, "by", number(i)), lambda: 0


@way
def operator_of_an_object():
    class Shift:
        by = 1.0

        def __rmatmul__(self, x):
            return x + self.by

    class Wrapped:
        def __init__(self, x):
            self.x = x

        def __matmul__(self, other):
            return other.__rmatmul__(self.x)

    shift = Shift()
    return lambda x: Wrapped(x) @ shift, lambda i: setattr(shift, "by", float(i)), lambda: 0


@way
def getattr_of_an_object():
    class Lazy:
        def __init__(self):
            self.values = {"w": number(1)}

        def __getattr__(self, name):
            return self.values[name]

    lazy = Lazy()
    return lambda x: x * lazy.w, lambda i: lazy.values.update(w=number(i)), lambda: 0


@way
def partial_of_a_tensor():
    box = Box(f=functools.partial(lambda w, x: x * w, number(1)))
    return lambda x: box.f(x), lambda i: setattr(box, "f", functools.partial(lambda w, x: x * w, number(i))), lambda: 0


@way
def partial_of_a_list():
    weights = [number(1), 2.0]
    return functools.partial(lambda ws, x: x * ws[0] + ws[1], weights), lambda i: weights.__setitem__(slice(None), [number(i), i + 0.5]), lambda: weights


@way
def partial_by_keyword():
    options = {"scale": 1.0}
    return functools.partial(lambda x, options: x * options["scale"], options=options), lambda i: options.update(scale=float(i)), lambda: options


@way
def default_argument():
    def f(x, config={"scale": 1.0}):
        return x * config["scale"]

    return f, lambda i: f.__defaults__[0].update(scale=float(i)), lambda: 0


@way
def function_attribute():
    def f(x):
        return x * f.scale

    f.scale = 1.0
    return f, lambda i: setattr(f, "scale", float(i)), lambda: 0


@way
def list_of_layers():
    layers = [lambda x: x + 1.0]
    return lambda x: functools.reduce(lambda y, layer: layer(y), layers, x), lambda i: layers.append(lambda x, i=i: x * float(i)), lambda: len(layers)


@way
def dict_of_numbers():
    table = {"a": 1.0}
    return lambda x: x * sum(table.values()), lambda i: table.update({str(i): float(i)}), lambda: table


@way
def objects_in_a_list():
    scales = [Box(by=1.0), Box(by=2.0)]

    def change(i):
        scales[i % 2].by = float(i)

    return lambda x: x * scales[0].by + scales[1].by, change, lambda: 0


@way
def dict_of_objects():
    table = {"a": Box(scale=1.0)}
    return lambda x: x * table["a"].scale, lambda i: setattr(table["a"], "scale", float(i)), lambda: 0


@way
def set_of_names():
    names = {"a"}
    return lambda x: x * len(names), lambda i: names.add(str(i)), lambda: names


@way
def named_tuple():
    Pair = collections.namedtuple("Pair", "a b")
    box = Box(pair=Pair(number(1), 2.0))
    return lambda x: x * box.pair.a + box.pair.b, lambda i: setattr(box, "pair", Pair(number(i), float(i))), lambda: 0


@way
def data_class():
    @dataclasses.dataclass
    class Config:
        scale: float
        w: pl.Tensor

        def apply(self, x):
            return x * self.w * self.scale

    config = Config(1.0, number(1))

    def change(i):
        config.scale, config.w = float(i), number(i)

    return lambda x: config.apply(x), change, lambda: 0


@way
def simple_namespace():
    config = types.SimpleNamespace(scale=1.0)
    return lambda x: x * config.scale, lambda i: setattr(config, "scale", float(i)), lambda: 0


@way
def model_in_a_closure():
    class Layer(pl.Module):
        def __init__(self):
            self.w = number(1)
            self.training = True

        def __call__(self, x):
            return x * self.w if self.training else x

    model = Layer()

    def change(i):
        model.w, model.training = number(i), i % 2 == 0

    return lambda x: model(x), change, lambda: 0


SCALE_OF_METHODS = 1.0


@way
def global_read_by_a_method_of_a_model():
    class Layer(pl.Module):
        def __init__(self):
            self.w = number(1)

        def __call__(self, x):
            return x * self.w * SCALE_OF_METHODS

    model = Layer()

    def change(i):
        global SCALE_OF_METHODS
        SCALE_OF_METHODS = float(i)

    return lambda x: model(x), change, lambda: 0


TRAINING = False


@contextlib.contextmanager
def training():
    global TRAINING
    earlier, TRAINING = TRAINING, True
    try:
        yield
    finally:
        TRAINING = earlier


@way
def context_manager_within():
    def f(x):
        with training():
            return x * 2 if TRAINING else x

    return f, lambda i: None, lambda: TRAINING


@way
def context_manager_around():
    scope = contextlib.ExitStack()

    def change(i):
        scope.close()
        if i % 2:
            scope.enter_context(training())

    def f(x):
        return x * 2 if TRAINING else x

    return f, change, lambda: 0


@way
def context_variable():
    scale = contextvars.ContextVar("scale", default=1.0)
    return lambda x: x * scale.get(), lambda i: scale.set(float(i)) and None, lambda: 0


@way
def thread_local():
    local = threading.local()

    def change(i):
        local.scale = float(i)

    return lambda x: x * local.scale, change, lambda: 0


@way
def numpy_array_written_to():
    table = np.ones(3, np.float32)
    return lambda x: x * table.sum(), lambda i: table.__setitem__(0, i), lambda: table.copy()


@way
def numpy_array_written_to_once():
    table = np.ones(3, np.float32)
    return lambda x: x * table.sum(), lambda i: table.__setitem__(0, 5) if i == 4 else None, lambda: table.copy()


@way
def numpy_array_replaced():
    box = Box(table=np.ones(3, np.float32))
    return lambda x: x + box.table, lambda i: setattr(box, "table", np.full(3, i, np.float32)), lambda: 0


@way
def numpy_scalar():
    box = Box(scale=np.float32(1))
    return lambda x: x * box.scale, lambda i: setattr(box, "scale", np.float32(i)), lambda: 0


@way
def iterator():
    numbers = iter(range(1, 100))
    return lambda x: x * next(numbers), lambda i: None, lambda: 0


@way
def generator():
    def count():
        for i in itertools.count(1):
            yield float(i)

    numbers = count()
    return lambda x: x * next(numbers), lambda i: None, lambda: 0


@way
def iterator_of_ones_own():
    class Count:
        n = 0

        def __next__(self):
            self.n += 1
            return self.n

    count = Count()
    return lambda x: x * next(count), lambda i: None, lambda: count.n


@way
def double_ended_queue():
    queue = collections.deque([1.0, 2.0], maxlen=3)
    return lambda x: x * sum(queue), lambda i: queue.append(float(i)), lambda: list(queue)


@way
def weak_reference():
    box = Box(scale=1.0)
    reference = weakref.ref(box)
    return lambda x: x * reference().scale, lambda i: setattr(box, "scale", float(i)), lambda: 0


@way
def memoised_function():
    box = Box(scale=1.0)

    @functools.lru_cache
    def scale(of):
        return box.scale

    return lambda x: x * scale(0), lambda i: (setattr(box, "scale", float(i)), scale.cache_clear()) and None, lambda: 0


@way
def function_found_through_a_decorator():
    box = Box(scale=1.0)

    def decorated(f):
        @functools.wraps(f)
        def inner(*arguments):
            return f(*arguments) * box.scale

        return inner

    @decorated
    def helper(x):
        return x + 1.0

    return lambda x: helper(x), lambda i: setattr(box, "scale", float(i)), lambda: 0


@way
def function_that_a_transform_holds():
    box = Box(scale=1.0)
    slope = pl.grad(lambda y: y * y * box.scale)
    return lambda x: slope(x), lambda i: setattr(box, "scale", float(i)), lambda: 0


@way
def object_that_is_an_argument():
    box = Box(scale=1.0)
    return lambda x, by=box: x * by.scale, lambda i: setattr(box, "scale", float(i)), lambda: 0


# ---- Changed.


@way
def counter_attribute():
    box = Box(n=0)

    def f(x):
        box.n += 1
        return x * box.n

    return f, lambda i: None, lambda: box.n


@way
def counter_nobody_reads():
    box = Box(n=0)

    def f(x):
        box.n += 1
        return x

    return f, lambda i: None, lambda: box.n


@way
def counter_global():
    global GLOBAL
    GLOBAL = 1.0

    def f(x):
        global GLOBAL
        GLOBAL += 1.0
        return x * GLOBAL

    return f, lambda i: None, lambda: GLOBAL


@way
def counter_nonlocal():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + n

    return f, lambda i: None, lambda: n


@way
def attribute_of_tensors():
    box = Box(mean=number(0), rate=0.1)

    def f(x):
        box.mean = box.mean * (1 - box.rate) + x * box.rate
        return x - box.mean

    return f, lambda i: None, lambda: box.mean


@way
def attribute_that_is_new():
    box = Box()

    def f(x):
        box.last = x * 2
        return x

    return f, lambda i: None, lambda: box.last if hasattr(box, "last") else None


@way
def tree_in_an_attribute():
    box = Box(state={"m": number(0), "steps": number(0)})

    def f(x):
        box.state = {"m": box.state["m"] + x, "steps": box.state["steps"] + 1}
        return box.state["m"]

    return f, lambda i: None, lambda: box.state


@way
def item_of_a_dict():
    state = {"m": number(0)}

    def f(x):
        state["m"] = state["m"] + x
        return state["m"] * 2

    return f, lambda i: None, lambda: state


@way
def items_of_a_list():
    params = [number(1), number(2)]

    def f(x):
        for i in range(len(params)):
            params[i] = params[i] - 0.1 * x
        return params[0] + params[1]

    return f, lambda i: None, lambda: params


@way
def new_item_of_a_dict():
    cache = {}

    def f(x):
        if "w" not in cache:
            cache["w"] = x * 10
        return x + cache["w"]

    return f, lambda i: cache.clear() if i == 2 else None, lambda: cache


@way
def appended():
    losses = []

    def f(x):
        losses.append(x * 2)
        return x

    return f, lambda i: None, lambda: losses


@way
def appended_to_what_is_cleared():
    losses = []

    def f(x):
        losses.append(x * 2)
        return x

    return f, lambda i: losses.clear(), lambda: losses


@way
def popped():
    pool = [number(i) for i in range(10)]

    def f(x):
        return x + pool.pop()

    return f, lambda i: None, lambda: pool


@way
def added_to_a_set():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x * len(seen)

    return f, lambda i: None, lambda: seen


@way
def deleted():
    box = Box(first=number(3))

    def f(x):
        if hasattr(box, "first"):
            y = x * box.first
            del box.first
            return y
        return x

    return f, lambda i: None, lambda: sorted(vars(box))


@way
def tensor_assigned_to():
    w = number(1).reshape((1,)) * pl.ones(3)

    def f(x):
        w[0] = x
        return pl.sum(w)

    return f, lambda i: None, lambda: w


@way
def method_that_changes_its_object():
    class Trainer:
        def __init__(self):
            self.w, self.n = number(1), 0
            self.step = pl.jit(self._step)

        def _step(self, x):
            self.w = self.w - 0.1 * x
            self.n += 1
            return self.w * self.n

    trainer = Trainer()
    plain = Trainer()

    def f(x):
        ours, theirs = trainer.step(x), plain._step(x)
        assert abs(ours.item() - theirs.item()) < 1e-5, (ours, theirs)
        return ours

    return Box(f=f, is_jitted=True), lambda i: None, lambda: (trainer.w, trainer.n)


@way
def jitted_method_of_a_class():
    class Trainer:
        def __init__(self):
            self.w = number(1)

        @pl.jit
        def step(self, x):
            self.w = self.w + x
            return self.w

    trainer, other = Trainer(), Trainer()

    def f(x):
        other.step(x * 10)
        return trainer.step(x)

    return Box(f=f, is_jitted=True), lambda i: None, lambda: (trainer.w, other.w)


@way
def model_that_changes():
    class Norm(pl.Module):
        def __init__(self):
            self.mean = number(0)

        def __call__(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    model = Norm()
    return lambda x: model(x), lambda i: None, lambda: model.mean


@way
def one_list_in_two_places():
    shared = [number(1)]
    a, b = Box(values=shared), Box(values=shared)

    def f(x):
        a.values[0] = a.values[0] + x
        return b.values[0] * 2

    return f, lambda i: None, lambda: (a.values, b.values, a.values is b.values)


@way
def one_tensor_in_two_places():
    w = number(1)
    a, b = Box(w=w), Box(w=w)

    def change(i):
        if i == 2:
            b.w = number(10)

    return lambda x: a.w * x + b.w, change, lambda: 0


@way
def list_made_anew():
    box = Box(history=[])

    def f(x):
        box.history = box.history + [x]
        return x * len(box.history)

    return f, lambda i: None, lambda: box.history


@way
def exception_after_a_change():
    box = Box(n=number(0))

    def f(x):
        box.n = box.n + 1
        if pl.sum(x) > 3:
            raise RuntimeError("too large")
        return x * box.n

    return f, lambda i: None, lambda: box.n


def plainly(tree):
    leaves, structure = pl.tree.flatten(tree)
    return [np.asarray(leaf).tolist() for leaf in leaves], str(structure)


def is_jitted(make):
    f = make()[0]
    return isinstance(f, Box) and getattr(f, "is_jitted", False)


def run(make, jitted, wrap=lambda f: f):
    f, change, seen = make()
    f = f.f if isinstance(f, Box) and getattr(f, "is_jitted", False) else pl.jit(wrap(f)) if jitted else wrap(f)
    found = []
    for i in range(5):
        change(i)
        try:
            result = f(number(i + 0.5))
        except RuntimeError as error:
            result = str(error)
        found.append((plainly(result), plainly(seen())))
    return found


# The value of the function, computed within a derivative.
WITHIN = {"grad": lambda f: lambda x: pl.value_and_grad(lambda y: pl.sum(f(y)))(x)[0], "jit of grad": lambda f: pl.jit(WITHIN["grad"](f)),
          "jvp": lambda f: lambda x: pl.jvp(lambda y: pl.sum(f(y)), (x,), (x,))[0], "vjp": lambda f: lambda x: pl.vjp(lambda y: pl.sum(f(y)), x)[0]}


class HostState(unittest.TestCase):
    def test_within_derivatives_and_as_it_is(self):
        """A derivative runs host code once, as it is."""
        for make in [each for each in WAYS if not is_jitted(each)]:
            wanted = run(make, False, lambda f: lambda x: pl.sum(f(x)))
            for name, wrap in WITHIN.items():
                with self.subTest(make.__name__, within=name), warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.HostStateWarning)
                    self.assertEqual(run(make, False, wrap), wanted)

    def test_as_it_is_and_jitted(self):
        self.assertGreaterEqual(len(WAYS), 80)
        for make in WAYS:
            for wrap in (lambda f: f, lambda f: (lambda x: pl.grad(lambda y: pl.sum(f(y)))(x))):
                with self.subTest(make.__name__), warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.HostStateWarning)
                    self.assertEqual(run(make, True), run(make, False))


if __name__ == "__main__":
    unittest.main()
