// Refusals of linear.h and products.h.
#include <gtest/gtest.h>

#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"

#include "refusals.h"

namespace plait {
namespace {

const std::vector<Named<std::function<void(const Tensor&, const Tensor&)>>> kProducts = {
    {"matmul", [](const Tensor& a, const Tensor& b) { matmul(a, b); }},
    {"outer", [](const Tensor& a, const Tensor& b) { outer(a, b); }},
    {"tensordot", [](const Tensor& a, const Tensor& b) { tensordot(a, b, 1); }},
    {"dot", [](const Tensor& a, const Tensor& b) { dot(a, b); }},
    {"inner", [](const Tensor& a, const Tensor& b) { inner(a, b); }},
    {"vecdot", [](const Tensor& a, const Tensor& b) { vecdot(a, b); }},
    {"einsum", [](const Tensor& a, const Tensor& b) { einsum("i,i", {a, b}); }},
};

}  // namespace

Refusals refusals_of_products() {
  using Numbers = std::vector<int64_t>;
  Refusals rows = {
      {"matmul", [] { matmul(f32(2, 3), f32(2, 3)); }, kShape, {"[2, 3]", "3 ≠ 2"}},
      {"matmul", [] { matmul(f32(2, 1, 3), f32(3, 3, 1)); }, kShape, {"[2, 1, 3]", "[3, 3, 1]"}},
      {"matmul", [] { matmul(f32(), f32(2)); }, kShape, {"f32[]", "f32[2]"}},
      {"einsum", [] { einsum("ij,jk->ik", {f32(2, 3)}); }, kValue, {"ij,jk->ik", "f32[2, 3]"}},
      {"einsum", [] { einsum("ij,jk", {f32(2, 3), f32(2, 3)}); }, kShape, {"f32[2, 3]"}},
      {"einsum", [] { einsum("ij", {f32(2)}); }, kShape, {"f32[2]", "operand 0"}},
      {"einsum", [] { einsum("i", {f32(2, 3)}); }, kShape, {"f32[2, 3]", "operand 0"}},
      {"einsum", [] { einsum("i->j", {f32(2)}); }, kValue, {"'j'", "i->j"}},
      {"einsum", [] { einsum("i->ii", {f32(2)}); }, kValue, {"'i'", "twice"}},
      {"einsum", [] { einsum("i?", {f32(2)}); }, kValue, {"'?'", "i?"}},
      {"einsum",
       [] { einsum("i->", std::span<const Tensor>()); },
       kValue,
       {"at least one operand"}},
      {"einsum", [] { einsum("ii", {f32(2, 3)}); }, kShape, {"f32[2, 3]"}},
      {"tensordot", [] { tensordot(f32(2, 3), f32(2, 3), 1); }, kShape, {"f32[2, 3]", "3 ≠ 2"}},
      {"tensordot", [] { tensordot(f32(2, 3), f32(2, 3), 3); }, kValue, {"3", "f32[2, 3]"}},
      {"tensordot", [] { tensordot(f32(2, 3), f32(2, 3), -1); }, kValue, {"-1", "f32[2, 3]"}},
      {"tensordot",
       [] { tensordot(f32(2, 3), f32(2), Numbers{0, 1}, Numbers{0}); },
       kValue,
       {"2 axes", "f32[2, 3]", "f32[2]"}},
      {"tensordot",
       [] { tensordot(f32(2, 3), f32(2), Numbers{2}, Numbers{0}); },
       kIndex,
       {"axis 2", "f32[2, 3]"}},
      {"tensordot",
       [] { tensordot(f32(2, 2), f32(2, 2), Numbers{0, -2}, Numbers{0, 1}); },
       kValue,
       {"twice", "f32[2, 2]"}},
      {"vecdot", [] { vecdot(f32(2), f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"vecdot", [] { vecdot(f32(2, 3), f32(4, 3)); }, kShape, {"f32[2, 3]", "f32[4, 3]"}},
      {"bmm", [] { bmm(f32(2, 3), f32(3, 2)); }, kShape, {"f32[2, 3]", "f32[3, 2]"}},
      {"bmm", [] { bmm(f32(2, 2, 2), f32(3, 2, 2)); }, kShape, {"f32[2, 2, 2]", "f32[3, 2, 2]"}},
      {"bmm", [] { bmm(f32(2, 2, 3), f32(2, 2, 3)); }, kShape, {"f32[2, 2, 3]"}},
      {"bmm", [] { bmm(keys(2, 2, 3), f32(2, 3, 2)); }, kType, {"key[2, 2, 3]"}},
      {"addmm", [] { addmm(f32(3), f32(2, 2), f32(2, 2)); }, kShape, {"f32[3]", "f32[2, 2]"}},
      {"addmm", [] { addmm(f32(1), f32(2, 3), f32(2, 3)); }, kShape, {"f32[1]", "f32[2, 3]"}},
      {"addmm", [] { addmm(f32(1), f32(2), f32(2, 2)); }, kShape, {"f32[2]", "f32[2, 2]"}},
      {"addmm", [] { addmm(f32(2, 2, 2), f32(2, 2), f32(2, 2)); }, kShape, {"f32[2, 2, 2]"}},
      {"addmm", [] { addmm(keys(2), f32(2, 2), f32(2, 2)); }, kType, {"key[2]"}},
      {"baddbmm", [] { baddbmm(f32(1), f32(2, 2), f32(2, 2)); }, kShape, {"f32[1]", "f32[2, 2]"}},
      {"baddbmm", [] { baddbmm(f32(3), f32(1, 2, 2), f32(1, 2, 2)); }, kShape, {"f32[3]"}},
      {"baddbmm", [] { baddbmm(keys(2), f32(1, 2, 2), f32(1, 2, 2)); }, kType, {"key[2]"}},
  };
  for (const auto& [name, f] : kProducts) {
    rows.push_back({name, [f] { f(keys(2), f32(2)); }, kType, {"key[2]", "f32[2]"}});
    rows.push_back({name, [f] { f(truths(2), truths(2)); }, kType, {"bool[2]"}});
    rows.push_back({name, [f] { f(f32(2), Tensor()); }, kValue, {"f32[2]", "never given"}});
    if (std::string_view(name) == "outer") continue;
    rows.push_back({name, [f] { f(f32(2), f32(3)); }, kShape, {"[2]", "[3]"}});
  }
  return rows;
}

TEST(Refusals, Products) { expect_refused(refusals_of_products()); }

}  // namespace plait
