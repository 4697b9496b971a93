"""Checkpoints of training runs."""

import functools
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np
import plait as pl
import safetensors.numpy
from plait.inside.files.tree_parts import text_of


class Net(pl.Module):
    def __init__(self, width=4, act=pl.relu):
        self.first, self.act, self.norm = pl.nn.Linear(3, width, key=pl.random.key(1)), act, pl.nn.BatchNorm1d(width)
        self.table = np.arange(3.0)

    def __call__(self, x):
        return self.act(self.norm(self.first(x)))


class Other(Net):
    pass


def begun(model=None, optimizer=None, **parts):
    model = model or Net()
    return pl.optim.TrainState(model, optimizer or pl.optim.AdamW(model, lr=1e-2), key=pl.random.key(3), metrics=[pl.zeros(())], **parts)


def stepped(state, count=2):
    for i in range(count):
        (_, model), gradient = pl.value_and_grad(lambda model: (pl.sum(model(pl.ones((4, 3)) * (i + 1)) ** 2), model), has_aux=True)(state.model)
        state = state.update(gradient, model=model)
    return state


def bits(tree):
    return {path: np.asarray(leaf).tobytes() for path, leaf in pl.tree.leaves_with_paths(tree)}


def _save(checkpoints, x, step=1):
    checkpoints.save(step, [x])
    return x


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "run"
        self.checkpoints = pl.io.Checkpoints(self.folder)
        self.addCleanup(lambda: self.checkpoints.close())

    def saved(self, state, step=1, **more):
        self.checkpoints.save(step, state, **more)
        return state

    def files(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name != ".lock")

    def differences(self, like, **options):
        with self.assertRaises(pl.ValueError) as raised:
            self.checkpoints.restore(like, **options)
        return [line.strip().removesuffix(",").split(", at ")[0] for line in str(raised.exception).splitlines()[1:] if line.startswith("    ")]


