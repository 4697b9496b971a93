#include "refusals.h"

#include <optional>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/random/random.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

// "solve" for "linalg::solve".
std::string own_name(const std::string& function) {
  const size_t colons = function.rfind("::");
  return colons == std::string::npos ? function : function.substr(colons + 2);
}

// Errors of operators and members name the operation instead.
bool is_named(const Refusal& row) {
  return !row.function.starts_with("operator") && !row.function.starts_with("Tensor::") &&
         !row.function.starts_with("IndexedTensor::");
}

void expect_told(const Refusal& row, const Error& error) {
  const std::string& message = error.message();
  EXPECT_EQ(name_of(error.kind()), name_of(row.kind)) << message;
  const std::string name = own_name(row.function);
  if (is_named(row)) {
    EXPECT_TRUE(message.starts_with(name + ": ") || message.starts_with(name + " of "))
        << "does not begin with " << name << ": " << message;
  }
  for (const std::string& word : row.words) {
    EXPECT_NE(message.find(word), std::string::npos) << "lacks \"" << word << "\": " << message;
  }
  EXPECT_TRUE(error.location().known()) << "names no line of the user's: " << message;
}

// True if the call throws the expected error.
bool is_refused(const Refusal& row) {
  try {
    row.call();
    return false;
  } catch (const Error& error) {
    expect_told(row, error);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an error of Plait: " << error.what();
  }
  return true;
}

}  // namespace

Tensor counted(DType dtype, const Sizes& sizes) {
  const Shape shape = Shape::of_sizes(sizes);
  const Tensor numbers = reshape(arange(shape.element_count()) + 1, shape);
  return is_key(dtype) ? random::key(numbers) : astype(numbers, dtype);
}

Tensor places(std::initializer_list<int64_t> numbers) { return tensor<int64_t>(numbers); }

void refuse_operands(Refusals& rows, const std::string& name, UnaryFunction f, DTypeSet takes) {
  rows.push_back({name, [f] { f(keys(2)); }, kType, {"key[2]"}});
  rows.push_back({name, [f] { f(Tensor()); }, kValue, {"never given a value"}});
  if (takes.contains(DType::f32) && !takes.contains(DType::c64)) {
    rows.push_back({name, [f] { f(c64(2)); }, kType, {"c64[2]"}});
  }
  if (takes.contains(DType::i64) && !takes.contains(DType::f32)) {
    rows.push_back({name, [f] { f(f32(2)); }, kType, {"f32[2]"}});
    rows.push_back({name, [f] { f(c64(2)); }, kType, {"c64[2]"}});
  }
}

void refuse_operands(Refusals& rows, const std::string& name, BinaryFunction f, DTypeSet takes) {
  const bool takes_floats = takes.contains(DType::f32);
  const DType dtype = takes_floats ? DType::f32 : DType::i64;
  const std::string type(name_of(dtype));
  const Tensor x = counted(dtype, {2});
  const auto of_sizes = [&](const Sizes& a, DType other, const Sizes& b) {
    const Tensor first = counted(dtype, a), second = counted(other, b);
    rows.push_back({name,
                    [f, first, second] { f(first, second); },
                    kShape,
                    {first.type().text(), second.type().text()}});
  };
  of_sizes({2, 3}, dtype, {2, 2});
  of_sizes({3}, DType::i64, {4, 2});
  rows.push_back({name, [f, x] { f(keys(2), x); }, kType, {"key[2]", type + "[2]"}});
  rows.push_back({name, [f] { f(keys(2), keys(2)); }, kType, {"key[2]"}});
  rows.push_back({name, [f, x] { f(x, Tensor()); }, kValue, {type + "[2]", "never given"}});
  rows.push_back({name, [f, x] { f(Tensor(), x); }, kValue, {"never given"}});
  if (takes_floats && !takes.contains(DType::c64)) {
    rows.push_back({name, [f] { f(c64(2), f32(2)); }, kType, {"c64[2]", "f32[2]"}});
  }
  if (!takes_floats) {
    rows.push_back({name, [f] { f(f32(2), f32(2)); }, kType, {"f32[2]"}});
    rows.push_back({name, [f] { f(f32(2), i64(2)); }, kType, {"f32[2]", "i64[2]"}});
    rows.push_back({name, [f] { f(i64(2), 1.5); }, kType, {"i64[2]"}});
  }
}

Refusals refusals_of_table() {
  register_all();
  Refusals rows;
  for (const ir::Primitive* primitive : ir::primitives()) {
    const PublicFunction function = function_of(*primitive);
    if (const auto* f = std::get_if<UnaryFunction>(&function)) {
      refuse_operands(rows, primitive->name, *f, primitive->takes);
      if (!primitive->takes.contains(DType::f32) || primitive->takes.contains(DType::c64)) continue;
      rows.push_back(
          {primitive->name, [f = *f] { f(std::complex<double>(1, 2)); }, kType, {"c64[]"}});
    }
    if (const auto* f = std::get_if<BinaryFunction>(&function)) {
      refuse_operands(rows, primitive->name, *f, primitive->takes);
    }
  }
  return rows;
}

void expect_refused(const Refusals& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(fmt::format("row {}: {}", i, rows[i].function));
    EXPECT_TRUE(is_refused(rows[i])) << "was not refused";
    // Refusals that depend on numbers happen when the program runs.
    if (!rows[i].in_traces) continue;
    SCOPED_TRACE("within a trace");
    Trace recording("f");
    is_refused(rows[i]);
  }
}

}  // namespace plait
