// Readers of data sets: CIFAR's files and WebDataset's shards.
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/data/readers/cifar.h"
#include "plait/data/readers/image_folder.h"
#include "plait/data/readers/web_dataset.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/npy.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace readers {
namespace {

using namespace data;

std::vector<std::string> paths_from(const std::vector<nb::bytes>& given) {
  std::vector<std::string> paths;
  for (const nb::bytes& each : given) paths.emplace_back(each.c_str(), each.size());
  return paths;
}

nb::bytes bytes_from(std::string_view text) { return nb::bytes(text.data(), text.size()); }

// (key, path of the shard, [(extension, bytes)…])
nb::tuple python_sample(const ShardSample& sample) {
  nb::list members;
  for (const ShardMember& each : sample.members()) {
    const std::string_view content = characters_of(sample.bytes(each.extension));
    members.append(nb::make_tuple(bytes_from(each.extension), bytes_from(content)));
  }
  return nb::make_tuple(bytes_from(sample.key()), bytes_from(sample.shard()), members);
}

void bind_cifar(nb::module_& module) {
  nb::class_<CifarDataset>(module, "Cifar")
      .def("__init__",
           [](CifarDataset* place, const nb::bytes& given, bool has_100, bool train, bool groups) {
             const std::string folder(given.c_str(), given.size());
             const CifarOptions options{.train = train, .groups = groups};
             computed([&] {
               new (place) CifarDataset(has_100 ? cifar100_dataset(folder, options)
                                                : cifar10_dataset(folder, options));
             });
           })
      .def("size", &CifarDataset::size)
      .def("sample", [](const CifarDataset& dataset, int64_t index) {
        const auto& [image, label] = computed([&] { return dataset.at(index); });
        return nb::make_tuple(to_python(image), to_python(label));
      });
}

void bind_image_folder(nb::module_& module) {
  module.def("image_folder", [](const nb::bytes& given, std::vector<std::string> extensions) {
    const std::string folder(given.c_str(), given.size());
    const ImageFolder found =
        computed([&] { return ImageFolder(folder, {.extensions = std::move(extensions)}); });
    nb::list classes, files;
    for (const std::string& each : found.classes()) classes.append(bytes_from(each));
    for (const auto& [path, label] : found.files()) {
      files.append(nb::make_tuple(bytes_from(path), label));
    }
    return nb::make_tuple(classes, files);
  });
}

void bind_shards(nb::module_& module) {
  nb::class_<WebDataset>(module, "Shards")
      .def("__init__",
           [](WebDataset* place, const std::vector<nb::bytes>& given) {
             const std::vector<std::string> paths = paths_from(given);
             computed([&] { new (place) WebDataset(paths); });
           })
      .def("size", &WebDataset::size)
      .def("sample", [](const WebDataset& dataset, int64_t index) {
        return python_sample(computed([&] { return dataset.at(index); }));
      });
  nb::class_<WebStream>(module, "ShardStream")
      .def("__init__",
           [](WebStream* place, const std::vector<nb::bytes>& given) {
             new (place) WebStream(paths_from(given));
           })
      .def("next",
           [](WebStream& stream) -> nb::object {
             const auto sample = computed([&] { return stream.next(); });
             return sample ? nb::object(python_sample(*sample)) : nb::none();
           })
      .def("position", &WebStream::position)
      .def("seek",
           [](WebStream& stream, const std::vector<int64_t>& position) { stream.seek(position); });
  module.def("read_npy", [](const nb::bytes& given) {
    const auto content = bytes_of(std::string_view(given.c_str(), given.size()));
    return Tensor(computed([&] { return read_npy(content); }));
  });
}

}  // namespace
}  // namespace readers

void bind_readers(nb::module_& data) {
  readers::bind_cifar(data);
  readers::bind_image_folder(data);
  readers::bind_shards(data);
}

}  // namespace plait::python