class Restoring(InAFolder):
    def test_a_whole_training_state(self):
        state = self.saved(stepped(begun(loader=pl.data.DataLoader(range(5)).state())))
        restored = self.checkpoints.restore(begun(loader=pl.data.DataLoader(range(5)).state()))
        self.assertEqual(bits(restored), bits(state))
        self.assertEqual(pl.tree.structure(restored), pl.tree.structure(state))
        self.assertEqual(bits(stepped(restored)), bits(stepped(state)))
        self.assertIsInstance(restored.model.table, np.ndarray)
        self.assertTrue(restored.model.table.flags.writeable)

    def test_the_place_of_any_loader(self):
        class Numbers(pl.data.IterableDataset):
            def __iter__(self):
                return CountedNumbers()

        class CountedNumbers:
            place, file = 0, [3, 0]

            def __next__(self):
                self.place, self.file = self.place + 1, [self.place, 7]
                return self.place

            def state_dict(self):
                return {"place": {"number": self.place}, "file": self.file}

            def load_state_dict(self, state):
                self.place, self.file = state["place"]["number"], state["file"]

        for step, options in enumerate([{"sampler": [3, 1, 2, 0, 4]}, {"batch_sampler": [[1, 2], [0], [3, 4]]}, {"dataset": Numbers(), "batch_size": 2},
                                        {"dataset": pl.data.ChainDataset([range(3), Numbers()]), "batch_size": 2}]):
            loader, again = (pl.data.DataLoader(**{"dataset": range(5), **options}) for _ in range(2))
            batches = iter(loader)
            next(batches)
            self.saved(begun(loader=loader.state()), step)
            state = self.checkpoints.restore(begun(loader=again.state()))
            again.load_state_dict(state.loader)
            self.assertEqual(next(iter(again)).tolist(), next(batches).tolist())
            fresh = self.checkpoints.restore(begun(loader=pl.data.DataLoader(range(5), seed=4).state()), skip="loader.*")
            self.assertEqual(fresh.loader["seed"].item(), 4)
            renamed = self.checkpoints.restore(begun(loader=pl.data.DataLoader(range(5)).state()), rename={"loader.*": "loader.*"})
            self.assertEqual(bits(renamed.loader), bits(state.loader))
            self.assertEqual(self.differences(begun()), ["loader is dict in the checkpoint, None in the tree"])

    def test_the_reference_reads_the_file(self):
        state = self.saved(stepped(begun()))
        self.checkpoints.wait()
        read = safetensors.numpy.load_file(self.folder / "step-0000000001.safetensors")
        for path, leaf in bits(state).items():
            self.assertEqual(read[path].tobytes(), leaf, path)
        self.assertEqual(set(self.checkpoints.load()), set(read))

    def test_shards(self):
        state, checkpoints = stepped(begun()), pl.io.Checkpoints(self.folder.with_name("shards"), max_shard_size="200B", keep_last=1)
        checkpoints.save(4, begun())
        checkpoints.save(5, state)
        self.assertEqual(bits(checkpoints.restore(begun())), bits(state))
        read = {}
        for path in checkpoints._folder and pathlib.Path(checkpoints._folder).glob("step-0000000005-*"):
            read |= safetensors.numpy.load_file(path)
        self.assertEqual({path: array.tobytes() for path, array in read.items()}, bits(state))
        self.assertEqual({path: np.asarray(leaf).tobytes() for path, leaf in pl.io.load_safetensors(
            pathlib.Path(checkpoints._folder) / "step-0000000005.safetensors.index.json").items()}, bits(state))
        checkpoints.close()

    def test_mode_and_frozen_marks_are_those_of_the_tree(self):
        state = self.saved(begun())
        model = pl.nn.freeze(Net().eval(), "first.*")
        restored = self.checkpoints.restore(begun(model, state.optimizer))
        self.assertEqual((restored.model.training, restored.model.norm.training), (False, False))
        self.assertEqual(pl.tree.structure(restored.model), pl.tree.structure(model))

    def test_trees_of_other_kinds(self):
        for i, tree in enumerate([pl.tensor([1.0, 2.0]), {"a.b": pl.ones(2), 3: (pl.zeros(()), None, "x")}, [], {"key": pl.random.key(3), "c": pl.ones(2) * 1j}]):
            self.saved(tree, i)
            restored = self.checkpoints.restore(tree)
            self.assertEqual((bits(restored), pl.tree.structure(restored)), (bits(tree), pl.tree.structure(tree)))

    def test_one_tensor_at_two_places(self):
        weight = pl.ones((2, 2))
        self.saved({"embed": weight, "head": weight, "bias": pl.zeros(2)})
        self.assertEqual(sorted(self.checkpoints.load()), ["bias", "embed", "head"])
        restored = self.checkpoints.restore({"embed": (other := pl.zeros((2, 2))), "head": other, "bias": pl.zeros(2)})
        self.assertIs(restored["embed"], restored["head"])
        self.assertEqual(restored["head"].numpy().tolist(), [[1, 1], [1, 1]])
        self.assertEqual(self.differences({"embed": pl.zeros((2, 2)), "head": pl.zeros((2, 2)), "bias": pl.zeros(2)}),
                         ["embed and head are one tensor in the checkpoint, two in the tree"])

    def test_of_a_step(self):
        for step in 1, 2:
            self.saved({"x": pl.tensor(step)}, step)
        self.assertEqual([self.checkpoints.restore({"x": pl.tensor(0)}, step)["x"].item() for step in (1, 2, None, pl.tensor(1))], [1, 2, 2, 1])
        with self.assertRaisesRegex(pl.KeyError, "unknown checkpoint of step 3 in .*the steps are 1, 2"):
            self.checkpoints.restore({"x": pl.tensor(0)}, 3)


