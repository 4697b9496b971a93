#include "refusals.h"

#include <optional>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/tracing/trace.h"

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
