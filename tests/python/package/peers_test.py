"""For users of NumPy, PyTorch and JAX: each of their names either exists, or its error names an existing equivalent."""

import os
import re
import sys
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import plait  # noqa: E402
import torch  # noqa: E402
import torch.nn.utils.prune  # noqa: E402,F401
from plait.inside.help import peers  # noqa: E402


def functions_of(*modules):
    return sorted({name for module in modules for name in dir(module)
                   if not name.startswith("_") and callable(getattr(module, name, None)) and not isinstance(getattr(module, name), type)})


def attributes_of(*classes):
    return sorted({name for each in classes for name in dir(each) if not name.startswith("_")})


# Members of these namespaces that are not for users of tensors: internals.
MACHINERY = re.compile(r"test|info|show_\w+|.*_p|get_include|handle_torch_function|has_torch_function\w*|assert_int_or_pair|boolean_dispatch|"
                       r"sym_\w+|typename|import_ir_module\w*|parse_\w+|merge_type_\w+|unify_type_list|classproperty|compiled_with_cxx11_abi")
NAMES = {
    plait: functions_of(np, jnp, torch, torch.nn.functional, jax, jax.lax, jax.nn),
    plait.nn: sorted(name for name, value in vars(torch.nn).items() if isinstance(value, type) and not name.startswith("_")),
    plait.nn.utils: functions_of(torch.nn.utils),
    plait.nn.utils.prune: sorted(name for name, value in vars(torch.nn.utils.prune).items()
                                 if getattr(value, "__module__", "") == "torch.nn.utils.prune" and not name.startswith("_")),
    plait.optim: sorted(name for name, value in vars(torch.optim).items() if isinstance(value, type)),
    plait.linalg: functions_of(np.linalg, torch.linalg),
    plait.random: functions_of(np.random, jax.random),
    plait.fft: functions_of(np.fft, torch.fft),
}
# Names that users type first, from any module.
FIRST = ["save", "load", "cuda", "randn", "rand", "randint", "cat", "manual_seed", "from_numpy", "no_grad", "Tensor", "numpy", "lax", "device", "backends",
         "utils", "enable_grad", "inference_mode", "set_grad_enabled", "functional", "Parameter", "FloatTensor", "LongTensor", "ShapeDtypeStruct",
         "concatenate", "mul", "sub", "div", "mm", "clamp", "unsqueeze", "view", "expand", "permute", "PRNGKey", "fori_loop", "device_put"]


def unknown_in(hint):
    """Names in the hint that do not exist, of the package and of tensors."""
    missing = []
    for path in re.findall(r"\bplait((?:\.\w+)+)", hint):
        place = plait
        for part in path.strip(".").split("."):
            if not hasattr(place, part):
                missing.append(f"plait{path}")
                break
            place = getattr(place, part)
    for name in re.findall(r"\b[xy]\.(\w+)", hint):
        if not hasattr(plait.Tensor, name):
            missing.append(f"x.{name}")
    return missing


