#include "tests/support/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/ir/inference.h"

namespace plait::ir {

namespace {

using Reals = std::span<const double>;
using Integers = std::span<const int64_t>;

// Integers wrap around, as in arrays.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

int64_t divide_integers(Integers x) {
  if (x[1] == 0) throw ValueError("divide: {} by 0", x[0]);
  if (x[1] == -1) return wrapped(0 - bits(x[0]));
  return x[0] / x[1];
}

ScalarBody real_body(double (*real)(Reals)) { return {.real = real}; }
ScalarBody body(double (*real)(Reals), int64_t (*integer)(Integers)) {
  return {.real = real, .integer = integer};
}

void expect_arrays_alike(const Inference& in, size_t first) {
  const Type& wanted = in.operands[first];
  if (!wanted.is_array()) in.fail("takes arrays, not {}", wanted.text());
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const Type& given = in.operands[i];
    if (!given.is_array()) in.fail("takes arrays, not {}", given.text());
    if (i > first && given.dtype() != wanted.dtype()) {
      in.fail("operands of different dtypes: {} and {}", wanted.text(), given.text());
    }
    if (given.shape() != wanted.shape()) {
      throw ShapeError("{}: sizes differ: {} and {}", in.primitive.name, wanted.text(),
                       given.text())
          .at(in.location);
    }
  }
}

void infer_same(Inference& in) {
  expect_arrays_alike(in, 0);
  in.give(in.operands[0].without_sharding());
}

void infer_comparison(Inference& in) {
  expect_arrays_alike(in, 0);
  in.give(in.operands[0].without_sharding().with_dtype(DType::boolean));
}

void infer_select(Inference& in) {
  expect_arrays_alike(in, 1);
  if (!is_boolean(in.operands[0].dtype()))
    in.fail("chooses by a bool, not {}", in.operands[0].text());
  in.give(in.operands[1].without_sharding());
}

void infer_convert(Inference& in) {
  expect_arrays_alike(in, 0);
  in.give(
      in.operands[0].without_sharding().with_dtype(in.attributes_as<ConvertAttributes>().dtype));
}

const Type& expect_vector(const Inference& in, size_t i) {
  if (!in.operands[i].is_array() || in.operands[i].rank() != 1) {
    in.fail("takes a vector, not {}", in.operands[i].text());
  }
  return in.operands[i];
}

Type vector_of(const Type& like, Dim size) { return Type::array(like.dtype(), {size}); }

void infer_sum(Inference& in) {
  const Type& type = in.operands[0];
  if (!type.is_array() || type.rank() == 0)
    in.fail("takes an array of one dimension at least, not {}", type.text());
  std::vector<Dim> rest(type.shape().begin() + 1, type.shape().end());
  in.give(Type::array(type.dtype(), Shape(rest)));
}

void infer_iota(Inference& in) {
  in.give(Type::array(DType::i64, {in.attributes_as<IotaAttributes>().size}));
}

void infer_halve(Inference& in) {
  const Type& type = expect_vector(in, 0);
  Dim size = type.shape()[0], first = floor_div(size, 2);
  in.give(vector_of(type, in.attributes_as<HalveAttributes>().second ? size - first : first));
}

void infer_concat(Inference& in) {
  const Type &first = expect_vector(in, 0), &second = expect_vector(in, 1);
  if (first.dtype() != second.dtype()) {
    in.fail("operands of different dtypes: {} and {}", first.text(), second.text());
  }
  in.give(vector_of(first, first.shape()[0] + second.shape()[0]));
}

void infer_append(Inference& in) {
  const Type& vector = expect_vector(in, 0);
  if (!in.operands[1].is_array() || in.operands[1].rank() != 0 ||
      in.operands[1].dtype() != vector.dtype()) {
    in.fail("appends a {}[], not {}", name_of(vector.dtype()), in.operands[1].text());
  }
  in.give(vector_of(vector, vector.shape()[0] + 1));
}

void infer_take(Inference& in) {
  const Type& vector = expect_vector(in, 0);
  if (!in.operands[1].is_array() || in.operands[1].rank() != 0 ||
      !is_integer(in.operands[1].dtype())) {
    in.fail("the index is {}, expected an integer", in.operands[1].text());
  }
  in.give(Type::scalar(vector.dtype()));
}

void infer_nonzero(Inference& in) {
  const Type& type = expect_vector(in, 0);
  if (!type.varying().empty()) {
    in.fail("{} varies along {}, so the number of entries would", type.text(),
            type.varying().text());
  }
  in.give(Type::array(DType::i64, {in.new_size("k")}));
}

void infer_print(Inference& in) {
  if (!in.operands[0].is_array()) in.fail("prints arrays, not {}", in.operands[0].text());
}

void infer_tick(Inference& in) { in.give(Type::scalar(DType::i64)); }

void infer_all_reduce_sum(Inference& in) {
  const AxisSet& axes = in.attributes_as<AllReduceAttributes>().axes;
  const Type& type = in.operands[0];
  if (!type.is_array() || !type.varying().contains(axes)) {
    in.fail("{} does not vary along {}", type.text(), axes.text());
  }
  AxisSet rest = type.varying();
  for (const std::string& axis : axes) rest.erase(axis);
  in.give(type.without_sharding().with_varying(rest));
}

Effects observable(const Instruction&) { return {.observable = true}; }
Effects may_fail(const Instruction&) { return {.may_fail = true}; }
Effects fails_for_integers(const Instruction& instruction) {
  return {.may_fail = is_integer(instruction.operand_type(0).dtype())};
}
Effects collective(const Instruction& instruction) {
  return {.collective = instruction.attributes_as<AllReduceAttributes>().axes};
}

IndexSignature elementwise_signature(const Inference& in) {
  std::vector<int64_t> ranks;
  std::string text;
  for (const Type& operand : in.operands) {
    ranks.push_back(operand.rank());
    text += text.empty() ? "..." : ", ...";
  }
  return IndexSignature::parse(text + " -> ...", ranks);
}

IndexSignature sum_signature(const Inference& in) {
  int64_t rank = in.operands[0].rank();
  return IndexSignature::parse("i ... -> ... | sum", {&rank, 1});
}

Primitive elementwise(std::string name, std::string summary, uint32_t operands, ScalarBody body,
                      void (*infer)(Inference&) = infer_same) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .operands = exactly(operands),
          .infer = infer,
          .signature = elementwise_signature,
          .body = body};
}

