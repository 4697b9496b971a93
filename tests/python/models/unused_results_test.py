"""Functions that return a changed model, gradient or tree, and change nothing in place: a statement that drops the result is an error."""

import tempfile
import unittest

import plait as pl
from plait import nn

MODEL = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
STATEMENTS = {
    "train": "model.train()",
    "eval": "model.eval()",
    "to": "model.to('cpu')",
    "load_state": "nn.load_state(model, nn.state(model))",
    "freeze": "nn.freeze(model, '0.*')",
    "unfreeze": "nn.unfreeze(model)",
    "lora": "nn.lora(model)",
    "merge_lora": "nn.merge_lora(nn.lora(model))",
    "parametrize": "nn.parametrize(model, '0.weight', lambda w: w)",
    "remove_parametrizations": "nn.remove_parametrizations(nn.weight_norm(model, '0.weight'))",
    "weight_norm": "nn.weight_norm(model, '0.weight')",
    "spectral_norm": "nn.spectral_norm(model, '0.weight')",
    "orthogonal": "nn.orthogonal(model, '0.weight')",
    "quantize": "nn.quantize(model)",
    "l1_unstructured": "nn.utils.prune.l1_unstructured(model, '0.weight', 0.5)",
    "ln_structured": "nn.utils.prune.ln_structured(model, '0.weight', 0.5, 2, 0)",
    "random_unstructured": "nn.utils.prune.random_unstructured(model, '0.weight', 0.5)",
    "random_structured": "nn.utils.prune.random_structured(model, '0.weight', 0.5, 0)",
    "global_unstructured": "nn.utils.prune.global_unstructured(model, ['*.weight'], amount=0.5)",
    "identity": "nn.utils.prune.identity(model, '0.weight')",
    "custom_from_mask": "nn.utils.prune.custom_from_mask(model, '0.weight', pl.ones((3, 3)))",
    "remove": "nn.utils.prune.remove(nn.utils.prune.identity(model, '0.weight'))",
    "clip_grad_norm": "pl.optim.clip_grad_norm(model, 1.0)",
    "clip_grad_value": "pl.optim.clip_grad_value(model, 1.0)",
    "restore": "checkpoints.restore(model)",
}


class UnusedResults(unittest.TestCase):
    def test_each(self):
        with tempfile.TemporaryDirectory() as folder:
            checkpoints = pl.io.Checkpoints(folder)
            checkpoints.save(1, MODEL)
            checkpoints.wait()
            names = {"pl": pl, "nn": nn, "model": MODEL, "checkpoints": checkpoints}
            for name, statement in STATEMENTS.items():
                with self.subTest(name):
                    exec(f"def used():\n    result = {statement}\n    return result", names)
                    names["used"]()
                    exec(f"def unused():\n    {statement}", names)
                    with self.assertRaisesRegex(pl.TypeError, rf"^{name}\(\) returns [\w\s]+, and changes nothing in place: the result is not used(.|\n)*hint: \w+"):
                        names["unused"]()

    def test_code_that_is_assigned_to_a_layer(self):
        layer = nn.Linear(2, 2)
        for name in "forward", "__call__":
            with self.assertRaisesRegex(pl.TypeError, f"Linear: {name} is assigned, which nothing calls"):
                setattr(layer, name, lambda x: x)

        class Own(pl.Module):
            def __init__(self):
                self.forward = pl.sin

            def __call__(self, x):
                return self.forward(x)

        self.assertEqual(Own()(pl.tensor(0.0)).item(), 0)


if __name__ == "__main__":
    unittest.main()