class Differences(InAFolder):
    def test_an_older_optimizer_is_never_taken_for_another(self):
        model = Net()
        makers = {
            "SGD": lambda: pl.optim.SGD(model, lr=0.1, momentum=0.9), "Adam": lambda: pl.optim.Adam(model), "AdamW": lambda: pl.optim.AdamW(model),
            "Adam, amsgrad": lambda: pl.optim.Adam(model, amsgrad=True), "SGD, nesterov": lambda: pl.optim.SGD(model, lr=0.1, momentum=0.9, nesterov=True),
            "SGD, cosine": lambda: pl.optim.SGD(model, lr=pl.optim.cosine_decay_schedule(0.1, 9), momentum=0.9),
            "SGD, linear": lambda: pl.optim.SGD(model, lr=pl.optim.linear_schedule(0.1, 0.0, 9), momentum=0.9),
            "SGD, line": lambda: pl.optim.SGD(model, lr=lambda step: 0.1 / (step + 1), momentum=0.9),
            "SGD, other line": lambda: pl.optim.SGD(model, lr=lambda step: 0.2 / (step + 1), momentum=0.9),
            "chain": lambda: pl.optim.Optimizer(pl.optim.chain(pl.optim.clip_by_global_norm(1.0), pl.optim.adamw(1e-3)), model),
            "other chain": lambda: pl.optim.Optimizer(pl.optim.chain(pl.optim.adamw(1e-3), pl.optim.clip_by_global_norm(1.0)), model),
            "groups": lambda: pl.optim.AdamW(model, groups=[{"params": "*.bias", "weight_decay": 0.0}])}
        for step, (name, make) in enumerate(makers.items()):
            self.saved(begun(model, make()), step)
            for other, make_other in makers.items():
                like = begun(model, make_other())
                if name == other:
                    self.assertEqual(bits(self.checkpoints.restore(like)), bits(begun(model, make())))
                else:
                    found = self.differences(like)
                    self.assertTrue(found and all(line.startswith("optimizer") for line in found), (name, other, found))
                    kept = self.checkpoints.restore(like, skip="optimizer.*")
                    self.assertEqual(bits(kept.optimizer), bits(like.optimizer))

    def test_models(self):
        self.saved(begun())
        self.assertEqual(self.differences(begun(Other())), ["model is Net in the checkpoint, Other in the tree"])
        self.assertEqual(self.differences(begun(Net(act=pl.gelu)))[0], "model.act is relu in the checkpoint, gelu in the tree")
        wide = self.differences(begun(Net(5)))
        self.assertIn("model.first.weight is f32[4, 3] in the checkpoint, f32[5, 3] in the tree", wide)
        self.assertIn("model.norm.num_features is 4 in the checkpoint, 5 in the tree", wide)
        half = begun()
        half.model.first.bias = half.model.first.bias.astype(pl.bf16)
        self.assertEqual(self.differences(half)[0], "model.first.bias is f32[4] in the checkpoint, bf16[4] in the tree")

    def test_other_sizes(self):
        self.saved({"table": pl.ones((3, 2)), "count": 1})
        like = {"table": pl.zeros((5, 2)), "count": 1}
        self.assertEqual(self.differences(like), ["table is f32[3, 2] in the checkpoint, f32[5, 2] in the tree"])
        self.assertEqual(self.checkpoints.restore(like, resize="table")["table"].tolist(), [[1.0, 1.0]] * 3)
        with self.assertRaisesRegex(pl.ValueError, "f32.3, 2. in the checkpoint, f64.5, 2. in the tree"):
            self.checkpoints.restore({**like, "table": pl.zeros((5, 2), dtype=pl.f64)}, resize="*")

    def test_names(self):
        saved = stepped(begun())
        self.saved({"net": saved.model, "step": saved.step})
        like = {"model": Net(), "step": pl.tensor(0)}
        self.assertEqual(self.differences(like), ["model is missing from the checkpoint", "net is in the checkpoint, but not in the tree"])
        for rename in {"net.*": "model.*"}, lambda name: name.replace("net.", "model."):
            self.assertEqual(bits(self.checkpoints.restore(like, rename=rename)["model"]), bits(saved.model))
        self.assertEqual(bits(self.checkpoints.restore(Net(), rename={"net.*": "*", "*": None})), bits(saved.model))
        grown = {"net": Net(), "step": pl.tensor(0), "head": pl.nn.Linear(4, 2)}
        self.assertEqual(self.differences(grown), ["head is missing from the checkpoint"])
        restored = self.checkpoints.restore(grown, fill="head.*")
        self.assertEqual((bits(restored["net"]), bits(restored["head"])), (bits(saved.model), bits(grown["head"])))
        self.assertEqual(bits(self.checkpoints.restore({"net": Net()}, skip=["step"])["net"]), bits(saved.model))
        with self.assertRaisesRegex(pl.ValueError, 'nothing in the tree or the checkpoint matches "hed'):
            self.checkpoints.restore(grown, fill="hed.*")
        with self.assertRaisesRegex(pl.ValueError, "no name of the state matches 'nets.*[\\s\\S]*did you mean net"):
            self.checkpoints.restore(like, rename={"nets.*": "model.*"})

    def test_names_are_whole(self):
        saved = {"a\0b": pl.ones(1), "a\0c": pl.zeros(1), "a": pl.full((1,), 2.0)}
        self.saved(saved)
        self.assertEqual(sorted(self.checkpoints.load()), sorted(saved))
        self.assertEqual([each.item() for each in self.checkpoints.restore(saved).values()], [1, 0, 2])
        for save in (lambda: self.saved({"\ud800": pl.ones(1)}), lambda: self.checkpoints.save(9, saved, metrics={"\ud800": 1.0})):
            with self.assertRaisesRegex(pl.ValueError, "ud800.* is not UTF-8"):
                save()

    def test_numbers_are_static(self):
        self.saved({"epoch": 3, "x": pl.ones(2)})
        with self.assertRaisesRegex(pl.ValueError, "epoch is 3 in the checkpoint, 0 in the tree[\\s\\S]*a number that changes from step to step is a tensor"):
            self.checkpoints.restore({"epoch": 0, "x": pl.zeros(2)})

    def test_layers_that_are_not_made_yet(self):
        self.saved(pl.nn.Sequential(pl.nn.Linear(2, 3)))
        self.assertTrue(self.differences(pl.nn.Sequential(pl.nn.LazyLinear(3))))

    def test_texts_of_static_values(self):
        def scaled(by):
            return lambda x: x * by

        equal = [(1, np.int64(1)), (0.1, np.float64(0.1)), (scaled(2), scaled(2)), (functools.partial(pl.relu, 3), functools.partial(pl.relu, 3)),
                 ({"b", "a"}, {"a", "b"}), (object(), object()), (pl.f32, pl.f32)]
        other = [(1, 1.0), (1, True), ("1", 1), (scaled(2), scaled(3)), (lambda x: x + 1, lambda x: x + 2), (pl.relu, pl.gelu), (pl.f32, pl.f64), (None, "None"),
                 (functools.partial(pl.relu, 3), functools.partial(pl.relu, 4)), ("a" * 300, "a" * 299 + "b"), (Net().__call__, Other().__call__), (Net, Other)]
        for a, b in equal:
            self.assertEqual(text_of(a), text_of(b))
        for a, b in other:
            self.assertNotEqual(text_of(a), text_of(b))
        script = "from plait.inside.files.tree_parts import text_of; print(text_of([{'b', 'a'}, frozenset('xyz'), lambda x: {1, 2}, print]))"
        script = script.replace("[", "(lambda *all: tuple(map(text_of, all)))(").replace("])", "))").replace("text_of((", "((")
        runs = {subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout for seed in "123"}
        self.assertEqual(len(runs), 1)


