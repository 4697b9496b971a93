// Transforms of images as values, and those that are made of others.
//
//   const Compose augment({RandomResizedCrop{{224, 224}}, RandomHorizontalFlip{},
//                          ToDtype{DType::f32, true}, Normalize{{0.5}, {0.25}}});
//   data::Loader loader(data::mapped(images, augment), {.batch_size = 32, .shuffle = true});
//
// A transform is called with an image and a random key, and draws from that key alone: a batch is a
// function of the seed, the epoch and its place. Those without randomness may be called without a
// key. Of a sample that is a tuple or a pair, the first element is the image; the others are kept.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/data/transforms/draws.h"
#include "plait/tensor/tensor.h"

namespace plait::data::transforms {

// The numbers that a transform draws, by name: {"angle", {12.5}}.
struct Parameter {
  std::string name;
  std::vector<double> numbers;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;

template <class T>
concept PlainTransform = std::is_invocable_r_v<Tensor, const T&, const Tensor&>;
template <class T>
concept KeyedTransform = std::is_invocable_r_v<Tensor, const T&, const Tensor&, const DrawKey&>;

// Any transform: one of those of this folder, or a function of an image, or of an image and a
// DrawKey. Copies share it. The constructor checks its fields (ValueError).
class Transform {
 public:
  template <class T>
    requires((PlainTransform<T> || KeyedTransform<T>) && !std::same_as<T, Transform>)
  Transform(T transform)  // NOLINT: the same thing
      : model_(std::make_shared<const ModelOf<T>>(std::move(transform))) {
    if constexpr (requires { as<T>()->check(); }) as<T>()->check();
  }

  Tensor operator()(const Tensor& image, const DrawKey& key) const {
    return model_->apply(image, key);
  }
  template <class... More>
  std::tuple<Tensor, More...> operator()(std::tuple<Tensor, More...> sample,
                                         const DrawKey& key) const {
    std::get<0>(sample) = model_->apply(std::get<0>(sample), key);
    return sample;
  }
  template <class More>
  std::pair<Tensor, More> operator()(std::pair<Tensor, More> sample, const DrawKey& key) const {
    sample.first = model_->apply(sample.first, key);
    return sample;
  }
  // With the next key of the default stream (random::seed), if it draws.
  Tensor with_next_key(const Tensor& image) const;

  // False if the key makes no difference.
  bool is_random() const { return model_->is_random(); }
  // The numbers that a call with this image and this key draws.
  Parameters parameters(const Tensor& image, const DrawKey& key) const {
    return model_->parameters(image, key);
  }
  // It, if it has this type; else null.
  template <class T>
  const T* as() const {
    const auto* model = dynamic_cast<const ModelOf<T>*>(model_.get());
    return model == nullptr ? nullptr : &model->transform;
  }

 private:
  struct Model {
    virtual ~Model() = default;
    virtual Tensor apply(const Tensor& image, const DrawKey& key) const = 0;
    virtual bool is_random() const = 0;
    virtual Parameters parameters(const Tensor& image, const DrawKey& key) const = 0;
  };
  template <class T>
  struct ModelOf final : Model {
    explicit ModelOf(T given) : transform(std::move(given)) {}
    Tensor apply(const Tensor& image, const DrawKey& key) const override {
      if constexpr (KeyedTransform<T>) {
        return std::invoke(transform, image, key);
      } else {
        return std::invoke(transform, image);
      }
    }
    bool is_random() const override {
      if constexpr (requires { transform.is_random(); }) return transform.is_random();
      return KeyedTransform<T>;
    }
    Parameters parameters(const Tensor& image, const DrawKey& key) const override {
      if constexpr (requires { transform.parameters(image, key); }) {
        return transform.parameters(image, key);
      } else {
        return {};
      }
    }
    T transform;
  };

  std::shared_ptr<const Model> model_;
};

// Several, one after another. Number i gets the key fold_in(key, first + i). ToDtype to f32 with
// scale and a Normalize after it are computed in one pass.
class Compose {
 public:
  explicit Compose(std::vector<Transform> transforms, int64_t first = 0);

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  template <class... More>
  std::tuple<Tensor, More...> operator()(std::tuple<Tensor, More...> sample,
                                         const DrawKey& key) const {
    std::get<0>(sample) = (*this)(std::get<0>(sample), key);
    return sample;
  }
  template <class More>
  std::pair<Tensor, More> operator()(std::pair<Tensor, More> sample, const DrawKey& key) const {
    sample.first = (*this)(sample.first, key);
    return sample;
  }
  bool is_random() const;
  const std::vector<Transform>& transforms() const { return transforms_; }

 private:
  std::vector<Transform> transforms_;
  std::vector<std::pair<int64_t, Transform>> steps_;  // with the number of its key
};

// All of them with probability p, or none.
struct RandomApply {
  std::vector<Transform> transforms;
  double p = 0.5;

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// One of them, each with its probability; without any, all have the same.
struct RandomChoice {
  std::vector<Transform> transforms;
  std::vector<double> p = {};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// All of them, in a random order.
struct RandomOrder {
  std::vector<Transform> transforms;

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

}  // namespace plait::data::transforms
