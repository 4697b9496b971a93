#include "plait/data/transforms/transform.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/checks.h"
#include "plait/data/transforms/image_functions.h"
#include "plait/data/transforms/image_transforms.h"
#include "plait/ops/random/random.h"

namespace plait::data::transforms {
namespace {

// The key of what a transform draws itself, beside those of its parts.
constexpr int64_t kOwnPart = -1;

struct ScaledAndNormalized {
  Normalize normalize;
  Tensor operator()(const Tensor& image) const {
    return scaled_and_normalized(image, normalize.mean, normalize.std);
  }
};

bool scales_to_floats(const Transform& transform) {
  const auto* to = transform.as<ToDtype>();
  return to != nullptr && to->dtype == DType::f32 && to->scale;
}

void expect_transforms(std::string_view name, const std::vector<Transform>& transforms) {
  if (transforms.empty()) throw ValueError("{}: there are no transforms", name);
}

size_t choice_of(const RandomChoice& choice, const DrawKey& key) {
  Draws draws(key.part(kOwnPart));
  if (!choice.p.empty()) return draws.index(choice.p);
  return static_cast<size_t>(draws.below(static_cast<int64_t>(choice.transforms.size())));
}

std::vector<int64_t> order_of(const RandomOrder& random, const DrawKey& key) {
  return Draws(key.part(kOwnPart)).permutation(static_cast<int64_t>(random.transforms.size()));
}

}  // namespace

Tensor Transform::with_next_key(const Tensor& image) const {
  return (*this)(image, is_random() ? DrawKey(random::draw_key()) : DrawKey(KeyBits{}));
}

Compose::Compose(std::vector<Transform> transforms, int64_t first)
    : transforms_(std::move(transforms)) {
  for (size_t i = 0; i < transforms_.size(); ++i) {
    const int64_t number = first + static_cast<int64_t>(i);
    const auto* normalize =
        i + 1 < transforms_.size() ? transforms_[i + 1].as<Normalize>() : nullptr;
    if (normalize != nullptr && scales_to_floats(transforms_[i])) {
      steps_.emplace_back(number, ScaledAndNormalized{*normalize});
      ++i;
    } else {
      steps_.emplace_back(number, transforms_[i]);
    }
  }
}

Tensor Compose::operator()(const Tensor& image, const DrawKey& key) const {
  Tensor result = image;
  for (const auto& [number, transform] : steps_) {
    result = transform(result, transform.is_random() ? key.part(number) : key);
  }
  return result;
}

bool Compose::is_random() const {
  return std::ranges::any_of(transforms_, [](const Transform& each) { return each.is_random(); });
}

Tensor RandomApply::operator()(const Tensor& image, const DrawKey& key) const {
  if (!Draws(key.part(kOwnPart)).chance(p)) return image;
  Tensor result = image;
  for (size_t i = 0; i < transforms.size(); ++i) {
    result = transforms[i](result, key.part(static_cast<int64_t>(i)));
  }
  return result;
}

Parameters RandomApply::parameters(const Tensor&, const DrawKey& key) const {
  return {{"applied", {static_cast<double>(Draws(key.part(kOwnPart)).chance(p))}}};
}

void RandomApply::check() const {
  expect_transforms("RandomApply", transforms);
  expect_probability("RandomApply", p);
}

Tensor RandomChoice::operator()(const Tensor& image, const DrawKey& key) const {
  const size_t chosen = choice_of(*this, key);
  return transforms[chosen](image, key.part(static_cast<int64_t>(chosen)));
}

Parameters RandomChoice::parameters(const Tensor&, const DrawKey& key) const {
  return {{"index", {static_cast<double>(choice_of(*this, key))}}};
}

void RandomChoice::check() const {
  expect_transforms("RandomChoice", transforms);
  if (p.empty()) return;
  double sum = 0;
  for (const double each : p) {
    if (!(each >= 0)) throw ValueError("RandomChoice: p has {}, expected 0 or more", each);
    sum += each;
  }
  if (p.size() != transforms.size() || !(sum > 0)) {
    throw ValueError(
        "RandomChoice: p has {} numbers with the sum {}, expected {}, one for each "
        "transform, with a sum above 0",
        p.size(), sum, transforms.size());
  }
}

Tensor RandomOrder::operator()(const Tensor& image, const DrawKey& key) const {
  Tensor result = image;
  for (const int64_t i : order_of(*this, key)) {
    result = transforms[static_cast<size_t>(i)](result, key.part(i));
  }
  return result;
}

Parameters RandomOrder::parameters(const Tensor&, const DrawKey& key) const {
  const std::vector<int64_t> order = order_of(*this, key);
  return {{"order", {order.begin(), order.end()}}};
}

void RandomOrder::check() const { expect_transforms("RandomOrder", transforms); }

}  // namespace plait::data::transforms
