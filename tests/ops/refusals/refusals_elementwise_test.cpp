// Refusals of elementwise.h, complex.h and assign.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/assign.h"
#include "plait/ops/elementwise/complex.h"

#include "refusals.h"

namespace plait {
namespace {

// Functions of the table have their rows there, unless they are called otherwise than the
// primitive.
void add_unary(Refusals& rows) {
  for (const auto& [name, f] :
       Unaries{{"isnan", isnan}, {"isinf", isinf}, {"isfinite", isfinite}}) {
    refuse_operands(rows, name, f, kNumbers);
  }
  for (const auto& [name, f] : Unaries{
           {"negative", negative}, {"absolute", absolute}, {"sign", sign}, {"square", square}}) {
    rows.push_back({name, [f] { f(truths(2)); }, kType, {"bool[2]"}});
  }
}

void add_binary(Refusals& rows) {
  for (const auto& [name, f] : Binaries{{"logical_and", logical_and},
                                        {"logical_or", logical_or},
                                        {"logical_xor", logical_xor}}) {
    refuse_operands(rows, name, f, kNumbers);
  }
  for (const auto& [name, f] : Binaries{{"greater", greater}, {"greater_equal", greater_equal}}) {
    refuse_operands(rows, name, f, kReals);
  }
  for (const auto& [name, f] :
       Binaries{{"add", add}, {"subtract", subtract}, {"multiply", multiply}, {"power", power}}) {
    rows.push_back({name, [f] { f(truths(2), truths(2)); }, kType, {"bool[2]"}});
  }
}

void add_of_three(Refusals& rows) {
  const Refusals more = {
      {"where", [] { where(truths(2), f32(3), 0); }, kShape, {"bool[2]", "f32[3]"}},
      {"where", [] { where(truths(2), keys(2), f32(2)); }, kType, {"key[2]", "f32[2]"}},
      {"where", [] { where(keys(2), f32(2), 0); }, kType, {"key[2]"}},
      {"where", [] { where(Tensor(), f32(2), 0); }, kValue, {"never given"}},
      {"clip", [] { clip(f32(2), f32(3), 0); }, kShape, {"f32[2]", "f32[3]"}},
      {"clip", [] { clip(c64(2), 0, 1); }, kType, {"c64[2]"}},
      {"clip", [] { clip(keys(2), 0, 1); }, kType, {"key[2]"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

// Errors name "add" and so on: an operator is another name of a function.
void add_operators(Refusals& rows) {
  const Refusals more = {
      {"operator-", [] { -truths(2); }, kType, {"negative", "bool[2]"}},
      {"operator~", [] { ~f32(2); }, kType, {"bitwise_not", "f32[2]"}},
      {"operator+", [] { f32(2) + f32(3); }, kShape, {"add", "f32[2]", "f32[3]"}},
      {"operator-", [] { f32(2) - f32(3); }, kShape, {"subtract", "f32[2]", "f32[3]"}},
      {"operator*", [] { f32(2) * f32(3); }, kShape, {"multiply", "f32[2]", "f32[3]"}},
      {"operator/", [] { f32(2) / f32(3); }, kShape, {"divide", "f32[2]", "f32[3]"}},
      {"operator+", [] { 1 + keys(2); }, kType, {"add", "key[2]"}},
      {"operator-", [] { 1 - keys(2); }, kType, {"subtract", "key[2]"}},
      {"operator*", [] { 1 * keys(2); }, kType, {"multiply", "key[2]"}},
      {"operator/", [] { 1 / keys(2); }, kType, {"divide", "key[2]"}},
      {"operator&", [] { f32(2) & 1; }, kType, {"bitwise_and", "f32[2]"}},
      {"operator|", [] { f32(2) | 1; }, kType, {"bitwise_or", "f32[2]"}},
      {"operator^", [] { f32(2) ^ 1; }, kType, {"bitwise_xor", "f32[2]"}},
      {"operator==",
       [] { static_cast<void>(f32(2) == f32(3)); },
       kShape,
       {"equal", "f32[2]", "f32[3]"}},
      {"operator!=",
       [] { static_cast<void>(f32(2) != f32(3)); },
       kShape,
       {"not_equal", "f32[2]", "f32[3]"}},
      {"operator<", [] { static_cast<void>(c64(2) < 1); }, kType, {"less", "c64[2]"}},
      {"operator<=", [] { static_cast<void>(c64(2) <= 1); }, kType, {"less_equal", "c64[2]"}},
      {"operator>", [] { static_cast<void>(c64(2) > 1); }, kType, {"greater", "c64[2]"}},
      {"operator>=", [] { static_cast<void>(c64(2) >= 1); }, kType, {"greater_equal", "c64[2]"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

// The target of an assignment keeps its value.
void refuse_to_change(Tensor x, const std::function<void(Tensor&)>& change) {
  const std::string before = x ? x.text() : "";
  try {
    change(x);
  } catch (...) {
    EXPECT_EQ(x.text(), before);
    throw;
  }
}

template <class Change>
void add_assignment(Refusals& rows, const char* sign, const Tensor& x, Change change) {
  const std::string name = fmt::format("operator{}", sign);
  const auto refuse = [&](const Tensor& y, ErrorKind kind, std::vector<std::string> words) {
    words.emplace_back(sign);
    rows.push_back(
        {name,
         [x, y, change] { refuse_to_change(x, [&](Tensor& changed) { change(changed, y); }); },
         kind, words});
  };
  const std::string type = x.type().text();
  refuse(astype(counted(DType::i64, {3}), x.dtype()), kShape, {type, "[3]"});
  refuse(counted(x.dtype(), {4, 2}), kShape, {type, "[4, 2]"});
  refuse(c64(2), kType, {type, "c64[2]"});
  refuse(keys(2), kType, {type, "key[2]"});
  refuse(Tensor(), kValue, {"never given"});
}

void add_assignments(Refusals& rows) {
  const Tensor x = f32(2), whole = i64(2);
  add_assignment(rows, "+=", x, [](Tensor& a, const Tensor& b) { a += b; });
  add_assignment(rows, "-=", x, [](Tensor& a, const Tensor& b) { a -= b; });
  add_assignment(rows, "*=", x, [](Tensor& a, const Tensor& b) { a *= b; });
  add_assignment(rows, "/=", x, [](Tensor& a, const Tensor& b) { a /= b; });
  add_assignment(rows, "&=", whole, [](Tensor& a, const Tensor& b) { a &= b; });
  add_assignment(rows, "|=", whole, [](Tensor& a, const Tensor& b) { a |= b; });
  add_assignment(rows, "^=", whole, [](Tensor& a, const Tensor& b) { a ^= b; });
  const Refusals more = {
      {"operator/=",
       [] { refuse_to_change(i64(2), [](Tensor& y) { y /= 2; }); },
       kType,
       {"i64[2]"}},
      {"operator&=",
       [] { refuse_to_change(f32(2), [](Tensor& y) { y &= 2; }); },
       kType,
       {"f32[2]"}},
      {"operator+=",
       [] { refuse_to_change(i64(2), [](Tensor& y) { y += .5; }); },
       kType,
       {"i64[2]"}},
      {"operator+=", [] { refuse_to_change(truths(2), [](Tensor& y) { y += true; }); }, kType},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

void add_complex(Refusals& rows) {
  const Refusals more = {
      {"imag", [] { imag(keys(2)); }, kType, {"key[2]"}},
      {"angle", [] { angle(keys(2)); }, kType, {"key[2]"}},
      {"real", [] { real(keys(2)); }, kType, {"key[2]"}},
      {"conj", [] { conj(keys(2)); }, kType, {"key[2]"}},
      {"real", [] { real(Tensor()); }, kValue, {"never given"}},
      {"make_complex", [] { make_complex(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"make_complex", [] { make_complex(c64(2), f32(2)); }, kType, {"c64[2]", "f32[2]"}},
      {"make_complex", [] { make_complex(f32(2), c64(2)); }, kType, {"f32[2]", "c64[2]"}},
      {"make_complex", [] { make_complex(keys(2), keys(2)); }, kType, {"key[2]"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_elementwise() {
  Refusals rows;
  add_unary(rows);
  add_binary(rows);
  add_of_three(rows);
  add_operators(rows);
  add_assignments(rows);
  add_complex(rows);
  return rows;
}

TEST(Refusals, OfTheTable) {
  const Refusals rows = refusals_of_table();
  EXPECT_GT(rows.size(), 300U);
  expect_refused(rows);
}

TEST(Refusals, Elementwise) { expect_refused(refusals_of_elementwise()); }

}  // namespace plait
