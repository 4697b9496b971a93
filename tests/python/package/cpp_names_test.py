"""Layers, losses, optimizers and their functions are there in C++, too: each public name of plait.nn and plait.optim is declared in a header of the
same room, spelt as here, or is in a list below, with what stands for it."""

import pathlib
import re
import unittest

import plait

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOMS = {"nn": ("nn", "nn.init", "nn.utils", "nn.utils.prune"), "optim": ("optim", "optim.lr_scheduler")}

SIZES_ARE_GIVEN = "the sizes of a layer are given when it is made, since its type is that of its fields"
OTHERS = {
    "nn": {
        **{name: SIZES_ARE_GIVEN for name in dir(plait.nn) if name.startswith("Lazy")},
        "Module": "a struct, or a class with fields()", "ModuleList": "std::vector", "ModuleDict": "std::map", "ParameterList": "std::vector<Tensor>",
        "ParameterDict": "std::map<std::string, Tensor>", "Parameter": "a Tensor", "call": "load_state(model, state)(x)",
        "merge_lora": "LoRA::merged(), and whole() of a model with adapters", "parametrize": "parametrized",
    },
    "nn.init": {"zeros": "plait::zeros", "ones": "plait::ones"},
    "nn.utils": {"prune": "the namespace prune"},
    "optim": {"GradientTransformation": "Transformation"},
}
# Names that are spelt otherwise in C++, and why.
SPELT = {"optim": {"MultiSteps": ("multi_steps", "it is a function there, as all that makes a transformation")}}


def declared(room):
    """Names that the public headers of a room declare: of structs, functions, types and enumerations."""
    found = set()
    for path in (ROOT / "plait" / room).rglob("*.h"):
        if "inside" not in path.parts:
            text = re.sub(r"//.*", "", path.read_text())
            found |= set(re.findall(r"\b(?:struct|class|using|namespace|constexpr auto)\s+(\w+)", text))
            found |= set(re.findall(r"^(?!\s*return\b)[\w\[\]:<>,&* ]*[\w>&*]\s+(\w+)\s*\(", text, re.MULTILINE))
    return found


class NamesOfCpp(unittest.TestCase):
    def test_none_is_missing(self):
        for room, modules in ROOMS.items():
            names = declared(room)
            for module in modules:
                namespace = plait
                for part in module.split("."):
                    namespace = getattr(namespace, part)
                public = {name for name in namespace.__all__ if not name.startswith("__")} - {part.split(".")[-1] for part in modules}
                others = OTHERS.get(module, {})
                spelt = {name: there for name, (there, _) in SPELT.get(module, {}).items()}
                missing = sorted(name for name in public if spelt.get(name, name) not in names and name not in others)
                with self.subTest(module):
                    self.assertEqual(missing, [], "declare it, or say in OTHERS what stands for it, or in SPELT how it is spelt")
                    self.assertEqual(sorted(set(others) - public - {"prune"}), [], "names that are not public")
                    self.assertEqual(sorted(name for name in spelt if name not in public or name in names), [], "spelt as in Python")


if __name__ == "__main__":
    unittest.main()
