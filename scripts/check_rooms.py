#!/usr/bin/env python3
"""Checks the rooms: which may include which, and that <plait/plait.h> has every public header."""

import pathlib
import re
import sys

# A room may include itself and the rooms in the rows above it, not its neighbours in the same row.
ROWS = [
    ["core"],
    ["ir"],
    ["tensor"],
    ["ops"],
    ["transform"],
    ["compile"],
    ["cpu", "cuda"],
    ["dist"],
    ["nn", "optim", "data", "io", "serve"],
]

# Headers that the umbrella leaves out: they are for the sources of Plait only.
INSIDE = {
    "plait/compile/inside/running/bound_plan.h",
    "plait/compile/inside/passes/clusters.h",
    "plait/compile/inside/running/execution.h",
    "plait/compile/inside/plans/free_ranges.h",
    "plait/compile/inside/plans/function_planner.h",
    "plait/compile/inside/running/guarded_memory.h",
    "plait/compile/inside/nests/kernel_compiler.h",
    "plait/compile/inside/running/kernel_run.h",
    "plait/compile/inside/nests/nest.h",
    "plait/compile/inside/plans/plan.h",
    "plait/compile/inside/plans/plan_builder.h",
    "plait/compile/inside/running/plan_memory.h",
    "plait/compile/inside/nests/region.h",
    "plait/compile/inside/passes/rewrite_rules.h",
    "plait/compile/inside/nests/row_product.h",
    "plait/compile/inside/running/work_memory.h",
    "plait/core/inside/sizes/dim_node.h",
    "plait/core/inside/sizes/dim_polynomial.h",
    "plait/core/inside/sizes/divisors.h",
    "plait/core/inside/mathematics/dual.h",
    "plait/core/inside/numbers/element_text.h",
    "plait/core/inside/mathematics/gamma_functions.h",
    "plait/core/inside/mathematics/gamma_parts.h",
    "plait/core/inside/system/immortal.h",
    "plait/core/inside/system/interruption.h",
    "plait/core/sizes/interval.h",
    "plait/core/inside/system/job_slot.h",
    "plait/core/trees/reflect_bindings.h",
    "plait/core/inside/sizes/size_proof.h",
    "plait/core/inside/sizes/size_reader.h",
    "plait/core/inside/source_line.h",
    "plait/core/inside/mathematics/special_functions.h",
    "plait/core/inside/sizes/whole_numbers.h",
    "plait/cpu/inside/reductions/axis_rows.h",
    "plait/cpu/inside/products/blocked_product.h",
    "plait/cpu/inside/elementwise/conversion.h",
    "plait/cpu/inside/convolutions/convolution_shape.h",
    "plait/cpu/inside/products/dot.h",
    "plait/cpu/inside/fourier/cpu_fft.h",
    "plait/cpu/inside/elementwise/float_division.h",
    "plait/cpu/inside/fourier/fourier.h",
    "plait/cpu/inside/fourier/fourier_kernels.h",
    "plait/cpu/inside/elementwise/half_precision.h",
    "plait/cpu/inside/indexing/indexed_rows.h",
    "plait/cpu/inside/kernel_registration.h",
    "plait/cpu/inside/elementwise/cpu_kernels.h",
    "plait/cpu/inside/libraries/lapack.h",
    "plait/cpu/inside/libraries/lapack_functions.h",
    "plait/cpu/inside/libraries/library_convolution.h",
    "plait/cpu/inside/libraries/library_product.h",
    "plait/cpu/inside/codegen/llvm_code.h",
    "plait/cpu/inside/codegen/llvm_engine.h",
    "plait/cpu/inside/codegen/llvm_library.h",
    "plait/cpu/inside/codegen/llvm_nest.h",
    "plait/cpu/inside/codegen/llvm_operations.h",
    "plait/cpu/inside/elementwise/cpu_loops.h",
    "plait/cpu/inside/products/matrix.h",
    "plait/cpu/inside/codegen/nest_plan.h",
    "plait/cpu/inside/codegen/object_cache.h",
    "plait/cpu/inside/libraries/onednn_engine.h",
    "plait/cpu/inside/libraries/onednn_library.h",
    "plait/cpu/inside/order/order_items.h",
    "plait/cpu/inside/order/order_key.h",
    "plait/cpu/inside/products/packed_products.h",
    "plait/cpu/inside/convolutions/patches.h",
    "plait/cpu/inside/products/product_grid.h",
    "plait/cpu/inside/products/product_kernels.h",
    "plait/cpu/inside/products/product_kernels_body.h",
    "plait/cpu/inside/products/cpu_products.h",
    "plait/cpu/inside/products/ragged.h",
    "plait/cpu/inside/random/cpu_random.h",
    "plait/cpu/inside/random/random_kernels.h",
    "plait/cpu/inside/recent_cache.h",
    "plait/cpu/inside/reductions/reduce_kernels.h",
    "plait/cpu/inside/reductions/row_kernels.h",
    "plait/cpu/inside/reductions/row_view.h",
    "plait/cpu/inside/indexing/scatter_loops.h",
    "plait/cpu/inside/order/sort_kernels.h",
    "plait/cpu/inside/elementwise/sticky_float.h",
    "plait/cpu/inside/products/tile_kernels.h",
    "plait/cpu/inside/products/tile_product.h",
    "plait/cpu/inside/order/word_sort.h",
    "plait/io/inside/byte_fields.h",
    "plait/io/inside/byte_order.h",
    "plait/io/inside/deflate.h",
    "plait/io/inside/file.h",
    "plait/io/inside/gzip.h",
    "plait/io/inside/npy_array.h",
    "plait/io/inside/npy_header.h",
    "plait/io/inside/npz_member.h",
    "plait/io/inside/python_literal.h",
    "plait/io/inside/zip.h",
    "plait/io/inside/zip_format.h",
    "plait/ir/inside/text/binary_format.h",
    "plait/ir/inside/analysis/callee_sizes.h",
    "plait/ir/inside/evaluation/evaluation.h",
    "plait/ir/inside/evaluation/frame_layout.h",
    "plait/ir/inside/text/location_text.h",
    "plait/ir/inside/analysis/type_walk.h",
    "plait/ir/inside/evaluation/value_check.h",
    "plait/ir/inside/analysis/verify_rules.h",
    "plait/ops/inside/along.h",
    "plait/ops/inside/blockwise.h",
    "plait/ops/inside/products/contraction.h",
    "plait/ops/inside/products/contraction_order.h",
    "plait/ops/inside/fft/fft_primitives.h",
    "plait/ops/inside/indexing/index_plan.h",
    "plait/ops/inside/lattice.h",
    "plait/ops/inside/linalg/linalg_operands.h",
    "plait/ops/inside/linalg/linalg_parts.h",
    "plait/ops/inside/linalg/linalg_primitives.h",
    "plait/ops/inside/linalg/linalg_routines.h",
    "plait/ops/inside/neural/loss_parts.h",
    "plait/ops/inside/random/philox.h",
    "plait/ops/inside/random/random_attempts.h",
    "plait/ops/inside/random/random_functions.h",
    "plait/ops/inside/random/random_primitives.h",
    "plait/ops/inside/neural/resampling_taps.h",
    "plait/ops/inside/samples.h",
    "plait/ops/inside/elementwise/scalar_functions.h",
    "plait/tensor/inside/memory/buffer_source.h",
    "plait/tensor/inside/effect_log.h",
    "plait/tensor/inside/non_finite.h",
    "plait/core/inside/error_count.h",
    "plait/tensor/inside/fits.h",
    "plait/tensor/inside/row_notes.h",
    "plait/transform/inside/batching/batch.h",
    "plait/transform/inside/control/carried_sizes.h",
    "plait/transform/inside/control/changing_while.h",
    "plait/transform/inside/control/checkpointed.h",
    "plait/transform/inside/derivatives/derivative.h",
    "plait/transform/inside/derivatives/derived_functions.h",
    "plait/transform/inside/derivatives/derived_lately.h",
    "plait/transform/inside/running/function_run.h",
    "plait/transform/inside/jit/jit_backends.h",
    "plait/transform/inside/jit/jit_entries.h",
    "plait/transform/inside/jit/jit_pieces.h",
    "plait/transform/inside/jit/jit_recording.h",
    "plait/transform/inside/batching/lane_values.h",
    "plait/transform/inside/derivatives/lifted_draws.h",
    "plait/transform/inside/derivatives/linear_function.h",
    "plait/transform/inside/control/open_recursion.h",
    "plait/transform/inside/derivatives/recording.h",
    "plait/transform/inside/derivatives/retrace.h",
    "plait/transform/inside/running/run_instruction.h",
    "plait/transform/inside/running/run_program.h",
    "plait/transform/inside/control/sizes_between.h",
    "plait/transform/inside/control/staged.h",
    "plait/transform/inside/control/staged_branch.h",
    "plait/transform/inside/control/staged_custom.h",
    "plait/transform/inside/control/staged_host.h",
    "plait/transform/inside/control/staged_recursion.h",
    "plait/transform/inside/control/staged_remat.h",
    "plait/transform/inside/control/staged_scan.h",
    "plait/transform/inside/control/staged_while.h",
    "plait/transform/inside/derivatives/sweep.h",
    "plait/transform/inside/derivatives/taped.h",
    "plait/transform/inside/derivatives/tensor_lists.h",
    "plait/transform/inside/control/unrolled_scan.h",
    "plait/transform/inside/batching/varying.h",
}

