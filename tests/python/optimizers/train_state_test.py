"""TrainState: the whole state of a run as one tree."""

import pickle
import unittest
import warnings

import numpy as np
import plait as pl


class Net(pl.Module):
    def __init__(self):
        self.first, self.norm = pl.nn.Linear(3, 4, key=pl.random.key(1)), Norm()

    def __call__(self, x, key):
        return pl.sum(pl.dropout(self.norm(self.first(x)), 0.3, key))


class Norm(pl.Module):
    def __init__(self):
        self.mean, self.variance = pl.nn.Buffer(pl.zeros(4)), pl.nn.Buffer(pl.ones(4))

    def __call__(self, x):
        x, self.mean, self.variance = pl.batch_norm(x, running_mean=self.mean, running_var=self.variance)
        return x


def begun():
    model = Net()
    return pl.optim.TrainState(model, pl.optim.AdamW(model, lr=1e-2), key=pl.random.key(3), loader={"epoch": pl.tensor(0)}, metrics=[pl.zeros(())])


@pl.jit
def step(state, x):
    def loss_of(model):
        return model(x, state.step_key()) ** 2, model

    (loss, model), gradient = pl.value_and_grad(loss_of, has_aux=True)(state.model)
    return state.update(gradient, model=model).with_(metrics=[state.metrics[0] + loss]), loss


class States(unittest.TestCase):
    def test_a_run_goes_on_from_a_saved_state(self):
        batches = [pl.random.normal(pl.random.key(i), (5, 3)) for i in range(6)]
        state, losses, kept = begun(), [], None
        for i, batch in enumerate(batches):
            if i == 3:
                kept = pickle.dumps(state)
            state, loss = step(state, batch)
            losses.append(loss.item())
        again = pickle.loads(kept)
        for i in range(3, 6):
            again, loss = step(again, batches[i])
            self.assertEqual(loss.item(), losses[i])
        for (path, one), (_, other) in zip(pl.tree.leaves_with_paths(state), pl.tree.leaves_with_paths(again)):
            np.testing.assert_array_equal(one, other, err_msg=path)
        self.assertEqual((state.step.item(), pl.stats(step).traces), (6, 1))
        self.assertGreater(np.abs(state.model.norm.mean.numpy()).max(), 0)
        self.assertEqual(len(set(losses)), 6)

    def test_parts_of_ones_own(self):
        class WithAverage(pl.optim.TrainState):
            def __init__(self, model):
                super().__init__(model, pl.optim.SGD(model))
                self.ema = pl.optim.EMA(model)

        model = pl.tensor([1.0])
        state = WithAverage(model).update(model)
        state = state.with_(ema=state.ema.update(state.model))
        self.assertEqual((type(state), state.ema.n_averaged.item()), (WithAverage, 1))
        with self.assertRaisesRegex(pl.TypeError, "WithAverage has no part 'average'; it has model, optimizer, .*ema"):
            state.with_(average=1)

    def test_the_tree_has_everything(self):
        paths = set(pl.tree.structure(begun()).paths)
        self.assertLessEqual({"model.first.weight", "model.norm.mean", "key", "step", "loader.epoch", "metrics.0", "optimizer.lr"}, paths)

    def test_keys(self):
        state = begun()
        keys = [state.step_key().numpy(), state.step_key(1).numpy(), state.with_(step=state.step + 1).step_key().numpy()]
        self.assertEqual(len({key.tobytes() for key in keys}), 3)
        np.testing.assert_array_equal(state.step_key(1), state.step_key(1))

    def test_running_statistics_are_not_lost(self):
        def gradient_of(model):
            (_, after), gradient = pl.value_and_grad(lambda model: (model(pl.random.normal(pl.random.key(0), (5, 3)), pl.random.key(1)), model),
                                                     has_aux=True)(model)
            return after, gradient

        def lost(state):
            return state.update(gradient_of(state.model)[1])

        state = begun()
        for step in lost, pl.jit(lost):
            with self.assertRaisesRegex(pl.ValueError, r"new buffers \(norm.mean, norm.variance\), which would be lost[\s\S]*model=model"):
                step(state)
        after, gradient = gradient_of(state.model)
        self.assertTrue(pl.array_equal(state.update(gradient, model=after).model.norm.mean, after.norm.mean))
        self.assertTrue(pl.array_equal(state.with_(model=after).update(gradient).model.norm.mean, after.norm.mean))
        self.assertTrue(pl.array_equal(state.update(gradient, model=state.model).model.norm.mean, state.model.norm.mean))
        self.assertEqual(state.update(pl.grad(lambda model: pl.sum(model.first.weight))(state.model)).step.item(), 1)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(pl.ValueError, "there is no optimizer"):
            pl.optim.TrainState(Net()).update(None)
        with self.assertRaisesRegex(pl.TypeError, "no part 'modle'; it has model, optimizer"):
            begun().with_(modle=1)
        for call, text in ((lambda: pl.optim.TrainState(Net(), 3), "TrainState: the optimizer is 3, expected one that has update"),
                           (lambda: pl.optim.TrainState(Net(), pl.optim.SGD), "TrainState: the optimizer is <class .*SGD'>, expected one"),
                           (lambda: pl.optim.TrainState(Net(), pl.optim.sgd(0.1)), "TrainState: the optimizer is a gradient transformation"),
                           (lambda: pl.optim.TrainState(Net(), key=5), "TrainState: the key is 5, expected a random key"),
                           (lambda: pl.optim.TrainState(Net(), key=pl.ones(2)), "TrainState: the key is .*, expected a random key"),
                           (lambda: pl.optim.TrainState(None), "TrainState: the model is None")):
            with self.subTest(text), self.assertRaisesRegex(pl.TypeError, text + r".*, at train_state_test.py:\d+"):
                call()


