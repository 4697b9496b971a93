#include "plait/ops/inside/linalg/linalg_primitives.h"

#include <algorithm>
#include <array>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/linalg/linalg_routines.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

constexpr DTypeSet kMatrixDTypes =
    DTypeSet(DType::f32) | DTypeSet(DType::f64) | DTypeSet(DType::c64) | DTypeSet(DType::c128);

// The type of an operand that is a stack of matrices.
struct MatricesType {
  ir::Type type;
  Dim rows, columns;

  MatricesType(const ir::Inference& in, size_t operand)
      : type(in.operands[operand].without_sharding()), rows(0), columns(0) {
    in.expect_array(operand, in.primitive.takes);
    if (type.rank() < 2) {
      throw ShapeError("{}: expected matrices, not {}", in.primitive.name, type.text())
          .at(in.location);
    }
    rows = type.shape().at(-2);
    columns = type.shape().at(-1);
  }

  Dim least() const { return min(rows, columns); }
  // A type with the same batch dimensions and other last dimensions.
  ir::Type of(DType dtype, std::initializer_list<Dim> sizes) const {
    Shape shape(type.shape().dims().first(type.shape().rank() - 2));
    for (const Dim size : sizes) shape.append(size);
    return type.with_dtype(dtype).with_shape(shape);
  }
  ir::Type of(std::initializer_list<Dim> sizes) const { return of(type.dtype(), sizes); }
};

MatricesType square_operand(const ir::Inference& in) {
  MatricesType a(in, 0);
  if (same(a.rows, a.columns)) return a;
  throw ShapeError("{}: the matrices of {} are not square", in.primitive.name, a.type.text())
      .at(in.location);
}

void infer_square(ir::Inference& in) { in.give(square_operand(in).type); }

void infer_lu(ir::Inference& in) {
  const MatricesType a(in, 0);
  in.give(a.type);
  in.give(a.of(DType::i64, {a.rows}));
  in.give(a.of(DType::i64, {}));
}

void infer_solve(ir::Inference& in) {
  const MatricesType a = square_operand(in), b(in, 1);
  if (a.type.dtype() != b.type.dtype()) {
    in.fail("expected operands of one dtype, not {} and {}", a.type.text(), b.type.text());
  }
  if (a.of({a.rows, b.columns}) != b.type) {
    throw ShapeError("{}: the sizes of {} and {} do not match", in.primitive.name, a.type.text(),
                     b.type.text())
        .at(in.location);
  }
  in.give(b.type);
}

void infer_qr(ir::Inference& in) {
  const MatricesType a(in, 0);
  const Dim inner = in.attributes_as<QrAttributes>().complete ? a.rows : a.least();
  in.give(a.of({a.rows, inner}));
  in.give(a.of({inner, a.columns}));
}

void infer_eigh(ir::Inference& in) {
  const MatricesType a = square_operand(in);
  in.give(a.of(real_dtype(a.type.dtype()), {a.rows}));
  in.give(a.type);
}

void infer_svd(ir::Inference& in) {
  const MatricesType a(in, 0);
  const bool full = in.attributes_as<SvdAttributes>().full;
  in.give(a.of({a.rows, full ? a.rows : a.least()}));
  in.give(a.of(real_dtype(a.type.dtype()), {a.least()}));
  in.give(a.of({full ? a.columns : a.least(), a.columns}));
}

void infer_pinv(ir::Inference& in) {
  const MatricesType a(in, 0);
  const double tolerance = in.attributes_as<PinvAttributes>().tolerance;
  if (!(tolerance >= 0)) in.fail("the tolerance is {}, expected 0 or more", tolerance);
  in.give(a.of({a.columns, a.rows}));
}

void infer_eig(ir::Inference& in) {
  const MatricesType a = square_operand(in);
  const bool is_single = real_dtype(a.type.dtype()) == DType::f32;
  const DType dtype = is_single ? DType::c64 : DType::c128;
  in.give(a.of(dtype, {a.rows}));
  in.give(a.of(dtype, {a.rows, a.rows}));
}

void infer_schur(ir::Inference& in) {
  const MatricesType a = square_operand(in);
  in.give(a.type);
  in.give(a.type);
}

void infer_determinant(ir::Inference& in) { in.give(square_operand(in).of({})); }

void infer_two_alike(ir::Inference& in) {
  const MatricesType a(in, 0), b(in, 1);
  if (a.type != b.type) {
    throw ShapeError("{}: {} and {} differ", in.primitive.name, a.type.text(), b.type.text())
        .at(in.location);
  }
  in.give(a.type);
}

void infer_expm_derivative(ir::Inference& in) {
  square_operand(in);
  infer_two_alike(in);
}

struct Factorisation {
  const char* name;
  const char* summary;
  const char* oracle;
  void (*infer)(ir::Inference&);
  void (*evaluator)(KernelCall&, const void*);
  Rules rules;
  const ir::AttributeSchema* attributes = nullptr;
  uint32_t operands = 1;
  bool may_fail = true;
};

