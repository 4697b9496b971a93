#include "plait/cuda/inside/elementwise/eager_nest.h"

#include <charconv>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"

namespace plait::cuda {
namespace {

struct EagerKernels {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<const NestKernel>> kernels;
};

// Symbols are numbered: d<dimension>, and x<port>_<dimension> for strides.
Dim symbol_of(char kind, size_t port, size_t dimension) {
  return Dim::symbol(fmt::format("{}{}_{}", kind, port, dimension));
}

size_t number_at(std::string_view& text) {
  size_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string NestPattern::key() const {
  std::string key;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const bool is_last = d + 1 == dimensions_.size();
    key += '|';
    for (const int64_t stride : dimensions_[d].strides) {
      key += stride == 0 ? '0' : is_last && stride == 1 ? '1' : 'x';
    }
  }
  return key;
}

Dim NestPattern::extent(size_t dimension) const { return symbol_of('d', 0, dimension); }

Dim NestPattern::stride(size_t port, size_t dimension) const {
  const int64_t stride = dimensions_[dimension].strides[port];
  const bool is_last = dimension + 1 == dimensions_.size();
  if (stride == 0 || (is_last && stride == 1)) return stride;
  return symbol_of('x', port, dimension);
}

std::vector<Dim> NestPattern::outer() const {
  std::vector<Dim> all;
  for (size_t d = 0; d + 1 < dimensions_.size(); ++d) all.push_back(extent(d));
  return all;
}

Dim NestPattern::columns() const {
  return dimensions_.empty() ? Dim(1) : extent(dimensions_.size() - 1);
}

compile::Affine NestPattern::place(size_t port) const {
  compile::Affine place;
  for (size_t d = 0; d < dimensions_.size(); ++d) place.strides.push_back(stride(port, d));
  if (dimensions_.empty()) place.strides.emplace_back(0);
  return place;
}

std::vector<int64_t> NestPattern::values(std::span<const Dim> sizes) const {
  std::vector<int64_t> all;
  all.reserve(sizes.size());
  for (const Dim size : sizes) {
    std::string_view name = size.name();
    const bool is_extent = name[0] == 'd';
    name.remove_prefix(1);
    const size_t port = number_at(name);
    name.remove_prefix(1);
    const LoopDimension& dimension = dimensions_[number_at(name)];
    all.push_back(is_extent ? dimension.size : dimension.strides[port]);
  }
  return all;
}

const NestKernel& eager_kernel(const std::string& key, const std::function<NestKernel()>& make) {
  static Immortal<EagerKernels> all;
  const std::lock_guard lock(all->mutex);
  std::unique_ptr<const NestKernel>& kernel = all->kernels[key];
  if (kernel == nullptr) kernel = std::unique_ptr<const NestKernel>(new NestKernel(make()));
  return *kernel;
}

}  // namespace plait::cuda