class StateInAnObject(unittest.TestCase):
    """A step that keeps model and optimizer in self is recorded once, and gives what it gives without jit."""

    def test_steps_are_recorded(self):
        def optimizers():
            yield lambda model: pl.optim.SGD(model, lr=0.1)
            yield lambda model: pl.optim.AdamW(model, lr=pl.optim.lr_scheduler.StepLR(0.1, 3), groups=[{"params": "*.bias", "lr": 0.2}])
            yield lambda model: pl.optim.Optimizer(pl.optim.chain(pl.optim.clip(1.0), pl.optim.adam(0.1)), model)

        for make in optimizers():
            class Trainer:
                def __init__(self):
                    pl.random.seed(3)
                    self.model = pl.nn.Sequential(pl.nn.Linear(4, 8), pl.nn.BatchNorm1d(8), pl.relu, pl.nn.Dropout(0.1), pl.nn.Linear(8, 2))
                    self.optimizer = make(self.model)

                @pl.jit
                def step(self, x, y):
                    (loss, model), gradient = pl.value_and_grad(lambda model: (pl.nn.cross_entropy(model(x), y), model), has_aux=True)(self.model)
                    self.model, self.optimizer = self.optimizer.update(model, gradient)
                    return loss

            x, y = pl.random.normal(pl.random.key(0), (8, 4)), pl.tensor([0, 1] * 4)
            jitted = Trainer()
            losses = [jitted.step(x, y).item() for _ in range(4)]
            plain = Trainer()
            for loss in losses:
                self.assertAlmostEqual(Trainer.step.__wrapped__(plain, x, y).item(), loss, places=5)
            self.assertEqual((pl.stats(Trainer.step).traces, pl.stats(Trainer.step).hits), (1, 3))
            self.assertEqual(jitted.optimizer.steps.item(), 4)
            self.assertEqual(jitted.model[1].num_batches_tracked.item(), 4)

    def test_layers_keep_their_identity(self):
        class Holder:
            def __init__(self):
                self.base, self.model = pl.nn.Linear(2, 2), None

            @pl.jit
            def run(self, x):
                self.model = pl.nn.Sequential(self.base, pl.relu)
                return pl.sum(self.model(x))

        holder = Holder()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            for _ in range(3):
                holder.run(pl.ones((1, 2)))
                self.assertIs(holder.model[0], holder.base)


if __name__ == "__main__":
    unittest.main()