ir::Effects effects_that_may_fail(const ir::Instruction&) { return {.may_fail = true}; }

const ir::Primitive& factorisation(Factorisation declared) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .attributes = declared.attributes,
                                .operands = ir::exactly(declared.operands),
                                .takes = kMatrixDTypes,
                                .infer = declared.infer,
                                .effects = declared.may_fail ? effects_that_may_fail : nullptr},
                  .rules = std::move(declared.rules),
                  .evaluator = declared.evaluator});
}

// If all tangents are zero, so are those of the results.
template <TangentsRule rule, size_t results>
std::vector<Tensor> unless_zero(const RuleContext& context, std::span<const Tensor> tangents) {
  const bool is_zero = std::ranges::none_of(tangents, [](const Tensor& t) { return bool(t); });
  return is_zero ? std::vector<Tensor>(results) : rule(context, tangents);
}

// Without a rule the factors would count as constants.
std::vector<Tensor> refuse_schur_tangents(const RuleContext& c, std::span<const Tensor>) {
  throw ValueError(
      "schur: {} has no derivative: the factors are not unique, and their order is not continuous",
      c.operand_types[0].text())
      .at(Location::of_caller())
      .hint("eigh and eig have derivatives");
}

using BatchedOperands = std::span<const Tensor>;
using Lanes = std::vector<bool>;

}  // namespace

// An additional batch dimension is an additional dimension of the stack.
const LinalgPrimitives& linalg_primitives() {
  static const LinalgPrimitives table{
      .cholesky = factorisation(
          {"cholesky",
           "The lower triangular L with A = L Lᴴ; reads the lower triangle of A.",
           "numpy.linalg.cholesky",
           infer_square,
           cholesky_now,
           {.tangents = {Reads::result(), unless_zero<cholesky_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().cholesky, operands);
            }}}}),
      .lu = factorisation(
          {"lu",
           "P A = L U: both triangles in one matrix (L's diagonal is 1), the permutation of the "
           "rows, and its sign.",
           "P A = L U, the shape of both, and numpy.linalg.det of the permutation",
           infer_lu,
           lu_now,
           {.tangents = {Reads::result(0) | Reads::result(1), unless_zero<lu_tangents, 3>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().lu, operands);
            }}}}),
      .triangular_solve = factorisation(
          {"triangular_solve",
           "A⁻¹ B for triangular A, whose other triangle is not read.",
           "numpy.linalg.solve",
           infer_solve,
           triangular_solve_now,
           {.transposes = {{}, {Reads::operand(0), transpose_triangular_solve}},
            .tangents = {Reads::operand(0) | Reads::result(),
                         unless_zero<triangular_solve_tangents, 1>},
            .batching = {[](const ir::Attributes& a, BatchedOperands operands, const Lanes& lanes) {
              return apply_all(linalg_primitives().triangular_solve, all_batched(operands, lanes),
                               a);
            }}},
           &ir::schema_of<TriangularAttributes>(),
           2}),
      .solve = factorisation(
          {"solve",
           "A⁻¹ B.",
           "numpy.linalg.solve",
           infer_solve,
           solve_now,
           {.transposes = {{}, {Reads::operand(0), transpose_solve}},
            .tangents = {Reads::operand(0) | Reads::result(), unless_zero<solve_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes& lanes) {
              return apply_all(linalg_primitives().solve, all_batched(operands, lanes));
            }}},
           nullptr,
           2}),
      .qr = factorisation(
          {"qr",
           "A = Q R: orthonormal columns, and an upper triangle.",
           "A = Q R, Qᴴ Q = 1, and the shape of R",
           infer_qr,
           qr_now,
           {.tangents = {Reads::result(0) | Reads::result(1), unless_zero<qr_tangents, 2>},
            .batching = {[](const ir::Attributes& a, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().qr, operands, a);
            }}},
           &ir::schema_of<QrAttributes>()}),
      .eigh = factorisation(
          {"eigh",
           "The eigenvalues in ascending order, and the eigenvectors as columns, of a Hermitian "
           "matrix; reads its lower triangle.",
           "A V = V λ, Vᴴ V = 1 and numpy.linalg.eigvalsh",
           infer_eigh,
           eigh_now,
           {.tangents = {Reads::result(0) | Reads::result(1), unless_zero<eigh_tangents, 2>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().eigh, operands);
            }}}}),
      .svd = factorisation(
          {"svd",
           "A = U S Vᴴ, with the singular values in descending order.",
           "A = U S Vᴴ, Uᴴ U = 1 and numpy.linalg.svd",
           infer_svd,
           svd_now,
           {.tangents = {Reads::operand(0) | Reads::result(0) | Reads::result(1) | Reads::result(2),
                         unless_zero<svd_tangents, 3>},
            .batching = {[](const ir::Attributes& a, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().svd, operands, a);
            }}},
           &ir::schema_of<SvdAttributes>()}),
      .pinv = factorisation(
          {"pinv",
           "The Moore-Penrose pseudo-inverse.",
           "numpy.linalg.pinv",
           infer_pinv,
           pinv_now,
           {.tangents = {Reads::operand(0) | Reads::result(), unless_zero<pinv_tangents, 1>},
            .batching = {[](const ir::Attributes& a, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().pinv, operands, a);
            }}},
           &ir::schema_of<PinvAttributes>()}),
      .eig = factorisation(
          {"eig",
           "The eigenvalues of a square matrix, and its eigenvectors as columns.",
           "A V = V λ and numpy.linalg.eigvals",
           infer_eig,
           eig_now,
           {.tangents = {Reads::result(0) | Reads::result(1), unless_zero<eig_tangents, 2>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().eig, operands);
            }}}}),
      .schur = factorisation(
          {"schur",
           "A = Z T Zᴴ: an upper triangle T, for real numbers with 2 × 2 blocks on the diagonal, "
           "and a unitary Z.",
           "A = Z T Zᴴ, Zᴴ Z = 1, and the shape of T",
           infer_schur,
           schur_now,
           {.tangents = {Reads::nothing(), refuse_schur_tangents},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().schur, operands);
            }}}}),
      .determinant = factorisation(
          {"determinant",
           "det A.",
           "numpy.linalg.det",
           infer_determinant,
           determinant_now,
           {.tangents = {Reads::operand(0), unless_zero<determinant_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().determinant, operands);
            }}}}),
      .adjugate = factorisation(
          {"adjugate",
           "The transposed matrix of cofactors: det A · A⁻¹ if A has an inverse.",
           "numpy.linalg.det of submatrices of A",
           infer_square,
           adjugate_now,
           {.tangents = {Reads::operand(0), unless_zero<adjugate_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().adjugate, operands);
            }}}}),
      .expm = factorisation(
          {"expm",
           "e^A, the sum of A^k / k!.",
           "its series, in NumPy's longdouble",
           infer_square,
           expm_now,
           {.tangents = {Reads::operand(0), unless_zero<expm_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes&) {
              return apply_all(linalg_primitives().expm, operands);
            }}}}),
      .expm_derivative = factorisation(
          {"expm_derivative",
           "The derivative of e^(A + x E) with respect to x at x = 0.",
           "scipy.linalg.expm of a matrix of both",
           infer_expm_derivative,
           expm_now,
           {.transposes = {{}, {Reads::operand(0), transpose_expm_derivative}},
            .tangents = {Reads::operand(0) | Reads::operand(1),
                         unless_zero<expm_derivative_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes& lanes) {
              return apply_all(linalg_primitives().expm_derivative, all_batched(operands, lanes));
            }}},
           nullptr,
           2}),
      .quotient_or_zero = factorisation(
          {"quotient_or_zero",
           "X / D for each element; 0 where X is 0, and NaN where only D is.",
           "numpy.divide, and the zeros",
           infer_two_alike,
           quotient_or_zero_now,
           {.transposes = {{Reads::operand(1), transpose_quotient_or_zero}, {}},
            .tangents = {Reads::operand(0) | Reads::operand(1),
                         unless_zero<quotient_or_zero_tangents, 1>},
            .batching = {[](const ir::Attributes&, BatchedOperands operands, const Lanes& lanes) {
              return apply_all(linalg_primitives().quotient_or_zero, all_batched(operands, lanes));
            }}},
           nullptr,
           2,
           /*may_fail=*/false})};
  return table;
}

