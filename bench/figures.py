"""Writes the tables of measurements in README.md and docs/performance.md from what `make bench` measured last.

    figures.py            writes the tables between the marks `<!-- figures: NAME -->` and `<!-- end -->`
    figures.py --print    prints them
    figures.py --models build/bench/large.json build/bench/small.json    if bench/models/compare.py was run several times, with other cases
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "README.md", ROOT / "docs/performance.md"
PEERS = {"libtorch": "libtorch", "torch": "PyTorch", "numpy": "NumPy", "jax": "JAX", "torch-eager": "PyTorch, eager",
         "torch-compile": "`torch.compile`", "jax-scan": "JAX with scans"}
MODELS = {"vit_train": "ViT-base, a training step of 8 images", "gpt_train": "GPT of six layers, a training step of 8 × 256",
          "vit_infer": "ViT-base, logits of 8 images", "mlp_train": "MLP, a training step"}
CHOSEN = [("add 16 floats (Python)", None), ("jitted function of 200 leaves (Python)", None), ("vit_train", "fp32"), ("gpt_train", "bf16"),
          ("mlp_train", "fp32")]


def text_of(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def name_of(contender):
    return PEERS.get(contender, contender)


def model_of(row):
    return f"{MODELS.get(row['case'], '`' + row['case'] + '`')}, {row['dtype']}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Figures:
    def __init__(self, peers, models):
        self.peers = json.loads(peers.read_text())
        runs = [json.loads(each.read_text()) for each in models]
        self.models = {**runs[0], "rows": [row for each in runs for row in each["rows"]]}

    def operations(self):
        """Cases of bench/peers/compare.py."""
        rows = []
        for each in self.peers:
            other, seconds = each["fastest_other"], each["seconds_per_call"]
            rows.append([each["case"], text_of(seconds["plait"]), f"{name_of(other)} {text_of(seconds[other])}", f"{each['ratio']:.2f}",
                         f"{each['goal']:.2f}"])
        return table(["case", "Plait", "fastest other", "ratio", "goal"], rows)

    def whole_models(self):
        """Cases of bench/models/compare.py."""
        contenders = list(dict.fromkeys(name for row in self.models["rows"] for name in row.get("contenders", {})
                                        if name not in ("plait", "plait-flush")))
        rows = []
        for row in self.models["rows"]:
            own = row["contenders"]["plait"]
            cells = [text_of(each["median_s"]) if "median_s" in (each := row["contenders"].get(name, {})) else "" for name in contenders]
            part = f"{100 * own['of_products']:.0f} %" if own.get("of_products") else ""
            rows.append([model_of(row), text_of(own["median_s"]), *cells,
                         f"{row['ratio']:.2f}" if row.get("ratio") else "", part])
        return table(["case", "Plait", *map(name_of, contenders), "Plait ÷ fastest other", "fraction of matmul throughput"], rows)

    def chosen(self):
        """Five cases, and the slowest of all models."""
        ratios = {(each["case"], None): (each["case"].replace(" (Python)", ", from Python"), each["ratio"], each["fastest_other"])
                  for each in self.peers}
        judged = [row for row in self.models["rows"] if row.get("ratio")]
        for row in judged:
            ratios[row["case"], row["dtype"]] = model_of(row), row["ratio"], row["fastest_other"]
        worst = max((row for row in judged if (row["case"], row["dtype"]) not in CHOSEN), key=lambda row: row["ratio"])
        rows = [[name, f"{ratio:.2f}", name_of(other)] for name, ratio, other in (ratios[key] for key in CHOSEN)]
        name, ratio, other = ratios[worst["case"], worst["dtype"]]
        rows.append([f"the slowest of {len(judged)} models beside the others: {name}", f"{ratio:.2f}", name_of(other)])
        return table(["time of Plait ÷ time of the fastest other", "ratio", "fastest other"], rows)

    def machine(self):
        return f"Measured on: {self.models['versions']}, {self.models['threads']} threads."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="prints the tables instead of writing them")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT / "build/bench/peers.json", help="of bench/peers/compare.py")
    parser.add_argument("--models", type=pathlib.Path, nargs="+", default=[ROOT / "build/bench/models.json"], help="of bench/models/compare.py")
    options = parser.parse_args()
    try:
        figures = Figures(options.peers, options.models)
    except FileNotFoundError as missing:
        sys.exit(f"{missing.filename} is missing: run `make bench` first")
    tables = {name: getattr(figures, name)() for name in ("operations", "whole_models", "chosen", "machine")}
    if options.print:
        return print("\n\n".join(tables.values()))
    for page in PAGES:
        text = page.read_text()
        for name, content in tables.items():
            text = re.sub(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", lambda match: match[1] + content + "\n" + match[2], text, flags=re.DOTALL)
        page.write_text(text)


if __name__ == "__main__":
    main()
