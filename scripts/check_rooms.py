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
    "plait/compile/bound_plan.h",
    "plait/compile/clusters.h",
    "plait/compile/execution.h",
    "plait/compile/free_ranges.h",
    "plait/compile/function_planner.h",
    "plait/compile/guarded_memory.h",
    "plait/compile/kernel_compiler.h",
    "plait/compile/kernel_run.h",
    "plait/compile/nest.h",
    "plait/compile/plan.h",
    "plait/compile/plan_builder.h",
    "plait/compile/plan_memory.h",
    "plait/compile/region.h",
    "plait/compile/rewrite_rules.h",
    "plait/compile/row_product.h",
    "plait/compile/work_memory.h",
    "plait/core/dim_node.h",
    "plait/core/dim_polynomial.h",
    "plait/core/divisors.h",
    "plait/core/dual.h",
    "plait/core/element_text.h",
    "plait/core/gamma_functions.h",
    "plait/core/gamma_parts.h",
    "plait/core/immortal.h",
    "plait/core/interruption.h",
    "plait/core/interval.h",
    "plait/core/job_slot.h",
    "plait/core/reflect_bindings.h",
    "plait/core/size_proof.h",
    "plait/core/size_reader.h",
    "plait/core/source_line.h",
    "plait/core/special_functions.h",
    "plait/core/whole_numbers.h",
    "plait/cpu/axis_rows.h",
    "plait/cpu/blocked_product.h",
    "plait/cpu/conversion.h",
    "plait/cpu/convolution_shape.h",
    "plait/cpu/dot.h",
    "plait/cpu/fft.h",
    "plait/cpu/float_division.h",
    "plait/cpu/fourier.h",
    "plait/cpu/fourier_kernels.h",
    "plait/cpu/half_precision.h",
    "plait/cpu/indexed_rows.h",
    "plait/cpu/kernel_registration.h",
    "plait/cpu/kernels.h",
    "plait/cpu/lapack.h",
    "plait/cpu/lapack_functions.h",
    "plait/cpu/library_convolution.h",
    "plait/cpu/library_product.h",
    "plait/cpu/llvm_code.h",
    "plait/cpu/llvm_engine.h",
    "plait/cpu/llvm_library.h",
    "plait/cpu/llvm_nest.h",
    "plait/cpu/llvm_operations.h",
    "plait/cpu/loops.h",
    "plait/cpu/matrix.h",
    "plait/cpu/nest_plan.h",
    "plait/cpu/object_cache.h",
    "plait/cpu/onednn_engine.h",
    "plait/cpu/onednn_library.h",
    "plait/cpu/order_items.h",
    "plait/cpu/order_key.h",
    "plait/cpu/packed_products.h",
    "plait/cpu/patches.h",
    "plait/cpu/product_grid.h",
    "plait/cpu/product_kernels.h",
    "plait/cpu/product_kernels_body.h",
    "plait/cpu/products.h",
    "plait/cpu/ragged.h",
    "plait/cpu/random.h",
    "plait/cpu/random_kernels.h",
    "plait/cpu/recent_cache.h",
    "plait/cpu/reduce_kernels.h",
    "plait/cpu/row_kernels.h",
    "plait/cpu/row_view.h",
    "plait/cpu/scatter_loops.h",
    "plait/cpu/sort_kernels.h",
    "plait/cpu/sticky_float.h",
    "plait/cpu/tile_kernels.h",
    "plait/cpu/tile_product.h",
    "plait/cpu/word_sort.h",
    "plait/io/byte_fields.h",
    "plait/io/byte_order.h",
    "plait/io/deflate.h",
    "plait/io/file.h",
    "plait/io/gzip.h",
    "plait/io/npy_array.h",
    "plait/io/npy_header.h",
    "plait/io/npz_member.h",
    "plait/io/python_literal.h",
    "plait/io/zip.h",
    "plait/io/zip_format.h",
    "plait/ir/binary_format.h",
    "plait/ir/callee_sizes.h",
    "plait/ir/evaluation.h",
    "plait/ir/frame_layout.h",
    "plait/ir/location_text.h",
    "plait/ir/type_walk.h",
    "plait/ir/value_check.h",
    "plait/ir/verify_rules.h",
    "plait/ops/along.h",
    "plait/ops/blockwise.h",
    "plait/ops/contraction.h",
    "plait/ops/contraction_order.h",
    "plait/ops/fft_primitives.h",
    "plait/ops/index_plan.h",
    "plait/ops/lattice.h",
    "plait/ops/linalg_operands.h",
    "plait/ops/linalg_parts.h",
    "plait/ops/linalg_primitives.h",
    "plait/ops/linalg_routines.h",
    "plait/ops/loss_parts.h",
    "plait/ops/philox.h",
    "plait/ops/random_attempts.h",
    "plait/ops/random_functions.h",
    "plait/ops/random_primitives.h",
    "plait/ops/resampling_taps.h",
    "plait/ops/samples.h",
    "plait/ops/scalar_functions.h",
    "plait/tensor/buffer_source.h",
    "plait/tensor/effect_log.h",
    "plait/tensor/non_finite.h",
    "plait/core/error_count.h",
    "plait/tensor/fits.h",
    "plait/tensor/row_notes.h",
    "plait/transform/batch.h",
    "plait/transform/carried_sizes.h",
    "plait/transform/changing_while.h",
    "plait/transform/checkpointed.h",
    "plait/transform/derivative.h",
    "plait/transform/derived_functions.h",
    "plait/transform/derived_lately.h",
    "plait/transform/function_run.h",
    "plait/transform/jit_backends.h",
    "plait/transform/jit_entries.h",
    "plait/transform/jit_pieces.h",
    "plait/transform/jit_recording.h",
    "plait/transform/lane_values.h",
    "plait/transform/lifted_draws.h",
    "plait/transform/linear_function.h",
    "plait/transform/open_recursion.h",
    "plait/transform/recording.h",
    "plait/transform/retrace.h",
    "plait/transform/run_instruction.h",
    "plait/transform/run_program.h",
    "plait/transform/sizes_between.h",
    "plait/transform/staged.h",
    "plait/transform/staged_branch.h",
    "plait/transform/staged_custom.h",
    "plait/transform/staged_host.h",
    "plait/transform/staged_recursion.h",
    "plait/transform/staged_remat.h",
    "plait/transform/staged_scan.h",
    "plait/transform/staged_while.h",
    "plait/transform/sweep.h",
    "plait/transform/taped.h",
    "plait/transform/tensor_lists.h",
    "plait/transform/unrolled_scan.h",
    "plait/transform/varying.h",
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
