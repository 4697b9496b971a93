"""PyTorch's side of `plait_gpu_check speed`, and the comparison of both.

    peer_operations.py measure [SECONDS]       a line of JSON for each operation
    peer_operations.py compare OURS THEIRS     a table; exits with 1 where results differ"""

import json
import sys
import time

RELATIVE = {"f32": 1e-4, "bf16": 1e-2}  # allowed difference of the means of magnitudes, by dtype
MANY = 16 << 20
# Bytes that are read and written, or operations, where they are the limit.
BYTES = {"add 16M f32": 8 * MANY, "times 2 16M bf16": 4 * MANY, "gelu 16M bf16": 4 * MANY, "sum 16M f32": 4 * MANY}
OPERATIONS = {"matmul 4096 f32": 2 * 4096**3, "matmul 8192 bf16": 2 * 8192**3}


def operations():
    import torch
    import torch.nn.functional as F

    torch.backends.cuda.matmul.allow_tf32 = False
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16}

    def numbers(*sizes, dtype="f32"):
        places = torch.arange(int(torch.tensor(sizes).prod()), device="cuda")
        return ((places * 7919 % 1000).double() / 1000 - 0.5).to(dtypes[dtype]).reshape(sizes)

    def rows_below(end, count):
        return torch.arange(count, device="cuda") * 7919 % end

    def unary(f, *sizes, dtype="f32"):
        def prepare():
            x = numbers(*sizes, dtype=dtype)
            return lambda: f(x)
        return prepare

    def product(a, b, dtype):
        def prepare():
            x, y = numbers(*a, dtype=dtype), numbers(*b, dtype=dtype)
            return lambda: x @ y
        return prepare

    def embedding():
        table, rows = numbers(50257, 768), rows_below(50257, 8192)
        return lambda: F.embedding(rows, table)

    def index_add():
        table, rows, x = torch.zeros(50257, 768, device="cuda"), rows_below(50257, 8192), numbers(8192, 768)
        return lambda: table.index_add(0, rows, x)

    return {
        "add 16 f32": unary(lambda x: x + x, 16),
        "add 16M f32": unary(lambda x: x + x, MANY),
        "times 2 16M bf16": unary(lambda x: x * 2.0, MANY, dtype="bf16"),
        "exp 16M f32": unary(torch.exp, MANY),
        "gelu 16M bf16": unary(F.gelu, MANY, dtype="bf16"),
        "where 16M f32": unary(lambda x: torch.where(x > 0, x, 0.0), MANY),
        "transposed copy 4096 f32": unary(lambda x: x.T.contiguous(), 4096, 4096),
        "sum 16M f32": unary(torch.sum, MANY),
        "sum rows 4096 f32": unary(lambda x: x.sum(1), 4096, 4096),
        "sum columns 4096 f32": unary(lambda x: x.sum(0), 4096, 4096),
        "argmax rows 4096 f32": unary(lambda x: x.argmax(1), 4096, 4096),
        "softmax 8192x1024 f32": unary(lambda x: x.softmax(-1), 8192, 1024),
        "layer norm 8192x768 f32": unary(lambda x: F.layer_norm(x, (768,)), 8192, 768),
        "cumsum rows 4096 f32": unary(lambda x: x.cumsum(1), 4096, 4096),
        "matmul 4096 f32": product((4096, 4096), (4096, 4096), "f32"),
        "matmul 8192 bf16": product((8192, 8192), (8192, 8192), "bf16"),
        "matmul 96x512x64x512 bf16": product((96, 512, 64), (96, 64, 512), "bf16"),
        "embedding 50257x768 8192 f32": embedding,
        "index_add 50257x768 8192 f32": index_add,
        "sort 1M f32": unary(lambda x: x.sort()[0], 1 << 20),
        "topk 50 8192x1024 f32": unary(lambda x: x.topk(50)[0], 8192, 1024),
    }


def microseconds(call, seconds):
    """The time of a call among many that are queued: the best of five."""
    import torch

    def mean(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / calls

    mean(3)
    calls = max(1, int(seconds / 5 / max(mean(1), 1e-7)))
    return min(mean(calls) for _ in range(5)) * 1e6


def measure(seconds):
    for name, prepare in operations().items():
        call = prepare()
        mean = call().double().abs().mean().item()
        print(json.dumps({"name": name, "microseconds": round(microseconds(call, seconds), 3), "mean": mean}), flush=True)


def read(path):
    with open(path) as file:  # where errors stand too
        return {each["name"]: each for each in (json.loads(line) for line in file if line.startswith("{"))}


def rate_of(name, microseconds):
    if name in BYTES:
        return f"{BYTES[name] / microseconds / 1e6:.2f} TB/s"
    return f"{OPERATIONS[name] / microseconds / 1e6:.0f} TFLOP/s" if name in OPERATIONS else ""


def compare(ours, theirs):
    ours, theirs = read(ours), read(theirs)
    wrong = 0
    print("| operation | Plait, µs | PyTorch, µs | ratio | Plait's rate |\n| --- | --- | --- | --- | --- |")
    for name, peer in theirs.items():
        if name not in ours:
            wrong += 1
            print(f"| {name} | missing | {peer['microseconds']:.1f} | | |")
            continue
        ratio = ours[name]["microseconds"] / peer["microseconds"]
        rate = rate_of(name, ours[name]["microseconds"])
        print(f"| {name} | {ours[name]['microseconds']:.1f} | {peer['microseconds']:.1f} | {ratio:.2f} | {rate} |")
        difference = abs(ours[name]["mean"] - peer["mean"])
        if not difference <= RELATIVE[name.split()[-1]] * abs(peer["mean"]):
            wrong += 1
            print(f"\n{name}: the mean magnitude is {ours[name]['mean']}, PyTorch's {peer['mean']}\n")
    return wrong


def main():
    if sys.argv[1:2] == ["measure"]:
        measure(float(sys.argv[2]) if len(sys.argv) > 2 else 0.2)
        return 0
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        return 1 if compare(*sys.argv[2:]) else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
