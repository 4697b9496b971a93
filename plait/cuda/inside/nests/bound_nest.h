// A nest with known sizes and addresses: what is chosen for a launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/cuda/inside/driver/driver.h"
#include "plait/cuda/inside/nests/nest_schedules.h"

namespace plait::cuda {

// A parameter: an address on the device, or the bytes of one element on the host.
struct NestParameter {
  Address address = 0;
  const void* element = nullptr;
};

class BoundNest {
 public:
  // `sizes` are the values of PlannedNest::sizes.
  BoundNest(const PlannedNest& planned, std::span<const int64_t> sizes)
      : planned_(planned), sizes_(sizes) {}

  int64_t number(Dim dim) const;
  int64_t columns() const { return number(planned_.nest.columns); }
  int64_t product(std::span<const Dim> dims) const;
  int64_t rows() const { return product(planned_.nest.outer); }
  int64_t groups() const {
    return product(std::span(planned_.nest.outer).first(planned_.nest.grouped));
  }
  int64_t group_rows() const {
    return product(std::span(planned_.nest.outer).subspan(planned_.nest.grouped));
  }

  // Elements from the first one of the memory to the last one of the place; for strides that are
  // not negative.
  int64_t extent(const compile::Affine& place) const;
  // True if indices and places may exceed 32 bits.
  bool needs_wide_index() const;
  // True if vectors of so many columns are aligned in all dense ports.
  bool is_aligned(int vector, std::span<const NestParameter> parameters,
                  std::span<const Address> results) const;

 private:
  int64_t extent_of(size_t dimension) const;
  bool reaches_far(const compile::Affine& place) const;
  bool is_aligned(const compile::Affine& place, Address address, int64_t element_size,
                  int vector) const;

  const PlannedNest& planned_;
  std::span<const int64_t> sizes_;
};

// The columns of 16 bytes of the widest dense port.
int vector_of(const PlannedNest& planned);

}  // namespace plait::cuda