class Names(unittest.TestCase):
    def answer(self, place, name):
        """None if the name exists; else the hint of the error."""
        try:
            getattr(place, name)
        except AttributeError as error:
            self.assertIsInstance(error, plait.Error)
            self.assertTrue(error.hint or "did you mean" in str(error), f"{name} of {place} is not answered: {error}")
            return error.hint
        return None

    def check(self, place, names):
        answered = 0
        for name in names:
            with self.subTest(name, place=getattr(place, "__name__", "tensor")):
                hint = self.answer(place, name)
                if hint:
                    self.assertEqual(unknown_in(hint), [], hint)
                    answered += 1
        return answered

    def test_of_modules(self):
        for place, names in NAMES.items():
            self.check(place, [name for name in names if not MACHINERY.fullmatch(name)])

    def test_of_tensors(self):
        names = attributes_of(np.ndarray, torch.Tensor, type(jnp.zeros(2)))
        self.assertGreater(len(names), 600)
        self.check(plait.ones((2, 3)), names)

    def test_what_is_typed_first(self):
        for name in FIRST:
            with self.subTest(name):
                self.assertTrue(hasattr(plait, name) or peers.of_module("plait", name))
                self.assertNotIn("plait has no equivalent", peers.of_module("plait", name) or "")
        for name in ("Dropout", "ReLU", "BatchNorm2d", "CrossEntropyLoss", "Module", "functional", "ModuleList", "MultiheadAttention"):
            with self.subTest(name):
                self.assertTrue(hasattr(plait.nn, name) or "plait has no equivalent" not in (peers.of_module("plait.nn", name) or "plait has no equivalent"))

    def test_names_of_data_and_text(self):
        for place, names in ((plait.data, "MNIST FashionMNIST DatasetFolder StatefulDataLoader get_worker_info"), (plait.io, "SummaryWriter safe_open"),
                             (plait.data.transforms, "PILToTensor ConvertImageDtype ToPILImage"),
                             (plait.text, "AutoTokenizer BPE ByteLevelBPETokenizer BertWordPieceTokenizer models trainers")):
            for name in names.split():
                with self.subTest(name):
                    hint = self.answer(place, name)
                    self.assertTrue(hint)
                    self.assertEqual(unknown_in(hint), [])

    def test_names_of_other_modules(self):
        for name, words in {"DataLoader": "plait.data.DataLoader", "Dataset": "plait.data.Dataset", "TensorDataset": "plait.data.TensorDataset",
                            "SummaryWriter": "plait.io.EventLog", "save_file": "plait.io.save_safetensors", "load_file": "plait.io.load_safetensors",
                            "safe_open": "plait.io.open_safetensors", "F1Score": "plait.metrics.F1", "AutoTokenizer": "plait.text.Tokenizer"}.items():
            with self.subTest(name), self.assertRaisesRegex(plait.errors.AttributeError, f"hint: {words}"):
                getattr(plait, name)

    def test_names_that_resemble_others(self):
        for place, names in ((plait, "train empty_cache parameter jax cuda grad_and_value"), (plait.optim, "Adma SWA MultiOptimizer"),
                             (plait.nn, "MSE F bce LoRA NTXentLoss FocalLoss DiceLoss HingeLoss LogCoshLoss")):
            for name in names.split():
                with self.subTest(name):
                    self.assertTrue(self.answer(place, name))
        self.assertIn("Optimizer(plait.optim.partition(…), model)", self.answer(plait.optim, "MultiOptimizer"))

    def test_tables_name_what_there_is(self):
        for table in (*peers.TABLES.values(), peers.TENSOR):
            for name, hint in table.items():
                with self.subTest(name):
                    self.assertEqual(unknown_in(hint), [])

    def test_tables_are_of_what_there_is_not(self):
        for module, table in peers.TABLES.items():
            place = sys.modules[module]
            self.assertEqual([name for name in table if name in vars(place) and name not in ("Tensor", "devices")], [])
        self.assertEqual([name for name in peers.TENSOR if hasattr(plait.Tensor, name)], [])

    def test_methods_that_change_in_place(self):
        x = plait.ones(3)
        for name in sorted(each for each in dir(torch.Tensor) if each.endswith("_") and not each.startswith("_") and not hasattr(plait.Tensor, each)):
            with self.subTest(name):
                self.assertTrue(self.answer(x, name))
        self.assertIn("x = x.add(…)", self.answer(x, "add_"))
        self.assertIn("x = plait.zeros_like(x)", self.answer(x, "zero_"))

    def test_libraries(self):
        for name, said in (("np", "import numpy as np"), ("torch", "import torch"), ("math", "import math"), ("pandas", "import pandas")):
            self.assertRegex(self.answer(plait, name), f"{said}$")
        for place in (plait, plait.ones(3)):
            self.assertEqual(self.answer(place, "share_memory_"), "not needed: leave it out")

    def test_names_whose_neighbours_mislead(self):
        model = plait.nn.Linear(2, 2)
        optimizer, average = plait.optim.Adam(model), plait.optim.EMA(model, 0.9)
        for place, name, words in (
                (plait, "multinomial", r"plait.random.categorical\(key, plait.log\(p\)\)[\s\S]*plait.random.multinomial draws counts"),
                (plait.ones(3), "multinomial", r"plait.random.categorical\(key, plait.log\(x\)\)"), (plait, "long", "^plait.i64; x.long"),
                (plait, "int", "^plait.i32"), (plait, "short", "^plait.i16"), (plait, "half", "^plait.f16"), (plait, "float", "^plait.f32"),
                (plait, "double", "^plait.f64"), (plait, "cfloat", "^plait.c64"), (plait, "cdouble", "^plait.c128"),
                (plait, "autograd", "plait.detect_anomaly"), (plait, "amp", "plait.optim.loss_scale"),
                (plait.nn, "functional", "^functions are in plait"),
                (plait, "functional", "^functions are in plait"), (plait.optim, "swa_utils", "average = average.update"),
                (plait.optim, "get_ema_multi_avg_fn", r"ema = plait.optim.EMA\(model, decay\)"), (plait.optim, "get_swa_avg_fn", "AveragedModel"),
                (average, "module", "average.model"), (average, "update_parameters", r"average = average.update\(model\)"),
                (average, "state_dict", "plait.nn.state"), (optimizer, "state_dict", "plait.io.Checkpoints"),
                (optimizer, "load_state_dict", "restore"),
                (model, "modules", "plait.nn.state"), (model, "apply", r"plait.nn.load_state\(model, \{name: plait.nn.init")):
            with self.subTest(name):
                hint = self.answer(place, name)
                self.assertRegex(hint, words)
                self.assertEqual(unknown_in(hint), [])
        state = {name: plait.nn.init.xavier_uniform(w.shape) if w.ndim > 1 else w for name, w in plait.nn.state(model).items()}
        model = plait.nn.load_state(model, state)
        self.assertEqual(plait.array_equal(model.weight, average.model.weight).item(), False)

    def test_device_of_autocast(self):
        with self.assertRaisesRegex(plait.TypeError, "hint: without 'cpu', as it holds on every device: autocast"):
            plait.autocast("cpu", dtype=plait.bf16)

    def test_assignments(self):
        x = plait.ones(3).requires_grad()
        for name in ("data", "shape", "dtype", "device", "T", "other"):
            with self.subTest(name), self.assertRaisesRegex(plait.AttributeError, "cannot be assigned to|takes no other attributes") as raised:
                setattr(x, name, None)
            self.assertEqual(unknown_in(raised.exception.hint), [])
        with self.assertRaisesRegex(plait.AttributeError, r"x\[...\] = y changes the elements"):
            x.data = x

    def test_keywords_of_layers(self):
        nn = plait.nn
        for make, hint in ((lambda: nn.LayerNorm(3, epsilon=1e-5), "eps= instead of epsilon="), (lambda: nn.Dense(2), None),
                           (lambda: nn.Linear(2, 3, use_bias=False), "bias= instead of use_bias="), (lambda: nn.Dropout(rate=0.5), "p= instead of rate="),
                           (lambda: nn.Linear(2, features=3), "out_features= instead of features="), (lambda: nn.Conv2d(1, 2, 3, strides=2), "stride= instead"),
                           (lambda: nn.Conv2d(1, filters=2, kernel_size=3), "out_channels= instead"), (lambda: nn.Embedding(3, embed_dim=2), "embedding_dim= instead"),
                           (lambda: nn.MultiheadAttention(8, 2, dropout_rate=0.1), "dropout= instead"),
                           (lambda: plait.optim.Adam(nn.Linear(2, 2), learning_rate=0.1), "lr= instead of learning_rate="),
                           (lambda: plait.optim.AdamW(nn.Linear(2, 2), beta1=0.1), "betas= instead of beta1=")):
            with self.subTest(hint), self.assertRaisesRegex(plait.Error, hint or "Linear"):
                make()

    def test_calls_that_say_something_else(self):
        for call, hint in ((lambda: plait.Tensor([1.0]), r"plait.tensor\(\[1.0, 2.0\]\)"), (lambda: plait.ones(3).size(), "x.shape"),
                           (lambda: plait.ones((2, 2)).max(1), r"x.max\(axis=1\)"), (lambda: plait.ones((2, 2)).transpose(0, 1), "x.T"),
                           (lambda: plait.ones(3).repeat(2), r"x.tile\(2, 3\)"), (lambda: plait.ones(4).split(2), r"x.split\(size=2\)"),
                           (lambda: plait.ones(4).std(dim=0), "correction=1"), (lambda: plait.max(plait.ones(4), dim=0), "axis="),
                           (lambda: plait.sort(plait.ones(4), dim=0), "sort_with_indices"),
                           (lambda: plait.tensor([1.0], requires_grad=True), "plait.grad"), (lambda: plait.ones(4).std(unbiased=True), "correction=1"),
                           (lambda: plait.ones(4).add(1, alpha=2), r"alpha \* b"), (lambda: plait.sum(plait.ones(4), out=3), "new tensors"),
                           (lambda: plait.unique(plait.ones(4), return_counts=True), "unique_counts")):
            with self.assertRaisesRegex(plait.Error, hint):
                call()


if __name__ == "__main__":
    unittest.main()