ROOT = pathlib.Path(__file__).resolve().parent.parent
UMBRELLA = "plait/plait.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def row_of(room):
    return next((number for number, row in enumerate(ROWS) if room in row), None)


def includes_of(file):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match.group(1)


def problem_with(room, included):
    """Why a source of `room` may not include `included`; None when it may."""
    if included.startswith(("tests/", "tools/", "examples/", "bench/")):
        return f"the library does not include {included}"
    if not included.startswith("plait/"):
        return None
    if included == UMBRELLA:
        return "the umbrella is for users; include what is used"
    if not (ROOT / included).exists():
        return f"{included} is not there"
    other = included.split("/")[1]
    if other == room or row_of(other) < row_of(room):
        return None
    return f"room {room} may not include {included}: {other} is not above it"


def room_problems():
    for folder in sorted(path for path in (ROOT / "plait").iterdir() if path.is_dir()):
        if row_of(folder.name) is None:
            yield f"plait/{folder.name}: no such room (ROWS in scripts/check_rooms.py lists them)"
            continue
        for file in sorted([path for end in ("h", "inl", "cpp") for path in folder.rglob(f"*.{end}")]):
            for number, included in includes_of(file):
                if problem := problem_with(folder.name, included):
                    yield f"{file.relative_to(ROOT)}:{number}: {problem}"


def umbrella_problems():
    headers = {str(file.relative_to(ROOT)) for file in (ROOT / "plait").glob("*/*.h")}
    listed = {included for _, included in includes_of(ROOT / UMBRELLA)}
    for header in sorted(headers - listed - INSIDE):
        yield f"{UMBRELLA}: {header} is missing (or belongs into INSIDE of scripts/check_rooms.py)"
    for header in sorted(INSIDE - headers):
        yield f"scripts/check_rooms.py: INSIDE names {header}, which is not there"
    for header in sorted(listed & INSIDE):
        yield f"{UMBRELLA}: {header} is for the inside only"


def main():
    problems = [*room_problems(), *umbrella_problems()]
    print("\n".join(problems) if problems else "   every include leads to a room above")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
