"""Logs: TensorBoard itself reads the events; processes that are killed, full disks, two writers, threads."""

import contextlib
import csv
import io
import json
import math
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np
import plait as pl
import PIL.Image
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.util import tensor_util
from torch.utils.tensorboard import SummaryWriter

RANDOM = np.random.default_rng(35)


def read(folder):
    """All that TensorBoard finds."""
    found = EventAccumulator(str(folder), {kind: 0 for kind in ("scalars", "images", "histograms", "tensors", "compressedHistograms")})
    return found.Reload()


def forked(work):
    """Runs work() in a process of its own; the status with which it ends."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # the process must not go on with the tests
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Events(InFolder):
    def test_scalars_with_steps_and_times(self):
        values = (RANDOM.normal(size=300) * 10.0 ** RANDOM.integers(-30, 30, 300)).astype(np.float32)
        steps = np.cumsum(RANDOM.integers(1, 1 << 40, 300))
        times = 1e9 + np.cumsum(RANDOM.uniform(size=300))
        with pl.io.EventLog(self.folder) as log:
            for i, (value, step, wall_time) in enumerate(zip(values, steps, times)):
                number = (float(value), value, pl.tensor(value), torch.tensor(value))[i % 4]
                log.add_scalar("größe/loss", number, int(step), wall_time)
            log.add_scalar("odd", math.nan, 1)
            log.add_scalar("odd", math.inf, 2)
            log.add_scalar("odd", True)
        found = read(self.folder)
        scalars = found.Scalars("größe/loss")
        np.testing.assert_array_equal([each.value for each in scalars], values)
        self.assertEqual([(each.step, each.wall_time) for each in scalars], list(zip(steps.tolist(), times.tolist())))
        odd = [(each.step, each.value) for each in found.Scalars("odd")]
        self.assertEqual(str(odd), "[(1, nan), (2, inf), (0, 1.0)]")

    def test_one_call_for_several_values(self):
        before = time.time()
        with pl.io.EventLog(self.folder) as log:
            log.log(3, {"loss": pl.tensor(0.5), "n": np.int16(2), "note": "begin"})
        found = read(self.folder)
        self.assertEqual([(found.Scalars(tag)[0].step, found.Scalars(tag)[0].value) for tag in ("loss", "n")], [(3, 0.5), (3, 2.0)])
        self.assertTrue(before <= found.Scalars("loss")[0].wall_time <= time.time())
        self.assertEqual(tensor_util.make_ndarray(found.Tensors("note/text_summary")[0].tensor_proto).tolist(), [b"begin"])

    def test_histograms(self):
        cases = [RANDOM.normal(size=(50, 40)), RANDOM.integers(-3, 4, 1000), np.array([2.5]), np.zeros(5, np.float32),
                 10.0 ** RANDOM.uniform(-14, 22, 500) * RANDOM.choice([-1, 1], 500)]
        with pl.io.EventLog(self.folder / "ours") as log, SummaryWriter(self.folder / "torch") as writer:
            for step, case in enumerate(cases):
                log.add_histogram("h", case, step)
                writer.add_histogram("h", case, step)
            log.add_histogram("h", torch.tensor(cases[0], requires_grad=True), len(cases))
            log.add_histogram("h", pl.asarray(cases[0]), len(cases) + 1)
        ours, others = ([each.histogram_value for each in read(self.folder / name).Histograms("h")] for name in ("ours", "torch"))
        for case, our, other in zip([*cases, cases[0], cases[0]], ours, [*others, others[0], others[0]], strict=True):
            self.assertEqual((our.min, our.max, our.num), (case.min(), case.max(), case.size))
            np.testing.assert_allclose([our.sum, our.sum_squares], [case.sum(), np.square(case).sum()], rtol=1e-12, atol=1e-9)
            np.testing.assert_array_equal(np.cumsum(our.bucket), np.searchsorted(np.sort(case.ravel()), our.bucket_limit))
            if np.abs(case).max() < 1e20:  # PyTorch leaves out larger numbers
                expected = dict(zip(other.bucket_limit, other.bucket))
                found = {limit: count for limit, count in zip(our.bucket_limit, our.bucket) if count}
                self.assertEqual(found, {limit: count for limit, count in expected.items() if count})

    def test_images(self):
        sizes = [(1, 1), (7, 5), (64, 3), (333, 257)]
        pixels = [RANDOM.integers(0, 256, (*size, channels), np.uint8) for size in sizes for channels in (1, 2, 3, 4)]
        modes = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
        with pl.io.EventLog(self.folder) as log:
            for step, each in enumerate(pixels):
                log.add_image("bytes", each, step, dataformats="HWC")
                log.add_image("floats", np.moveaxis(each, -1, 0).astype(np.float32) / 255, step)
                log.add_image("grey", pl.asarray(each[..., 0]), step, dataformats="HW")
            log.add_image("clipped", np.array([[-1.0, 2.0, math.nan, 0.5]]), dataformats="HW")
        found = read(self.folder)
        for step, each in enumerate(pixels):
            for tag, expected in ("bytes", each), ("floats", each), ("grey", each[..., :1]):
                event = found.Images(tag)[step]
                image = PIL.Image.open(io.BytesIO(event.encoded_image_string))
                self.assertEqual((event.step, event.height, event.width, image.mode), (step, *expected.shape[:2], modes[expected.shape[2]]))
                np.testing.assert_array_equal(np.asarray(image).reshape(expected.shape), expected)
        clipped = PIL.Image.open(io.BytesIO(found.Images("clipped")[0].encoded_image_string))
        self.assertEqual(np.asarray(clipped).tolist(), [[0, 255, 0, 128]])

    def test_several_images_are_a_grid_as_in_torch(self):
        for count in 1, 3, 8, 19:
            images = RANDOM.uniform(size=(count, 3, 4, 5)).astype(np.float32)
            images = np.round(images * 255) / 255
            with pl.io.EventLog(self.folder / f"ours{count}") as log, SummaryWriter(self.folder / f"torch{count}") as writer:
                log.add_images("i", torch.tensor(images))
                writer.add_images("i", (images * 255 + 0.5).astype(np.uint8))
            ours, other = (np.asarray(PIL.Image.open(io.BytesIO(read(self.folder / f"{name}{count}").Images("i")[0].encoded_image_string)))
                           for name in ("ours", "torch"))
            np.testing.assert_array_equal(ours, other)

    def test_text_is_what_torch_writes(self):
        text = "# Title\n\n| a | b |\n|---|---|\n| ü | 😀 |"
        with pl.io.EventLog(self.folder / "ours") as log, SummaryWriter(self.folder / "torch") as writer:
            log.add_text("notes", text, 3)
            writer.add_text("notes", text, 3)
        ours, other = (read(self.folder / name) for name in ("ours", "torch"))
        tag = "notes/text_summary"
        self.assertEqual(ours.Tensors(tag)[0].tensor_proto, other.Tensors(tag)[0].tensor_proto)
        self.assertEqual(ours.SummaryMetadata(tag).plugin_data.plugin_name, "text")
        self.assertEqual(tensor_util.make_ndarray(ours.Tensors(tag)[0].tensor_proto)[0].decode(), text)

    def test_hyperparameters(self):
        values = {"lr": 0.1, "layers": 3, "name": "größe", "fast": True}
        with pl.io.EventLog(self.folder) as log:
            log.add_hparams(values, {"accuracy": 0.5}, global_step=7)
            log.add_hparams({"lr": pl.tensor(0.5)}, ["loss"], run_name="second")
        found = read(self.folder)
        self.assertEqual([(each.step, each.value) for each in found.Scalars("accuracy")], [(7, 0.5)])
        content = {tag: found.SummaryMetadata(tag).plugin_data.content for tag in found.Tags()["tensors"]}
        experiment = hparams_metadata.parse_experiment_plugin_data(content[hparams_metadata.EXPERIMENT_TAG])
        self.assertEqual([(each.name, each.type) for each in experiment.hparam_infos], [("lr", 3), ("layers", 3), ("name", 1), ("fast", 2)])
        self.assertEqual([each.name.tag for each in experiment.metric_infos], ["accuracy"])
        start = hparams_metadata.parse_session_start_info_plugin_data(content[hparams_metadata.SESSION_START_INFO_TAG])
        given = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
        self.assertEqual(given, {"lr": 0.1, "layers": 3.0, "name": "größe", "fast": True})
        end = hparams_metadata.parse_session_end_info_plugin_data(content[hparams_metadata.SESSION_END_INFO_TAG])
        self.assertEqual(end.status, 1)
        self.assertIn(hparams_metadata.SESSION_START_INFO_TAG, read(self.folder / "second").Tags()["tensors"])

    def test_a_run_that_fails_says_so(self):
        with contextlib.suppress(ZeroDivisionError), pl.io.EventLog(self.folder) as log:
            log.add_hparams({"lr": 0.1}, [])
            raise ZeroDivisionError
        content = read(self.folder).SummaryMetadata(hparams_metadata.SESSION_END_INFO_TAG).plugin_data.content
        self.assertEqual(hparams_metadata.parse_session_end_info_plugin_data(content).status, 2)

    def test_graphs(self):
        model = pl.nn.Sequential(pl.nn.Linear(2, 3), pl.relu, pl.nn.Linear(3, 1))
        calls = pl.trace(lambda x: pl.cond(pl.sum(x) > 0, lambda: pl.sin(x), lambda: -x))(pl.Spec("f32[n]"))
        with pl.io.EventLog(self.folder / "model") as log, pl.io.EventLog(self.folder / "calls") as other:
            log.add_graph(model, pl.ones((4, 2)))
            log.add_graph(model, pl.ones((4, 2)))  # the same graph stands once
            other.add_graph(calls)
        graph = read(self.folder / "model").Graph()
        nodes = {node.name: node for node in graph.node}
        self.assertEqual(len(nodes), len(graph.node))
        self.assertEqual(nodes["result_0"].attr["_output_shapes"].list.shape[0].dim[1].size, 1)
        ops = [node.op for node in graph.node]
        self.assertEqual((ops.count("matmul"), ops.count("Result")), (2, 1))
        self.assertEqual([node.name for node in graph.node if node.op == "Parameter"],
                         ["arg0.0.weight", "arg0.0.bias", "arg0.2.weight", "arg0.2.bias", "arg1"])
        for name in "model", "calls":
            graph = read(self.folder / name).Graph()
            names = {node.name for node in graph.node}
            for node in graph.node:
                self.assertLessEqual({each.split(":")[0] for each in node.input}, names)
        self.assertTrue(any("/" in name for name in names))
        self.assertIn(-1, [dim.size for node in graph.node for shape in node.attr["_output_shapes"].list.shape for dim in shape.dim])

    def test_scalars_of_one_chart_are_runs(self):
        with pl.io.EventLog(self.folder) as log:
            for step in range(4):
                log.add_scalars("loss/all", {"train": step, "valid": -step}, step)
        log = pl.io.EventLog(self.folder, resume=2)
        log.add_scalars("loss/all", {"train": 7}, 2)
        log.close()
        self.assertEqual([each.value for each in read(self.folder / "loss_all_train").Scalars("loss/all")], [0, 1, 7])
        self.assertEqual([each.value for each in read(self.folder / "loss_all_valid").Scalars("loss/all")], [0, -1])

    def test_what_torch_has_written_is_resumed(self):
        with SummaryWriter(self.folder) as writer:
            for step in range(10):
                writer.add_scalar("loss", step, step)
        with pl.io.EventLog(self.folder, resume=6) as log:
            log.add_scalar("loss", 60, 6)
        self.assertEqual([each.value for each in read(self.folder).Scalars("loss")], [0, 1, 2, 3, 4, 5, 60])

    def test_a_tensorboard_that_is_running_forgets_too(self):
        with pl.io.EventLog(self.folder) as log:
            for step in range(5):
                log.add_scalar("loss", step, step)
        viewer = read(self.folder)
        for value in 30, 31, 32:
            with pl.io.EventLog(self.folder, resume=3) as log:
                log.add_scalar("loss", value, 3)
            self.assertEqual([each.value for each in viewer.Reload().Scalars("loss")], [0, 1, 2, value])


class Rows(InFolder):
    def test_other_libraries_read_them(self):
        values = [{"loss": 0.1, "n": 3}, {"loss": math.nan, "text": 'a "b",\n c'}, {"loss": math.inf}, {"loss": -math.inf, "ok": True}]
        paths = self.folder / "log.jsonl", self.folder / "log.csv"
        with pl.io.Logs(pl.io.JsonlLog(paths[0]), pl.io.CsvLog(paths[1])) as log:
            for step, each in enumerate(values):
                log.log(step, each)
        rows = [json.loads(line) for line in paths[0].read_text().splitlines()]
        self.assertEqual(rows[0], {"step": 0, "loss": 0.1, "n": 3})
        self.assertEqual([row["loss"] for row in rows[1:]], [None, "Infinity", "-Infinity"])
        self.assertEqual(rows[1]["text"], values[1]["text"])
        with open(paths[1], newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(list(table[0]), ["step", "loss", "n", "text", "ok"])
        self.assertEqual([str(float(row["loss"])) for row in table], ["0.1", "nan", "inf", "-inf"])
        self.assertEqual((table[1]["text"], table[3]["ok"], table[0]["ok"]), (values[1]["text"], "True", ""))
        columns = pl.io.read_csv(paths[1])
        self.assertEqual(str(columns["loss"].tolist()), "[0.1, nan, inf, -inf]")


# A log of each kind: (how it is opened, the steps that others read).
def event_steps(path):
    return [(each.step, each.value) for each in read(path).Scalars("loss")] if os.listdir(path) else []


def jsonl_steps(path):
    return [(row["step"], row["loss"]) for row in map(json.loads, path.read_text().splitlines())]


def csv_steps(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(file)]


KINDS = {"events": (pl.io.EventLog, event_steps), "log.jsonl": (pl.io.JsonlLog, jsonl_steps), "log.csv": (pl.io.CsvLog, csv_steps)}


class Killed(InFolder):
    KILLS = 10

    def open(self, resume):
        return pl.io.Logs(*(kind(self.folder / name, resume=resume) for name, (kind, _) in KINDS.items()))

    def run_from(self, begin, end):
        """A run that notes every 50 steps where it may continue."""
        log = self.open(begin)
        for step in range(begin, end):
            log.log(step, {"loss": step / 8} | ({"accuracy": 1.0} if step % 7 == 6 else {}))
            if step % 50 == 49:
                log.flush()
                (self.folder / "next").write_text(str(step + 1))
                os.replace(self.folder / "next", self.folder / "checkpoint")
        log.close()

    def steps(self):
        return {name: steps(self.folder / name) for name, (_, steps) in KINDS.items()}

    def test_each_step_stands_once(self):
        begin, order = 0, random.Random(35)
        for kill in range(self.KILLS):
            child = os.fork()
            if child == 0:
                self.run_from(begin, 1 << 40)
            while kill == 0 and not (self.folder / "checkpoint").exists():
                time.sleep(0.01)
            time.sleep(order.uniform(0.01, 0.15))
            os.kill(child, signal.SIGKILL)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), -signal.SIGKILL)
            checkpoint = self.folder / "checkpoint"
            begin = int(checkpoint.read_text()) if checkpoint.exists() else 0
            if kill % 3:  # the logs as the killed process has left them: what was flushed is there
                rows = {name: path.read_text().splitlines() for name in ("log.jsonl", "log.csv") if (path := self.folder / name).exists()}
                for lines in rows.values():
                    self.assertGreaterEqual(len(lines), begin)
                if begin:
                    self.assertGreaterEqual(len(event_steps(self.folder / "events")), begin)
        self.run_from(begin, begin + 60)
        for name, steps in self.steps().items():
            self.assertEqual(steps, [(step, step / 8) for step in range(begin + 60)], name)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith((".lock", ".part"))], [])
        self.assertGreater(begin, 0)

    def test_a_resumed_log_has_the_bytes_of_an_undisturbed_one(self):
        self.run_from(0, 120)
        expected = {name: (self.folder / name).read_bytes() for name in ("log.jsonl", "log.csv")}
        for begin, end in (0, 80), (33, 70), (70, 120):
            self.run_from(begin, end)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in expected}, expected)


class Refused(InFolder):
    def fill(self, name):
        """Logs until the disk is full; returns what a reader finds and how many steps were logged."""
        kind, steps = KINDS[name]
        log, count = kind(self.folder / name), 0
        try:
            while True:
                log.log(count, {"loss": float(count)})
                count += 1
        except pl.errors.IoError as error:
            message = str(error)
        self.assertRegex(message, r"cannot write .*(No space left on device|File too large)")
        self.assertEqual(steps(self.folder / name), [(step, float(step)) for step in range(count)])
        self.assertGreater(count, 10)
        return log

    def test_a_full_disk(self):
        for name in KINDS:
            with self.subTest(name):
                def work(name=name):
                    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
                    self.fill(name)

                self.assertEqual(forked(work), 0)

    def test_a_full_file_system(self):
        place = self.folder / "full"
        place.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("only root may mount a file system")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        self.folder = place
        for name in KINDS:
            with self.subTest(name):
                log = self.fill(name)
                with self.assertRaises(pl.errors.IoError):  # nor is there place for a new column
                    log.log(1 << 40, {"x" * 5000: 1.0})
                del log
                for path in sorted(place.rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()

    def test_two_writers(self):
        for name, (kind, _) in KINDS.items():
            with self.subTest(name):
                log = kind(self.folder / name)

                def work(kind=kind, name=name):
                    with self.assertRaisesRegex(pl.errors.IoError, f"is being written by process {os.getppid()}"):
                        kind(self.folder / name, resume=0)

                self.assertEqual(forked(work), 0)
                with self.assertRaisesRegex(pl.errors.IoError, "is being written by"):
                    kind(self.folder / name, resume=0)
                log.close()
                kind(self.folder / name, resume=0).close()

    def test_a_log_that_is_there(self):
        for name, (kind, _) in KINDS.items():
            with self.subTest(name):
                with kind(self.folder / name) as log:
                    log.log(0, {"loss": 1.0})
                with self.assertRaisesRegex(pl.errors.IoError, "already.*\n  hint: pass a step to continue from"):
                    kind(self.folder / name)

    def test_a_forked_process(self):
        for name, (kind, steps) in KINDS.items():
            with self.subTest(name):
                log = kind(self.folder / name)

                def work(log=log):
                    with self.assertRaisesRegex(pl.errors.IoError, "which this one was forked from"):
                        log.log(0, {"loss": 1.0})

                self.assertEqual(forked(work), 0)
                log.log(1, {"loss": 1.0})
                self.assertEqual(steps(self.folder / name), [(1, 1.0)])

    def test_values_that_no_log_has(self):
        for name, (kind, steps) in KINDS.items():
            with self.subTest(name), kind(self.folder / name) as log:
                log.log(3, {"loss": 1.0})
                for values, error, message in (
                        ({"a": pl.ones(3)}, pl.errors.ValueError, r"a has the shape \[3\], expected one number.*\n  hint: log its mean"),
                        ({"a": None}, pl.errors.TypeError, "a is NoneType, expected a number"), ({"a": [1]}, pl.errors.TypeError, "a is list"),
                        ({"a": 1 << 70}, pl.errors.ValueError, "a does not fit into i64"), ({"a": 1j}, pl.errors.TypeError, "a is complex"),
                        ({"a": "\ud800"}, pl.errors.ValueError, "a has half of a character"), ({1: 1}, pl.errors.TypeError, "a name is int"),
                        ({"": 1}, pl.errors.ValueError, "the name of a value is empty"), ([1], pl.errors.TypeError, "expected a dict of values, not list")):
                    with self.assertRaisesRegex(error, message):
                        log.log(4, values)
                for step, error in ("4", pl.errors.TypeError), (4.5, pl.errors.TypeError), (-1, pl.errors.ValueError), (1 << 80, pl.errors.ValueError):
                    with self.assertRaises(error):
                        log.log(step, {"a": 1})
                self.assertEqual(steps(self.folder / name), [(3, 1.0)])
            with self.assertRaisesRegex(pl.errors.ValueError, "is closed"):
                log.log(4, {"a": 1})
            with self.assertRaisesRegex(pl.errors.TypeError, "expected a path, not 3"):
                kind(3)

    def test_events_that_tensorboard_has_not(self):
        with pl.io.EventLog(self.folder) as log:
            for call, error, message in (
                    (lambda: log.add_scalar("a", "b", 1), pl.errors.TypeError, "a is 'b', expected a number"),
                    (lambda: log.add_scalar(3, 1.0, 1), pl.errors.TypeError, "the tag is int, expected a string"),
                    (lambda: log.add_image("a", np.ones((3, 4, 5)), dataformats="XYZ"), pl.errors.ValueError, "dataformats is 'XYZ'"),
                    (lambda: log.add_image("a", np.ones((3, 4))), pl.errors.ShapeError, "the image has 2 axes"),
                    (lambda: log.add_image("a", np.ones((5, 4, 3))), pl.errors.ShapeError, "1 to 4 channels"),
                    (lambda: log.add_image("a", np.ones((3, 4, 3), int)), pl.errors.TypeError, "expected u8, or floats from 0 to 1"),
                    (lambda: log.add_images("a", np.ones((0, 3, 4, 3))), pl.errors.ShapeError, "there are no images"),
                    (lambda: log.add_histogram("a", np.ones(0)), pl.errors.ValueError, "no elements"),
                    (lambda: log.add_histogram("a", np.ones(1, complex)), pl.errors.TypeError, "expected real numbers"),
                    (lambda: log.add_graph(pl.exp), pl.errors.TypeError, "expected a program, or a model and its arguments")):
                with self.assertRaisesRegex(error, message):
                    call()
            for name, hint in (("add_figure", r"log.add_image\(tag, np.asarray"), ("add_video", "SummaryWriter"),
                               ("add_nothing", "has no 'add_nothing'")):
                with self.subTest(name), self.assertRaisesRegex(pl.AttributeError, hint):
                    getattr(log, name)
        self.assertEqual([tags for tags in read(self.folder).Tags().values() if tags not in ([], False)], [])

    def test_each_of_several_logs_is_served(self):
        rows = pl.io.JsonlLog(self.folder / "log.jsonl"), pl.io.JsonlLog(self.folder / "other.jsonl")
        log = pl.io.Logs(*rows)
        rows[0].close()
        with self.assertRaisesRegex(pl.errors.ValueError, "is closed"):
            log.log(0, {"loss": 1.0})
        self.assertEqual(jsonl_steps(self.folder / "other.jsonl"), [(0, 1.0)])

    def test_threads(self):
        with pl.io.EventLog(self.folder / "events") as log:
            threads = [threading.Thread(target=lambda: [log.add_scalar("loss", step, step) for step in range(100)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(step for step, _ in event_steps(self.folder / "events")), sorted(list(range(100)) * 4))


if __name__ == "__main__":
    unittest.main()