class SharedMemory(InAFolder):
    COUNT = 1 << 21

    def expect_ones(self):
        for path, array in self.checkpoints.load().items():
            self.assertTrue((np.asarray(array) == 1).all(), path)

    def test_the_run_goes_on(self):
        x, y, z = (pl.ones(self.COUNT) for _ in range(3))
        add = pl.jit(lambda state: state + 1, donate=(0,))
        for step in 1, 2:
            x, y, z = x * 0 + 1, y * 0 + 1, z * 0 + 1
            self.saved([x, y, z], step)
            x[0], x[-1], x[:] = 5, 5, 7
            y = add(add(y))
            z += 1
            self.expect_ones()

    def test_memory_of_other_libraries_is_copied(self):
        theirs = [np.ones(self.COUNT, np.float32) for _ in range(3)]
        module = Net()
        module.table = theirs[2]
        self.saved({"asarray": pl.asarray(theirs[0]), "dlpack": pl.from_dlpack(theirs[1]), "array": module.table})
        for array in theirs:
            array[:] = 2
        self.expect_ones()

    def test_restored_tensors_may_be_donated(self):
        self.saved([pl.ones(self.COUNT)])
        add = pl.jit(lambda state: [state[0] + 1], donate=(0,))
        state = self.checkpoints.restore([pl.zeros(self.COUNT)])
        for _ in range(3):
            state = add(state)
        self.assertEqual(pl.sum(state[0]).item(), 4 * self.COUNT)


