// Refusals of normalization.h and attention.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/normalization.h"

#include "refusals.h"

namespace plait {
namespace {

using Norm = std::function<void(const Tensor& x, const Tensor& weight, double epsilon)>;
// Normalisations of x[2, 4, 3] over the last dimension, or its four channels.
const std::vector<Named<Norm>> kNorms = {
    {"layer_norm",
     [](const Tensor& x, const Tensor& w, double e) { layer_norm(x, {3}, w, {}, e); }},
    {"layer_norm",
     [](const Tensor& x, const Tensor& b, double e) { layer_norm(x, {3}, {}, b, e); }},
    {"rms_norm", [](const Tensor& x, const Tensor& w, double e) { rms_norm(x, {3}, w, e); }},
    {"group_norm", [](const Tensor& x, const Tensor& w, double e) { group_norm(x, 2, w, {}, e); }},
    {"group_norm", [](const Tensor& x, const Tensor& b, double e) { group_norm(x, 2, {}, b, e); }},
    {"instance_norm",
     [](const Tensor& x, const Tensor& w, double e) { instance_norm(x, w, {}, e); }},
    {"instance_norm",
     [](const Tensor& x, const Tensor& b, double e) { instance_norm(x, {}, b, e); }},
    {"batch_norm",
     [](const Tensor& x, const Tensor& w, double e) { batch_norm(x, {.weight = w, .eps = e}); }},
    {"batch_norm",
     [](const Tensor& x, const Tensor& b, double e) { batch_norm(x, {.bias = b, .eps = e}); }},
    {"batch_norm", [](const Tensor& x, const Tensor& m,
                      double e) { batch_norm(x, {.running_mean = m, .eps = e}); }},
    {"batch_norm", [](const Tensor& x, const Tensor& v,
                      double e) { batch_norm(x, {.running_var = v, .eps = e}); }},
};

void add_norms(Refusals& rows) {
  for (const auto& [name, f] : kNorms) {
    const Tensor x = f32(2, 4, 3);
    rows.push_back({name, [f] { f(f32(), {}, 0); }, kShape, {"f32[]"}});
    rows.push_back({name, [f] { f(c64(2, 4, 3), {}, 1); }, kType, {"c64[2, 4, 3]"}});
    rows.push_back({name, [f] { f(keys(2, 4, 3), {}, 1); }, kType, {"key[2, 4, 3]"}});
    rows.push_back({name, [f, x] { f(x, f32(5), 1); }, kShape, {"f32[2, 4, 3]", "f32[5]"}});
    rows.push_back({name, [f, x] { f(x, f32(1, 3), 1); }, kShape, {"f32[2, 4, 3]", "f32[1, 3]"}});
    rows.push_back({name, [f, x] { f(x, {}, NAN); }, kValue, {"eps", "f32[2, 4, 3]"}});
    rows.push_back({name, [f, x] { f(x, {}, -1); }, kValue, {"eps", "-1", "f32[2, 4, 3]"}});
    rows.push_back({name, [f] { f(Tensor(), {}, 1); }, kValue, {"never given"}});
  }
  for (const auto& [name, f] : kNorms) {
    const bool is_last =
        std::string_view(name) == "layer_norm" || std::string_view(name) == "rms_norm";
    const Tensor x = f32(2, 4, 3), weight = is_last ? keys(3) : keys(4);
    rows.push_back({name, [f, x, weight] { f(x, weight, 1); }, kType, {weight.type().text()}});
    const Tensor complex = is_last ? c64(3) : c64(4);
    rows.push_back({name, [f, x, complex] { f(x, complex, 1); }, kType, {complex.type().text()}});
  }
}

void add_attention(Refusals& rows) {
  const Refusals more = {
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 2), f32(4, 3)); },
       kShape,
       {"queries f32[2, 3]", "keys f32[4, 2]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(5, 3)); },
       kShape,
       {"keys f32[4, 3]", "values f32[5, 3]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(3), f32(4, 3), f32(4, 3)); },
       kShape,
       {"queries f32[3]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(3, 2, 3), f32(2, 4, 3), f32(2, 4, 3)); },
       kShape,
       {"f32[3, 2, 3]", "f32[2, 4, 3]", "3 heads"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(c64(2, 3), f32(4, 3), f32(4, 3)); },
       kType,
       {"c64[2, 3]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), keys(4, 3), f32(4, 3)); },
       kType,
       {"key[4, 3]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(4, 3), {.attn_mask = f32(3)}); },
       kShape,
       {"mask", "[3]"}},
      {"scaled_dot_product_attention",
       [] {
         scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(4, 3),
                                      {.attn_mask = truths(5, 2, 4)});
       },
       kShape,
       {"mask", "[5, 2, 4]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(4, 3), {.attn_mask = c64(4)}); },
       kType,
       {"mask", "c64[4]"}},
      {"scaled_dot_product_attention",
       [] {
         scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(4, 3), {.attn_mask = keys(4)});
       },
       kType,
       {"mask", "key[4]"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 3), f32(4, 3), {.scale = NAN}); },
       kValue,
       {"scale", "nan"}},
      {"scaled_dot_product_attention",
       [] { scaled_dot_product_attention(f32(2, 3), f32(4, 3), Tensor()); },
       kValue,
       {"never given"}},
      {"rope", [] { rope(f32(4)); }, kShape, {"f32[4]"}},
      {"rope", [] { rope(c64(2, 4)); }, kType, {"c64[2, 4]"}},
      {"rope", [] { rope(keys(2, 4)); }, kType, {"key[2, 4]"}},
      {"rope", [] { rope(f32(2, 3)); }, kValue, {"3", "f32[2, 3]"}},
      {"rope", [] { rope(f32(2, 4), {.width = 6}); }, kValue, {"6", "f32[2, 4]"}},
      {"rope", [] { rope(f32(2, 4), {.width = -2}); }, kValue, {"-2", "f32[2, 4]"}},
      {"rope", [] { rope(f32(2, 4), {.base = 0}); }, kValue, {"base", "0", "f32[2, 4]"}},
      {"rope", [] { rope(f32(2, 4), {.base = NAN}); }, kValue, {"base", "f32[2, 4]"}},
      {"rope", [] { rope(f32(2, 4), {.scale = NAN}); }, kValue, {"scale", "f32[2, 4]"}},
      {"rope",
       [] { rope(f32(2, 4), {.positions = i64(3)}); },
       kShape,
       {"f32[2, 4]", "positions", "[3]"}},
      {"rope", [] { rope(f32(2, 4), {.positions = i64(5, 2)}); }, kShape, {"positions", "[5, 2]"}},
      {"rope", [] { rope(f32(2, 4), {.positions = c64(2)}); }, kType, {"f32[2, 4]", "c64[2]"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

struct Drop {
  const char* name;
  Tensor (*keyed)(const Tensor&, double, const Tensor&);
  Tensor (*keyless)(const Tensor&, double);
  size_t rank;   // that it takes
  size_t other;  // that it does not take
};

void add_dropouts(Refusals& rows) {
  const std::vector<Drop> drops = {
      {"dropout1d", dropout1d, dropout1d, 2, 4},
      {"dropout2d", dropout2d, dropout2d, 4, 2},
      {"dropout3d", dropout3d, dropout3d, 4, 3},
      {"alpha_dropout", alpha_dropout, alpha_dropout, 1, 1},
      {"feature_alpha_dropout", feature_alpha_dropout, feature_alpha_dropout, 2, 1},
      {"drop_path", drop_path, drop_path, 1, 0},
  };
  for (const auto& [name, keyed, keyless, rank, other] : drops) {
    const auto with = [keyed = keyed](const Tensor& x, double p, const Tensor& key) {
      return [=] { keyed(x, p, key); };
    };
    const Tensor x = counted(DType::f32, Sizes(rank, 2)), y = counted(DType::f32, Sizes(other, 2));
    const std::string type = x.type().text();
    rows.push_back({name, with(x, -.1, keys()), kValue, {"probability", "-0.1", type}});
    rows.push_back({name, with(x, NAN, keys()), kValue, {"probability", "nan", type}});
    rows.push_back({name, [=, f = keyless] { f(x, 1.1); }, kValue, {"probability", "1.1", type}});
    rows.push_back({name, with(x, .5, keys(2)), kShape, {"key[2]", type}});
    rows.push_back({name, with(x, .5, f32()), kType, {"f32[]", type}});
    rows.push_back({name, with(counted(DType::key, Sizes(rank, 2)), .5, keys()), kType, {"key"}});
    rows.push_back({name, [f = keyless] { f(Tensor(), .5); }, kValue, {"never given"}});
    if (other == rank) continue;
    rows.push_back({name, with(y, .5, keys()), kShape, {y.type().text()}});
  }
}

}  // namespace

Refusals refusals_of_normalization() {
  const Tensor mean = f32(4), variance = f32(4);
  Refusals rows = {
      {"linear", [] { linear(f32(2, 3), f32(2, 2)); }, kShape, {"f32[2, 3]", "f32[2, 2]"}},
      {"linear", [] { linear(f32(), f32(2, 2)); }, kShape, {"f32[]", "f32[2, 2]"}},
      {"linear", [] { linear(f32(2), f32(2)); }, kShape, {"f32[2]"}},
      {"linear", [] { linear(f32(3), f32(2, 3), f32(3)); }, kShape, {"bias", "f32[3]"}},
      {"linear", [] { linear(f32(3), f32(2, 3), f32(3, 2)); }, kShape, {"bias", "f32[3, 2]"}},
      {"linear", [] { linear(keys(3), f32(2, 3)); }, kType, {"key[3]", "f32[2, 3]"}},
      {"linear", [] { linear(f32(3), f32(2, 3), keys(2)); }, kType, {"f32[3]", "key[2]"}},
      {"normalize", [] { normalize(f32(2, 2), 0); }, kValue, {"p is 0", "f32[2, 2]"}},
      {"normalize", [] { normalize(f32(2, 2), NAN); }, kValue, {"p is nan", "f32[2, 2]"}},
      {"normalize", [] { normalize(f32(2)); }, kIndex, {"axis 1", "f32[2]"}},
      {"normalize", [] { normalize(f32(2), 2, {0, 0}); }, kValue, {"axis 0", "f32[2]"}},
      {"normalize", [] { normalize(keys(2), 2, 0); }, kType, {"key[2]"}},
      {"normalize", [] { normalize(f32(2), 2, 0, NAN); }, kValue, {"eps", "f32[2]"}},
      {"normalize", [] { normalize(f32(2), 2, 0, -1); }, kValue, {"eps", "-1"}},
      {"layer_norm", [] { layer_norm(f32(2, 3), {2}); }, kShape, {"f32[2, 3]", "[2]"}},
      {"layer_norm", [] { layer_norm(f32(2, 3), {}); }, kShape, {"f32[2, 3]", "[]"}},
      {"layer_norm", [] { layer_norm(f32(3), {2, 3}); }, kShape, {"f32[3]", "[2, 3]"}},
      {"rms_norm", [] { rms_norm(f32(2, 3), {2}); }, kShape, {"f32[2, 3]", "[2]"}},
      {"group_norm", [] { group_norm(f32(2, 4, 3), 3); }, kValue, {"3 groups", "f32[2, 4, 3]"}},
      {"group_norm", [] { group_norm(f32(2, 4, 3), 0); }, kValue, {"0 groups", "f32[2, 4, 3]"}},
      {"group_norm", [] { group_norm(f32(4), 2); }, kShape, {"f32[4]"}},
      {"instance_norm", [] { instance_norm(f32(2, 4)); }, kShape, {"f32[2, 4]"}},
      {"batch_norm", [] { batch_norm(f32(4)); }, kShape, {"f32[4]"}},
      {"batch_norm", [] { batch_norm(f32(1, 4)); }, kValue, {"f32[1, 4]", "variance"}},
      {"batch_norm",
       [] { batch_norm(f32(2, 4), {.training = false}); },
       kValue,
       {"running mean", "f32[2, 4]"}},
      {"batch_norm", [] { batch_norm(f32(2, 4), {.momentum = NAN}); }, kValue, {"momentum"}},
      {"batch_norm", [] { batch_norm(f32(2, 4), {.momentum = 2}); }, kValue, {"momentum", "2"}},
      {"bilinear", [] { bilinear(f32(2, 3), f32(2, 4), f32(5, 4, 3)); }, kShape, {"f32[5, 4, 3]"}},
      {"bilinear", [] { bilinear(f32(2, 3), f32(2, 4), f32(3, 4)); }, kShape, {"f32[3, 4]"}},
      {"bilinear", [] { bilinear(f32(3), f32(2, 4), f32(5, 3, 4)); }, kShape, {"f32[3]"}},
      {"bilinear", [] { bilinear(f32(7, 3), f32(2, 4), f32(5, 3, 4)); }, kShape, {"f32[7, 3]"}},
      {"bilinear", [] { bilinear(f32(), f32(), f32(5, 3, 4)); }, kShape, {"f32[]"}},
      {"bilinear",
       [] { bilinear(f32(2, 3), f32(2, 4), f32(5, 3, 4), f32(4)); },
       kShape,
       {"bias", "f32[4]"}},
      {"bilinear", [] { bilinear(keys(3), f32(4), f32(5, 3, 4)); }, kType, {"key[3]"}},
      {"bilinear", [] { bilinear(f32(3), Tensor(), f32(5, 3, 4)); }, kValue, {"never given"}},
      {"local_response_norm", [] { local_response_norm(f32(2, 3), 2); }, kShape, {"f32[2, 3]"}},
      {"local_response_norm", [] { local_response_norm(f32(2, 3, 4), 0); }, kValue, {"size of 0"}},
      {"local_response_norm",
       [] { local_response_norm(f32(2, 3, 4), 2, NAN); },
       kValue,
       {"alpha", "f32[2, 3, 4]"}},
      {"local_response_norm",
       [] { local_response_norm(f32(2, 3, 4), 2, 1, NAN); },
       kValue,
       {"beta", "f32[2, 3, 4]"}},
      {"local_response_norm",
       [] { local_response_norm(f32(2, 3, 4), 2, 1, 1, NAN); },
       kValue,
       {"k", "f32[2, 3, 4]"}},
      {"local_response_norm",
       [] { local_response_norm(c64(2, 3, 4), 2); },
       kType,
       {"c64[2, 3, 4]"}},
      {"local_response_norm", [] { local_response_norm(keys(2, 3, 4), 2); }, kType, {"key"}},
      {"local_response_norm", [] { local_response_norm(Tensor(), 2); }, kValue, {"never given"}},
      {"dropout", [] { dropout(f32(2), -.1); }, kValue, {"probability", "-0.1", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), 1.1); }, kValue, {"probability", "1.1", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), NAN); }, kValue, {"probability", "nan", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), 2, keys()); }, kValue, {"probability", "2", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), truths(2), 2); }, kValue, {"probability", "2", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), truths(3), .5); }, kShape, {"bool[3]", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), truths(3, 2), .5); }, kShape, {"bool[3, 2]", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), keys(2), .5); }, kType, {"key[2]", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), .5, keys(2)); }, kShape, {"key[2]", "f32[2]"}},
      {"dropout", [] { dropout(f32(2), .5, f32()); }, kType, {"f32[]", "f32[2]"}},
      {"dropout", [] { dropout(keys(2)); }, kType, {"key[2]"}},
      {"dropout", [] { dropout(Tensor()); }, kValue, {"never given"}},
  };
  add_norms(rows);
  add_dropouts(rows);
  add_attention(rows);
  return rows;
}

TEST(Refusals, Normalization) { expect_refused(refusals_of_normalization()); }

}  // namespace plait