double negate_real(Reals x) { return -x[0]; }
int64_t negate_integer(Integers x) { return wrapped(0 - bits(x[0])); }

std::vector<Primitive> arithmetic() {
  Primitive divide = elementwise("divide", "a / b; integers towards 0.", 2,
                                 body([](Reals x) { return x[0] / x[1]; }, divide_integers));
  divide.effects = fails_for_integers;
  return {
      elementwise("add", "a + b.", 2,
                  body([](Reals x) { return x[0] + x[1]; },
                       [](Integers x) { return wrapped(bits(x[0]) + bits(x[1])); })),
      elementwise("subtract", "a − b.", 2,
                  body([](Reals x) { return x[0] - x[1]; },
                       [](Integers x) { return wrapped(bits(x[0]) - bits(x[1])); })),
      elementwise("multiply", "a · b.", 2,
                  body([](Reals x) { return x[0] * x[1]; },
                       [](Integers x) { return wrapped(bits(x[0]) * bits(x[1])); })),
      std::move(divide),
      elementwise("maximum", "The greater one, or NaN if either is.", 2,
                  body([](Reals x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; },
                       [](Integers x) { return std::max(x[0], x[1]); })),
      elementwise("negate", "−a.", 1, body(negate_real, negate_integer)),
      elementwise("exp", "e to the power of a.", 1,
                  real_body([](Reals x) { return std::exp(x[0]); })),
      elementwise("log", "The natural logarithm.", 1,
                  real_body([](Reals x) { return std::log(x[0]); })),
      elementwise("sin", "The sine.", 1, real_body([](Reals x) { return std::sin(x[0]); })),
      elementwise("cos", "The cosine.", 1, real_body([](Reals x) { return std::cos(x[0]); })),
      elementwise("sqrt", "The square root.", 1,
                  real_body([](Reals x) { return std::sqrt(x[0]); })),
  };
}

std::vector<Primitive> choices() {
  return {
      elementwise("less", "Whether a < b.", 2,
                  body([](Reals x) { return x[0] < x[1] ? 1.0 : 0.0; },
                       [](Integers x) { return int64_t{x[0] < x[1]}; }),
                  infer_comparison),
      elementwise("equal", "Whether a = b.", 2,
                  body([](Reals x) { return x[0] == x[1] ? 1.0 : 0.0; },
                       [](Integers x) { return int64_t{x[0] == x[1]}; }),
                  infer_comparison),
      elementwise("select", "b where a is true, else c.", 3,
                  body([](Reals x) { return x[0] != 0 ? x[1] : x[2]; },
                       [](Integers x) { return x[0] != 0 ? x[1] : x[2]; }),
                  infer_select),
  };
}

std::vector<Primitive> vectors() {
  return {
      {.name = "convert",
       .summary = "The same numbers in another dtype.",
       .attributes = &schema_of<ConvertAttributes>(),
       .operands = exactly(1),
       .infer = infer_convert},
      {.name = "sum",
       .summary = "The sum over the first dimension.",
       .operands = exactly(1),
       .infer = infer_sum,
       .signature = sum_signature,
       .body = body([](Reals x) { return x[0]; }, [](Integers x) { return x[0]; })},
      {.name = "iota",
       .summary = "0, 1, 2, … up to a size.",
       .attributes = &schema_of<IotaAttributes>(),
       .infer = infer_iota},
      {.name = "halve",
       .summary = "One half of a vector.",
       .attributes = &schema_of<HalveAttributes>(),
       .operands = exactly(1),
       .infer = infer_halve},
      {.name = "concat",
       .summary = "One vector after another.",
       .operands = exactly(2),
       .infer = infer_concat},
      {.name = "append",
       .summary = "A vector and one more element.",
       .operands = exactly(2),
       .infer = infer_append},
      {.name = "take",
       .summary = "The element of a vector at an index.",
       .operands = exactly(2),
       .infer = infer_take,
       .effects = may_fail},
      {.name = "nonzero",
       .summary = "The indices where a vector is not 0.",
       .operands = exactly(1),
       .infer = infer_nonzero},
  };
}

std::vector<Primitive> effectful() {
  return {
      {.name = "print",
       .summary = "Prints a line.",
       .attributes = &schema_of<PrintAttributes>(),
       .operands = exactly(1),
       .infer = infer_print,
       .effects = observable},
      {.name = "tick",
       .summary = "How many ticks there were before.",
       .infer = infer_tick,
       .effects = observable},
      {.name = "all_reduce_sum",
       .summary = "The sum along named axes.",
       .attributes = &schema_of<AllReduceAttributes>(),
       .operands = exactly(1),
       .infer = infer_all_reduce_sum,
       .infers_axes = true,
       .effects = collective},
  };
}

bool register_all() {
  for (auto* family : {arithmetic, choices, vectors, effectful}) {
    for (Primitive& primitive : family()) {
      if (find_primitive(primitive.name) == nullptr) register_primitive(std::move(primitive));
    }
  }
  return true;
}

}  // namespace

void register_scalar_ops() { [[maybe_unused]] static const bool registered = register_all(); }

}  // namespace plait::ir