class Rules(InAFolder):
    def test_what_is_kept(self):
        self.checkpoints.close()
        with pl.io.Checkpoints(self.folder, keep_last=2, keep_every=4, best="accuracy", best_is="greatest", keep_best=1) as checkpoints:
            for step in range(1, 10):
                checkpoints.save(step, {"x": pl.tensor(step)}, metrics={"accuracy": pl.tensor(0.9 if step == 3 else 0.1)})
            self.assertEqual((checkpoints.steps(), checkpoints.latest(), checkpoints.best()), ([3, 4, 8, 9], 9, 3))
            self.assertEqual(checkpoints.load(checkpoints.best())["x"].item(), 3)
            self.assertAlmostEqual(checkpoints.metrics(3)["accuracy"], 0.9, places=6)
        with pl.io.Checkpoints(self.folder, keep_last=None) as checkpoints:
            for step in 10, 11, 12:
                checkpoints.save(step, {"x": pl.tensor(step)})
            self.assertEqual(len(checkpoints.steps()), 7)

    def test_steps_go_forwards(self):
        for step in 10, 20:
            self.saved([pl.ones(1)], step)
        with self.assertRaisesRegex(pl.ValueError, "step 15 is before step 20, the latest in [\\s\\S]*remove_after"):
            self.saved([pl.ones(1)], 15)
        self.checkpoints.remove_after(10)
        self.saved([pl.ones(1)], 15)
        self.assertEqual(self.checkpoints.steps(), [10, 15])

    def test_what_is_saved_besides(self):
        program = pl.trace(lambda x: pl.exp(x) * 2)(pl.ones(2))
        self.saved([pl.ones(1)], pl.tensor(7), metadata={"set": "circles"}, program=program, metrics={"loss": float("inf"), "norm": np.float32(0.5)})
        self.assertEqual((self.checkpoints.metadata(), self.checkpoints.metrics(7)), ({"set": "circles"}, {"loss": float("inf"), "norm": 0.5}))
        self.assertEqual(self.checkpoints.program().text(), program.text())
        self.saved([pl.ones(1)], 8, program=program.bytes())
        self.assertEqual(self.checkpoints.program(8)(pl.zeros(2))[0].numpy().tolist(), [2, 2])
        self.assertIsNone(self.saved([pl.ones(1)], 9) and self.checkpoints.program())


