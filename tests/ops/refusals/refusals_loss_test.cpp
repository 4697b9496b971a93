// Refusals of loss.h.
#include <cmath>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "plait/ops/neural/loss.h"

#include "refusals.h"

namespace plait {
namespace {

using OfTwo = std::function<void(const Tensor& x, const Tensor& target)>;

// Elementwise functions of x and a real target.
const std::vector<Named<OfTwo>> kOfTwo = {
    {"binary_cross_entropy", [](const Tensor& x, const Tensor& t) { binary_cross_entropy(x, t); }},
    {"binary_cross_entropy_with_logits",
     [](const Tensor& x, const Tensor& t) { binary_cross_entropy_with_logits(x, t); }},
    {"focal_loss", [](const Tensor& x, const Tensor& t) { focal_loss(x, t); }},
    {"multilabel_soft_margin_loss",
     [](const Tensor& x, const Tensor& t) { multilabel_soft_margin_loss(x, t); }},
    {"mse_loss", [](const Tensor& x, const Tensor& t) { mse_loss(x, t); }},
    {"l1_loss", [](const Tensor& x, const Tensor& t) { l1_loss(x, t); }},
    {"smooth_l1_loss", [](const Tensor& x, const Tensor& t) { smooth_l1_loss(x, t); }},
    {"huber_loss", [](const Tensor& x, const Tensor& t) { huber_loss(x, t); }},
    {"kl_div_loss", [](const Tensor& x, const Tensor& t) { kl_div_loss(x, t); }},
    {"gaussian_nll_loss", [](const Tensor& x, const Tensor& t) { gaussian_nll_loss(x, t, x); }},
    {"poisson_nll_loss", [](const Tensor& x, const Tensor& t) { poisson_nll_loss(x, t); }},
    {"soft_margin_loss", [](const Tensor& x, const Tensor& t) { soft_margin_loss(x, t); }},
    {"hinge_embedding_loss", [](const Tensor& x, const Tensor& t) { hinge_embedding_loss(x, t); }},
    {"margin_ranking_loss", [](const Tensor& x, const Tensor& t) { margin_ranking_loss(x, x, t); }},
    {"cosine_similarity", [](const Tensor& x, const Tensor& t) { cosine_similarity(x, t, 0); }},
    {"pairwise_distance", [](const Tensor& x, const Tensor& t) { pairwise_distance(x, t); }},
    {"triplet_margin_loss", [](const Tensor& x, const Tensor& t) { triplet_margin_loss(x, t, x); }},
};

void add_of_two(Refusals& rows) {
  for (const auto& [name, f] : kOfTwo) {
    rows.push_back({name, [f] { f(c64(3), f32(3)); }, kType, {"c64[3]"}});
    rows.push_back({name, [f] { f(f32(3), keys(3)); }, kType, {"key[3]"}});
    rows.push_back({name, [f] { f(f32(3), f32(2)); }, kShape, {"f32[3]", "f32[2]"}});
    rows.push_back({name, [f] { f(Tensor(), f32(3)); }, kValue, {"never given"}});
    rows.push_back({name, [f] { f(f32(3), Tensor()); }, kValue, {"never given"}});
  }
}

// One of the two is a column by mistake: each would be repeated.
void add_of_pairs(Refusals& rows) {
  for (const auto& [name, f] : kOfTwo) {
    static const std::set<std::string_view> kOthers = {"margin_ranking_loss", "cosine_similarity",
                                                       "pairwise_distance", "triplet_margin_loss"};
    if (kOthers.contains(name)) continue;
    rows.push_back(
        {name, [f] { f(f32(4, 1), f32(4)); }, kShape, {"f32[4, 1]", "f32[4]", "[4, 4]"}});
  }
}

using OfClasses = std::function<void(const Tensor& x, const Tensor& target)>;
const std::vector<Named<OfClasses>> kOfClasses = {
    {"cross_entropy", [](const Tensor& x, const Tensor& t) { cross_entropy(x, t); }},
    {"nll_loss", [](const Tensor& x, const Tensor& t) { nll_loss(x, t); }},
    {"multi_margin_loss", [](const Tensor& x, const Tensor& t) { multi_margin_loss(x, t); }},
};

void add_of_classes(Refusals& rows) {
  for (const auto& [name, f] : kOfClasses) {
    rows.push_back({name, [f] { f(f32(), i64()); }, kShape, {"f32[]"}});
    rows.push_back({name, [f] { f(c64(2, 3), i64(2)); }, kType, {"c64[2, 3]"}});
    rows.push_back({name, [f] { f(keys(2, 3), i64(2)); }, kType, {"key[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), truths(2)); }, kType, {"bool[2]"}});
    rows.push_back({name, [f] { f(f32(2, 3), i64(3)); }, kShape, {"i64[3]", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), i64(2, 1)); }, kShape, {"i64[2, 1]", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), places({0, 3})); }, kIndex, {"3", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), places({-1, 0})); }, kIndex, {"f32[2, 3]"}});
    rows.push_back({name, [f] { f(Tensor(), i64(2)); }, kValue, {"never given"}});
    rows.push_back({name, [f] { f(f32(2, 3), Tensor()); }, kValue, {"never given"}});
  }
}

