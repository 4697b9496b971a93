// Transforms of images: factories, which check their arguments, and calls. The classes for users
// are in python/plait/inside/data/images.
#include "plait/data/transforms/image_transforms.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/data/transforms/augment.h"
#include "plait/data/transforms/color_functions.h"
#include "plait/data/transforms/mixing.h"

#include "python/bindings/bindings.h"
#include "python/bindings/files/bytes_of.h"
#include "python/bindings/files/files.h"

namespace plait::python {
namespace image_transforms {
namespace {

using namespace data::transforms;
using nb::arg;
using Numbers = std::vector<double>;
using Pair = std::array<double, 2>;
using Size = std::array<int64_t, 2>;

ImageSize size_from(const Size& size) { return {size[0], size[1]}; }
Padding padding_from(const std::array<int64_t, 4>& sides) {
  return {sides[0], sides[1], sides[2], sides[3]};
}
ResizeOptions resizing(const std::string& interpolation, bool antialias) {
  return {interpolation_from(interpolation), antialias};
}

void bind_transform(nb::module_& module) {
  nb::class_<Transform>(module, "Transform")
      .def("__call__",
           [](const Transform& transform, const Tensor& image, const Tensor& key) {
             return computed([&, copy = transform] { return copy(image, key); });
           })
      .def("with_next_key",
           [](const Transform& transform, const Tensor& image) {
             return computed([&, copy = transform] { return copy.with_next_key(image); });
           })
      .def("is_random", &Transform::is_random)
      .def("parameters", [](const Transform& transform, const Tensor& image, const Tensor& key) {
        nb::list parameters;
        for (const auto& [name, numbers] : transform.parameters(image, key)) {
          nb::list list;
          for (const double number : numbers) list.append(number);
          parameters.append(nb::make_tuple(name, list));
        }
        return parameters;
      });
}

void bind_sizes(nb::module_& module) {
  module.def("ToDtype", [](nb::handle dtype, bool scale) {
    return Transform(ToDtype{dtype_from(dtype), scale});
  });
  module.def("Normalize", [](Numbers mean, Numbers std) {
    return Transform(Normalize{std::move(mean), std::move(std)});
  });
  module.def(
      "Resize",
      [](std::optional<Size> size, std::optional<int64_t> side, std::optional<int64_t> most,
         const std::string& interpolation, bool antialias) {
        const ResizeOptions options = resizing(interpolation, antialias);
        return size ? Transform(Resize(size_from(*size), options))
                    : Transform(Resize(side, most, options));
      },
      arg("size").none(), arg("side").none(), arg("max_size").none(), arg("interpolation"),
      arg("antialias"));
  module.def("CenterCrop", [](const Size& size) { return Transform(CenterCrop{size_from(size)}); });
  module.def("Pad", [](const std::array<int64_t, 4>& padding, const Numbers& fill,
                       const std::string& mode) {
    return Transform(Pad{padding_from(padding), fill, padding_mode_from(mode)});
  });
  module.def("RandomHorizontalFlip", [](double p) { return Transform(RandomHorizontalFlip{p}); });
  module.def("RandomVerticalFlip", [](double p) { return Transform(RandomVerticalFlip{p}); });
  module.def(
      "RandomCrop",
      [](const Size& size, const std::optional<std::array<int64_t, 4>>& padding, bool pad_if_needed,
         const Numbers& fill, const std::string& mode) {
        RandomCrop crop{size_from(size), {}, pad_if_needed, fill, padding_mode_from(mode)};
        if (padding) crop.padding = padding_from(*padding);
        return Transform(std::move(crop));
      },
      arg("size"), arg("padding").none(), arg("pad_if_needed"), arg("fill"), arg("mode"));
  nb::class_<RandomResizedCrop>(module, "ResizedCrop")
      .def("__init__",
           [](RandomResizedCrop* place, const Size& size, const Pair& scale, const Pair& ratio,
              const std::string& interpolation, bool antialias) {
             new (place) RandomResizedCrop{size_from(size), scale, ratio,
                                           resizing(interpolation, antialias)};
           })
      .def("transform", [](const RandomResizedCrop& crop) { return Transform(crop); })
      .def("read",
           [](const RandomResizedCrop& crop, const nb::bytes& path, const Tensor& key, int mode,
              bool is_reduced) {
             const std::string file = path_from(path);
             return computed([&, copy = crop] {
               return copy.read(file, key, static_cast<ImageMode>(mode), is_reduced);
             });
           })
      .def("decode", [](const RandomResizedCrop& crop, nb::handle data, const Tensor& key, int mode,
                        bool is_reduced) {
        const BytesOf bytes(data);
        return computed([&, copy = crop] {
          return copy.decode(bytes.get(), key, static_cast<ImageMode>(mode), is_reduced);
        });
      });
  module.def("RandomErasing",
             [](double p, const Pair& scale, const Pair& ratio, const Numbers& value) {
               return Transform(RandomErasing{p, scale, ratio, value});
             });
}

void bind_geometry(nb::module_& module) {
  module.def(
      "RandomRotation",
      [](const Pair& degrees, const std::string& interpolation, bool expand,
         const std::optional<Pair>& center, const Numbers& fill) {
        return Transform(
            RandomRotation{degrees, {interpolation_from(interpolation), fill, center}, expand});
      },
      arg("degrees"), arg("interpolation"), arg("expand"), arg("center").none(), arg("fill"));
  module.def(
      "RandomAffine",
      [](const Pair& degrees, const std::optional<Pair>& translate,
         const std::optional<Pair>& scale, const std::optional<std::array<Pair, 2>>& shear,
         const std::string& interpolation, const Numbers& fill, const std::optional<Pair>& center) {
        return Transform(RandomAffine{
            degrees, translate, scale, shear, {interpolation_from(interpolation), fill, center}});
      },
      arg("degrees"), arg("translate").none(), arg("scale").none(), arg("shear").none(),
      arg("interpolation"), arg("fill"), arg("center").none());
  module.def("GaussianBlur", [](const Size& kernel_size, const Pair& sigma) {
    return Transform(GaussianBlur{kernel_size, sigma});
  });
}

void bind_colors(nb::module_& module) {
  module.def("Grayscale", [](int64_t channels) { return Transform(Grayscale{channels}); });
  module.def("RandomGrayscale", [](double p) { return Transform(RandomGrayscale{p}); });
  module.def(
      "ColorJitter",
      [](const std::optional<Pair>& brightness, const std::optional<Pair>& contrast,
         const std::optional<Pair>& saturation, const std::optional<Pair>& hue) {
        return Transform(ColorJitter{brightness, contrast, saturation, hue});
      },
      arg("brightness").none(), arg("contrast").none(), arg("saturation").none(),
      arg("hue").none());
  // RandomInvert and the like are RandomApply of one of these.
  module.def("Invert", [] { return Transform(invert); });
  module.def("Autocontrast", [] { return Transform(autocontrast); });
  module.def("Equalize", [] { return Transform(equalize); });
  module.def("Posterize", [](int64_t bits) {
    return Transform([bits](const Tensor& image) { return posterize(image, bits); });
  });
  module.def("Solarize", [](double threshold) {
    return Transform([threshold](const Tensor& image) { return solarize(image, threshold); });
  });
  module.def("AdjustSharpness", [](double factor) {
    return Transform([factor](const Tensor& image) { return adjust_sharpness(image, factor); });
  });
}

AutoAugmentPolicy policy_from(const std::string& name) {
  if (name == "imagenet") return AutoAugmentPolicy::imagenet;
  if (name == "cifar10") return AutoAugmentPolicy::cifar10;
  if (name == "svhn") return AutoAugmentPolicy::svhn;
  throw ValueError("AutoAugment: the policy is \"{}\", expected imagenet, cifar10 or svhn", name);
}

AugmentOptions augmenting(const std::string& interpolation, const Numbers& fill) {
  return {interpolation_from(interpolation), fill};
}

void bind_policies(nb::module_& module) {
  module.def("AutoAugment",
             [](const std::string& policy, const std::string& interpolation, const Numbers& fill) {
               return Transform(AutoAugment{policy_from(policy), augmenting(interpolation, fill)});
             });
  module.def("RandAugment", [](int64_t num_ops, int64_t magnitude, int64_t bins,
                               const std::string& interpolation, const Numbers& fill) {
    return Transform(RandAugment{num_ops, magnitude, bins, augmenting(interpolation, fill)});
  });
  module.def("TrivialAugmentWide",
             [](int64_t bins, const std::string& interpolation, const Numbers& fill) {
               return Transform(TrivialAugmentWide{bins, augmenting(interpolation, fill)});
             });
  module.def("AugMix", [](int64_t severity, int64_t width, int64_t depth, double alpha,
                          bool all_ops, const std::string& interpolation, const Numbers& fill) {
    return Transform(
        AugMix{severity, width, depth, alpha, all_ops, augmenting(interpolation, fill)});
  });
}

std::vector<Transform> transforms_from(nb::handle given) {
  std::vector<Transform> transforms;
  for (const nb::handle each : given) transforms.push_back(nb::cast<Transform>(each));
  return transforms;
}

void bind_combinations(nb::module_& module) {
  module.def("Compose", [](nb::handle transforms, int64_t first) {
    return Transform(Compose(transforms_from(transforms), first));
  });
  module.def("RandomApply", [](nb::handle transforms, double p) {
    return Transform(RandomApply{transforms_from(transforms), p});
  });
  module.def("RandomChoice", [](nb::handle transforms, const Numbers& p) {
    return Transform(RandomChoice{transforms_from(transforms), p});
  });
  module.def("RandomOrder", [](nb::handle transforms) {
    return Transform(RandomOrder{transforms_from(transforms)});
  });
  // Combinations of functions in Python draw as those above do.
  module.def("chance",
             [](const Tensor& key, double p) { return Draws(DrawKey(key).part(-1)).chance(p); });
  module.def("choice", [](const Tensor& key, const Numbers& p) {
    return Draws(DrawKey(key).part(-1)).index(p);
  });
  module.def("order", [](const Tensor& key, int64_t count) {
    nb::list order;
    for (const int64_t i : Draws(DrawKey(key).part(-1)).permutation(count)) order.append(i);
    return order;
  });
}

template <class Mix>
nb::tuple mixed(const Mix& mix, const Tensor& images, const Tensor& labels, const Tensor& key) {
  const ImagesAndLabels batch = computed([&] { return mix(images, labels, key); });
  return nb::make_tuple(batch.first, batch.second);
}

void bind_mixing(nb::module_& module) {
  nb::class_<MixUp>(module, "MixUp")
      .def(
          "__init__",
          [](MixUp* place, double alpha, std::optional<int64_t> classes) {
            const MixUp mix{alpha, classes};
            mix.check();
            new (place) MixUp(mix);
          },
          arg("alpha"), arg("num_classes").none())
      .def("__call__", mixed<MixUp>)
      .def("share", [](const MixUp& mix, const Tensor& key) { return mix.share(key); });
  nb::class_<CutMix>(module, "CutMix")
      .def(
          "__init__",
          [](CutMix* place, double alpha, std::optional<int64_t> classes) {
            const CutMix mix{alpha, classes};
            mix.check();
            new (place) CutMix(mix);
          },
          arg("alpha"), arg("num_classes").none())
      .def("__call__", mixed<CutMix>)
      .def("box", [](const CutMix& mix, int64_t height, int64_t width, const Tensor& key) {
        const ImageBox box = mix.box({height, width}, key);
        return nb::make_tuple(box.top, box.left, box.height, box.width);
      });
}

}  // namespace
}  // namespace image_transforms

void bind_image_transforms(nb::module_& core) {
  nb::module_ module = core.def_submodule("_transforms", "Transforms of images in C++.");
  image_transforms::bind_transform(module);
  image_transforms::bind_sizes(module);
  image_transforms::bind_geometry(module);
  image_transforms::bind_colors(module);
  image_transforms::bind_policies(module);
  image_transforms::bind_combinations(module);
  image_transforms::bind_mixing(module);
}

}  // namespace plait::python