class Refusals(InAFolder):
    def test_arguments(self):
        tree = [pl.ones(1)]
        refused = [
            (pl.ValueError, "keep_last is 0", lambda: pl.io.Checkpoints(self.folder, keep_last=0)), (pl.TypeError, "the path is 3", lambda: pl.io.Checkpoints(3)),
            (pl.ValueError, "best_is is 'most'", lambda: pl.io.Checkpoints(self.folder, best="loss", best_is="most")),
            (pl.TypeError, "the step is 1.5", lambda: self.saved(tree, 1.5)), (pl.ValueError, "the step is -1", lambda: self.saved(tree, -1)),
            (pl.TypeError, "the metric loss is 'low'", lambda: self.saved(tree, metrics={"loss": "low"})),
            (pl.TypeError, "the metadata 'a' is 3", lambda: self.saved(tree, metadata={"a": 3})),
            (pl.ValueError, "plait.step\" has a reserved name", lambda: self.saved(tree, metadata={"plait.step": "3"})),
            (pl.TypeError, "program is 'text'", lambda: self.saved(tree, program="text")),
            (pl.ValueError, "cannot be named plait.program", lambda: self.saved({"plait": {"program": pl.ones(1)}})),
            (pl.ValueError, "two tensors of the tree have the path 'a.b'", lambda: self.saved({"a.b": pl.ones(1), "a": {"b": pl.ones(1)}})),
            (pl.ValueError, "the options name no metric", self.checkpoints.best), (pl.ValueError, "there is no checkpoint in", self.checkpoints.load),
            (pl.ValueError, "there is no checkpoint in", self.checkpoints.metrics), (pl.ValueError, "there is no checkpoint in", lambda: self.checkpoints.restore(tree)),
            (pl.TypeError, "rename is 3", lambda: self.saved(tree) and self.checkpoints.restore(tree, rename=3))]
        for kind, message, call in refused:
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                call()

    def test_inside_of_transforms(self):
        saving = functools.partial(_save, self.checkpoints)
        for transform in pl.jit, pl.trace, pl.vmap:
            with self.assertRaisesRegex(pl.ValueError, "Checkpoints.save: a function is being recorded here[\\s\\S]*outside of jit"):
                transform(saving)(pl.ones(2))
        with self.assertRaisesRegex(pl.ValueError, "Checkpoints.restore: a function is being recorded here"):
            pl.trace(lambda x: self.checkpoints.restore([x])[0])(pl.ones(2))
        self.assertEqual(self.files(), [])

    def test_a_full_disk(self):
        state = self.saved([pl.ones(1000)])
        self.checkpoints.wait()
        before, limits = self.files(), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        try:
            self.saved([pl.zeros(1000)], 2)
            with self.assertRaisesRegex(pl.IoError, "the checkpoint of step 2 was not saved: cannot write .*step-0000000002.safetensors: File too large"):
                self.checkpoints.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(self.files(), before)
        self.assertEqual(bits(self.checkpoints.restore(state)), bits(state))

    def test_a_damaged_byte(self):
        for step in 1, 2:
            self.saved([pl.tensor([step] * 9)], step)
        self.checkpoints.wait()
        path = self.folder / "step-0000000002.safetensors"
        content = bytearray(path.read_bytes())
        content[-3] ^= 4
        path.write_bytes(content)
        self.assertEqual(self.checkpoints.restore([pl.tensor([0] * 9)])[0][0].item(), 1)
        with self.assertRaisesRegex(pl.ParseError, "step-0000000002.safetensors: it is damaged: the checksum of its tensors is"):
            self.checkpoints.load(2)
        self.saved([pl.tensor([5] * 9)], 2)
        self.assertEqual(self.checkpoints.load(2)["0"][0].item(), 5)


class Processes(InAFolder):
    def run_script(self, script, **options):
        script = "import sys, os, plait as pl\nfolder = sys.argv[1]\n" + textwrap.dedent(script)
        return subprocess.run([sys.executable, "-c", script, self.folder], capture_output=True, text=True, timeout=60, **options)

    def test_two_writers(self):
        self.saved([pl.ones(1)])
        self.checkpoints.wait()
        found = self.run_script("""
            print(pl.io.Checkpoints(folder, read_only=True).latest())
            try:
                pl.io.Checkpoints(folder)
            except pl.IoError as error:
                print(error)
        """)
        self.assertRegex(found.stdout, f"^1\nIoError: the folder of checkpoints .* is being written by process {os.getpid()}")
        self.checkpoints.close()
        self.assertEqual(self.run_script("pl.io.Checkpoints(folder).save(2, [pl.ones(1)])").returncode, 0)
        self.assertEqual(self.checkpoints.latest(), 2)

    def test_the_end_of_a_process_waits(self):
        self.checkpoints.close()
        found = self.run_script("""
            checkpoints = pl.io.Checkpoints(folder)
            checkpoints.save(3, [pl.ones(1 << 22)])
            if os.fork() == 0:
                sys.exit()  # does not wait
            os.wait()
        """)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertEqual(self.checkpoints.latest(), 3)

    def test_an_error_at_the_end_of_a_process_is_shown(self):
        self.checkpoints.close()
        found = self.run_script("""
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            checkpoints = pl.io.Checkpoints(folder)
            checkpoints.save(3, [pl.ones(1 << 16)])
        """)
        self.assertIn("the checkpoint of step 3 was not saved", found.stderr)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