Tensor apply_triangular_solve(const Tensor& a, const Tensor& b, const TriangularAttributes& kind) {
  return apply(linalg_primitives().triangular_solve, {a, b}, ir::Attributes::of(kind));
}
Tensor apply_solve(const Tensor& a, const Tensor& b) {
  return apply(linalg_primitives().solve, {a, b});
}

void use_linalg_routines(const LinalgRoutines& routines) {
  const LinalgPrimitives& all = linalg_primitives();
  register_kernel(all.cholesky, {cholesky_now, &routines});
  register_kernel(all.lu, {lu_now, &routines});
  register_kernel(all.triangular_solve, {triangular_solve_now, &routines});
  register_kernel(all.solve, {solve_now, &routines});
  register_kernel(all.qr, {qr_now, &routines});
  register_kernel(all.eigh, {eigh_now, &routines});
  register_kernel(all.svd, {svd_now, &routines});
  register_kernel(all.pinv, {pinv_now, &routines});
  register_kernel(all.eig, {eig_now, &routines});
  register_kernel(all.schur, {schur_now, &routines});
  register_kernel(all.determinant, {determinant_now, &routines});
  register_kernel(all.adjugate, {adjugate_now, &routines});
  register_kernel(all.expm, {expm_now, &routines});
  register_kernel(all.expm_derivative, {expm_now, &routines});
  register_kernel(all.quotient_or_zero, {quotient_or_zero_now, &routines});
}

}  // namespace plait