void add_ctc(Refusals& rows) {
  const auto loss = [](const Tensor& logs, const Tensor& targets, const Tensor& steps,
                       const Tensor& lengths, const CtcOptions& options = {}) {
    return [=] { ctc_loss(logs, targets, steps, lengths, options); };
  };
  const Tensor logs = f32(4, 2, 3), targets = places({1, 2, 2, 1}), two = places({4, 4});
  const Tensor rows_of_two = reshape(targets, {2, 2}), lengths = places({2, 2});
  const Refusals more = {
      {"ctc_loss", loss(f32(4), targets, two, lengths), kShape, {"f32[4]", "i64[4]"}},
      {"ctc_loss", loss(logs, i64(3, 2), two, lengths), kShape, {"i64[3, 2]", "f32[4, 2, 3]"}},
      {"ctc_loss", loss(c64(4, 2, 3), rows_of_two, two, lengths), kType, {"c64[4, 2, 3]"}},
      {"ctc_loss", loss(logs, f32(2, 2), two, lengths), kType, {"f32[2, 2]"}},
      {"ctc_loss", loss(logs, rows_of_two, f32(2), lengths), kType, {"f32[2]"}},
      {"ctc_loss", loss(logs, rows_of_two, two, f32(2)), kType, {"f32[2]"}},
      {"ctc_loss", loss(logs, rows_of_two, i64(3), lengths), kShape, {"input_lengths", "[3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two, i64(3)), kShape, {"target_lengths", "[3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two, lengths, {.blank = 3}), kIndex, {"blank 3"}},
      {"ctc_loss", loss(logs, rows_of_two, two, lengths, {.blank = -1}), kIndex, {"blank -1"}},
      {"ctc_loss", loss(logs, rows_of_two + 1, two, lengths), kIndex, {"3", "f32[4, 2, 3]"}},
      {"ctc_loss", loss(logs, rows_of_two - 3, two, lengths), kIndex, {"f32[4, 2, 3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two + 1, lengths), kIndex, {"4", "f32[4, 2, 3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two - 5, lengths), kIndex, {"f32[4, 2, 3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two, lengths + 1), kIndex, {"f32[4, 2, 3]"}},
      {"ctc_loss", loss(logs, rows_of_two, two, lengths - 3), kIndex, {"f32[4, 2, 3]"}},
      {"ctc_loss", loss(Tensor(), rows_of_two, two, lengths), kValue, {"never given"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_loss() {
  const Tensor x = f32(2, 3), y = places({0, 2});
  Refusals rows = {
      {"pdist", [] { pdist(f32(3)); }, kShape, {"f32[3]"}},
      {"pdist", [] { pdist(f32(3, 2), -1); }, kValue, {"p", "-1", "f32[3, 2]"}},
      {"pdist", [] { pdist(f32(3, 2), NAN); }, kValue, {"p", "f32[3, 2]"}},
      {"pdist", [] { pdist(c64(3, 2)); }, kType, {"c64[3, 2]"}},
      {"pdist", [] { pdist(keys(3, 2)); }, kType, {"key[3, 2]"}},
      {"pdist", [] { pdist(Tensor()); }, kValue, {"never given"}},
      {"cross_entropy", [x] { cross_entropy(x, f32(2, 2)); }, kShape, {"f32[2, 2]", "f32[2, 3]"}},
      {"cross_entropy", [x, y] { cross_entropy(x, y, {.axis = 2}); }, kIndex, {"axis 2"}},
      {"cross_entropy", [x, y] { cross_entropy(x, y, {.weight = f32(2)}); }, kShape, {"f32[2]"}},
      {"cross_entropy", [x, y] { cross_entropy(x, y, {.weight = c64(3)}); }, kType, {"c64[3]"}},
      {"cross_entropy",
       [x, y] { cross_entropy(x, y, {.label_smoothing = NAN}); },
       kValue,
       {"smoothing", "nan"}},
      {"cross_entropy",
       [x, y] { cross_entropy(x, y, {.label_smoothing = 1.5}); },
       kValue,
       {"smoothing", "1.5"}},
      {"cross_entropy",
       [] { cross_entropy(f32(3), i64(), {.reduction = Reduction::batchmean}); },
       kShape,
       {"batch"}},
      {"nll_loss", [x, y] { nll_loss(x, y, {.axis = -3}); }, kIndex, {"axis -3"}},
      {"nll_loss", [x, y] { nll_loss(x, y, {.weight = f32(3, 1)}); }, kShape, {"f32[3, 1]"}},
      {"nll_loss", [x] { nll_loss(x, x); }, kType, {"f32[2, 3]", "integers"}},
      {"multi_margin_loss", [x, y] { multi_margin_loss(x, y, {.p = 3}); }, kValue, {"p is 3"}},
      {"multi_margin_loss",
       [x, y] { multi_margin_loss(x, y, {.margin = NAN}); },
       kValue,
       {"margin", "f32[2, 3]"}},
      {"multi_margin_loss",
       [x, y] { multi_margin_loss(x, y, {.weight = f32(2)}); },
       kShape,
       {"f32[2]"}},
      {"multilabel_margin_loss", [] { multilabel_margin_loss(f32(), i64()); }, kShape, {"f32[]"}},
      {"multilabel_margin_loss", [x] { multilabel_margin_loss(x, x); }, kType, {"integers"}},
      {"multilabel_margin_loss",
       [x] { multilabel_margin_loss(x, i64(2, 2)); },
       kShape,
       {"i64[2, 2]"}},
      {"multilabel_margin_loss",
       [x] { multilabel_margin_loss(x, i64(2, 3)); },
       kIndex,
       {"f32[2, 3]"}},
      {"multilabel_margin_loss",
       [] { multilabel_margin_loss(c64(2, 3), i64(2, 3)); },
       kType,
       {"c64[2, 3]"}},
      {"multilabel_soft_margin_loss",
       [] { multilabel_soft_margin_loss(f32(), f32()); },
       kShape,
       {"f32[]"}},
      {"binary_cross_entropy",
       [x] { binary_cross_entropy(x, x, {.weight = c64(3)}); },
       kType,
       {"c64[3]"}},
      {"binary_cross_entropy_with_logits",
       [x] { binary_cross_entropy_with_logits(x, x, {.pos_weight = keys(3)}); },
       kType,
       {"key[3]"}},
      {"focal_loss", [x] { focal_loss(x, x, {.gamma = -1}); }, kValue, {"gamma", "-1"}},
      {"focal_loss", [x] { focal_loss(x, x, {.alpha = NAN}); }, kValue, {"alpha", "nan"}},
      {"smooth_l1_loss", [x] { smooth_l1_loss(x, x, -1); }, kValue, {"beta", "-1"}},
      {"huber_loss", [x] { huber_loss(x, x, 0); }, kValue, {"delta", "0"}},
      {"huber_loss", [x] { huber_loss(x, x, NAN); }, kValue, {"delta", "nan"}},
      {"gaussian_nll_loss", [x] { gaussian_nll_loss(x, x, x, {.eps = 0}); }, kValue, {"eps", "0"}},
      {"gaussian_nll_loss", [x] { gaussian_nll_loss(x, x, c64(3)); }, kType, {"c64[3]"}},
      {"poisson_nll_loss", [x] { poisson_nll_loss(x, x, {.eps = -1}); }, kValue, {"eps", "-1"}},
      {"hinge_embedding_loss", [x] { hinge_embedding_loss(x, x, NAN); }, kValue, {"margin"}},
      {"margin_ranking_loss", [x] { margin_ranking_loss(x, x, x, NAN); }, kValue, {"margin"}},
      {"cosine_embedding_loss",
       [x, y] { cosine_embedding_loss(x, x, y, NAN); },
       kValue,
       {"margin"}},
      {"cosine_embedding_loss",
       [] { cosine_embedding_loss(f32(), f32(), f32()); },
       kShape,
       {"f32[]"}},
      {"cosine_embedding_loss",
       [x] { cosine_embedding_loss(x, c64(3), f32(2)); },
       kType,
       {"c64[3]"}},
      {"cosine_embedding_loss",
       [x] { cosine_embedding_loss(x, x, f32(3)); },
       kShape,
       {"[3]", "[2]"}},
      {"cosine_similarity", [x] { cosine_similarity(x, x, 2); }, kIndex, {"axis 2"}},
      {"cosine_similarity", [x] { cosine_similarity(x, x, 1, -1); }, kValue, {"eps"}},
      {"pairwise_distance", [x] { pairwise_distance(x, x, NAN); }, kValue, {"p is", "f32[2, 3]"}},
      {"pairwise_distance", [x] { pairwise_distance(x, x, 2, NAN); }, kValue, {"eps"}},
      {"pairwise_distance", [] { pairwise_distance(f32(), f32()); }, kShape, {"f32[]"}},
      {"triplet_margin_loss",
       [x] { triplet_margin_loss(x, x, x, {.margin = NAN}); },
       kValue,
       {"margin"}},
      {"triplet_margin_loss", [x] { triplet_margin_loss(x, x, x, {.p = NAN}); }, kValue, {"p"}},
      {"triplet_margin_loss", [] { triplet_margin_loss(f32(), f32(), f32()); }, kShape, {"f32[]"}},
      {"triplet_margin_loss", [x] { triplet_margin_loss(x, x, c64(3)); }, kType, {"c64[3]"}},
  };
  add_of_two(rows);
  add_of_pairs(rows);
  add_of_classes(rows);
  add_ctc(rows);
  return rows;
}

TEST(Refusals, Loss) { expect_refused(refusals_of_loss()); }

}  // namespace plait
