// Exchange of tensors with other libraries by DLPack, without a copy. A capsule has a pointer, a
// dtype, sizes, strides and a function that releases the memory.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/tensor/memory/device_memory.h"
#include "plait/tensor/tracing/derivation.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

// ---- The structs of DLPack 1.0, with its memory layout.

enum DlDeviceType : int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3, kDlRocmHost = 11 };

struct DlDevice {
  int32_t type;
  int32_t id;
};
struct DlType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t rank;
  DlType dtype;
  int64_t* sizes;
  int64_t* strides;  // in elements; null if row-major
  uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  uint64_t flags;
  DlTensor tensor;
};
constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";

struct DlCode {
  DType dtype;
  uint8_t code;
};
constexpr DlCode kCodes[] = {
    {DType::i8, 0},      {DType::i16, 0},  {DType::i32, 0},     {DType::i64, 0},
    {DType::u8, 1},      {DType::u16, 1},  {DType::u32, 1},     {DType::u64, 1},
    {DType::f16, 2},     {DType::f32, 2},  {DType::f64, 2},     {DType::bf16, 4},
    {DType::c64, 5},     {DType::c128, 5}, {DType::boolean, 6}, {DType::f8e4m3, 10},
    {DType::f8e5m2, 12},
};

[[noreturn]] void refuse_buffer(const std::string& why) {
  PyErr_SetString(PyExc_BufferError, why.c_str());
  nb::raise_python_error();
}

DlType dl_type_of(DType dtype) {
  for (const DlCode& each : kCodes) {
    if (each.dtype == dtype) return {each.code, static_cast<uint8_t>(size_of(dtype) * 8), 1};
  }
  refuse_buffer(fmt::format("DLPack has no dtype for {}", name_of(dtype)));
}

DType dtype_of(const DlType& type) {
  for (const DlCode& each : kCodes) {
    if (type.lanes == 1 && each.code == type.code && size_of(each.dtype) * 8 == type.bits) {
      return each.dtype;
    }
  }
  refuse_buffer(fmt::format("Plait has no dtype for DLPack's code {} of {} bits with {} lanes",
                            type.code, type.bits, type.lanes));
}

// ---- Export.

DlDevice dl_device_of(Device device) {
  return device.is_cpu() ? DlDevice{kDlCpu, 0} : DlDevice{kDlCuda, device.index};
}

// State that a capsule needs as long as a consumer uses the memory.
template <class Managed>
struct Lending {
  Managed managed;
  Array array;
  std::vector<int64_t> sizes, strides;
};

// Whoever takes over the memory may write to it, so an element has a place of its own.
Array without_repeats(Array array) {
  for (size_t i = 0; i < array.rank(); ++i) {
    if (array.sizes()[i] > 1 && array.layout().strides[i] == 0) return array.contiguous();
  }
  return array;
}

template <class Managed>
Managed* lend(Array given) {
  Array array = without_repeats(std::move(given));
  const DlType type = dl_type_of(array.dtype());
  auto* lending = new Lending<Managed>{{}, std::move(array), {}, {}};
  const Array& lent = lending->array;
  lent.buffer().lend();
  for (size_t i = 0; i < lent.rank(); ++i) {
    lending->sizes.push_back(lent.sizes()[i]);
    lending->strides.push_back(lent.layout().strides[i]);
  }
  lending->managed.tensor = {lent.device_data(),
                             dl_device_of(lent.device()),
                             static_cast<int32_t>(lent.rank()),
                             type,
                             lending->sizes.data(),
                             lending->strides.data(),
                             0};
  lending->managed.context = lending;
  lending->managed.deleter = [](Managed* managed) {
    delete static_cast<Lending<Managed>*>(managed->context);
  };
  return &lending->managed;
}

// Frees a capsule that no consumer has taken over.
template <class Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

nb::object versioned(Array array, uint64_t flags) {
  DlVersioned* managed = lend<DlVersioned>(std::move(array));
  managed->major = 1;
  managed->minor = 0;
  managed->flags = flags;
  return nb::steal(PyCapsule_New(managed, kVersioned, [](PyObject* capsule) {
    drop_capsule<DlVersioned>(capsule, kVersioned);
  }));
}

nb::object unversioned(Array array) {
  return nb::steal(
      PyCapsule_New(lend<DlManaged>(std::move(array)), kUnversioned,
                    [](PyObject* capsule) { drop_capsule<DlManaged>(capsule, kUnversioned); }));
}

// One of two integers that a consumer passes: of a version, of a device.
int64_t integer_of_pair(nb::handle pair, int place, const char* name) {
  if (!is_sequence(pair) || nb::len(pair) != 2) {
    throw TypeError("__dlpack__: {}: expected two integers, not {}", name, utf8_of(nb::repr(pair)));
  }
  return integer_from(pair[nb::int_(place)]);
}

// Lets the stream of the consumer wait for what computes x. Numbers below 3 have a meaning of their
// own: the default stream (1), that of each thread (2), no waiting (-1).
void finish_before_stream(Device device, nb::handle stream) {
  const int64_t number = stream.is_none() ? 1 : integer_from(stream);
  if (device.is_cpu()) {
    if (stream.is_none()) return;
    throw ValueError("__dlpack__: host memory has no stream, but {} is given", number);
  }
  if (number == 0 || number < -1) throw ValueError("__dlpack__: unknown stream {}", number);
  if (number == -1) return;
  device_memory(device).finish_before(number == 1 ? 0 : static_cast<uintptr_t>(number));
}

// The array that a consumer asks for, on the device that it asks for.
Array array_for(const Tensor& x, nb::handle device, bool may_copy, bool copies) {
  const DlDevice here = dl_device_of(x.device());
  const int64_t type = device.is_none() ? here.type : integer_of_pair(device, 0, "dl_device");
  const int64_t id = device.is_none() ? here.id : integer_of_pair(device, 1, "dl_device");
  if (type == here.type && id == here.id) {
    return copies ? computed([&] { return x.array().copy(); }) : x.array();
  }
  if (type != kDlCpu || !may_copy) {
    refuse_buffer(fmt::format("a tensor is on {}, not on DLPack's device {}", text_of(x.device()),
                              utf8_of(nb::repr(device))));
  }
  return computed([&] { return x.array().on_host(); });
}

// Only DLPack 1.0 can mark memory as read-only: consumers of older versions (JAX, whose arrays do
// not change either) are trusted not to write.
nb::object capsule_of(const Tensor& x, nb::handle stream, nb::handle max_version, nb::handle device,
                      nb::handle copy) {
  if (is_followed(x)) {
    refuse_buffer(
        "the tensor is being differentiated, which another library would interrupt: use x.detach() "
        "or stop_gradient(x) if no derivative is needed");
  }
  const bool is_new = !max_version.is_none() && integer_of_pair(max_version, 0, "max_version") >= 1;
  const Array array = array_for(x, device, copy.ptr() != Py_False, copy.ptr() == Py_True);
  finish_before_stream(array.device(), stream);
  const bool copies = array.buffer() != x.array().buffer();
  return is_new ? versioned(array, copies ? kIsCopied : kReadOnly) : unversioned(array);
}

// ---- Import.

struct Strided {
  const std::byte* first;
  std::vector<int64_t> sizes, strides;  // in bytes

  bool is_empty() const { return std::ranges::find(sizes, 0) != sizes.end(); }
};

[[noreturn]] void refuse_sizes(const std::vector<int64_t>& sizes) {
  refuse_buffer(
      fmt::format("DLPack: an array of [{}] is larger than any memory", fmt::join(sizes, ", ")));
}

// Descriptions from other libraries are validated before use: every number must be in its possible
// range.
std::vector<int64_t> sizes_of(const DlTensor& given, int64_t element_size) {
  constexpr int32_t kMostDimensions = 64;
  if (given.rank < 0 || given.rank > kMostDimensions) {
    refuse_buffer(fmt::format("DLPack: an array of {} dimensions, expected 0 to {}", given.rank,
                              kMostDimensions));
  }
  if (given.rank == 0) return {};
  if (given.sizes == nullptr) refuse_buffer("DLPack: the sizes are missing");
  std::vector<int64_t> sizes(given.sizes, given.sizes + given.rank);
  int64_t bytes = element_size;  // as if every size were at least 1
  for (const int64_t size : sizes) {
    if (size < 0) refuse_buffer(fmt::format("DLPack: a size of {}", size));
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) refuse_sizes(sizes);
  }
  return sizes;
}

// Computes the range of addresses of the elements, which must be valid.
void expect_addresses(const Strided& elements, int64_t element_size) {
  auto lowest = static_cast<__int128>(reinterpret_cast<uintptr_t>(elements.first));
  __int128 end = lowest + element_size;
  for (size_t i = 0; i < elements.sizes.size(); ++i) {
    const __int128 reach = static_cast<__int128>(elements.sizes[i] - 1) * elements.strides[i];
    (reach < 0 ? lowest : end) += reach;
  }
  if (lowest > 0 && end <= std::numeric_limits<int64_t>::max()) return;
  refuse_buffer(
      fmt::format("DLPack: an array of [{}] with strides of [{}] bytes lies outside of "
                  "memory",
                  fmt::join(elements.sizes, ", "), fmt::join(elements.strides, ", ")));
}

Strided strided_of(const DlTensor& given, int64_t element_size) {
  Strided result{nullptr, sizes_of(given, element_size), {}};
  result.strides.resize(result.sizes.size());
  int64_t step = element_size;
  for (size_t i = result.sizes.size(); i-- > 0; step *= result.sizes[i]) {
    int64_t& stride = result.strides[i];
    stride = step;
    if (given.strides == nullptr || result.sizes[i] <= 1) continue;
    if (__builtin_mul_overflow(given.strides[i], element_size, &stride)) refuse_sizes(result.sizes);
  }
  if (result.is_empty()) return result;
  if (given.data == nullptr) refuse_buffer("DLPack: the memory is missing");
  constexpr uint64_t kLast = std::numeric_limits<int64_t>::max();
  const auto address = reinterpret_cast<uintptr_t>(given.data);
  if (address > kLast || given.byte_offset > kLast - address) {
    refuse_buffer(fmt::format("DLPack: an offset of {} bytes", given.byte_offset));
  }
  result.first = static_cast<const std::byte*>(given.data) + given.byte_offset;
  expect_addresses(result, element_size);
  return result;
}

// Copies element by element, for arbitrary strides.
Tensor copied_elements(const Strided& given, DType dtype) {
  Array result = Array::empty(dtype, Sizes(std::span(given.sizes)));
  std::vector<int64_t> index(given.sizes.size());
  const auto size = static_cast<size_t>(size_of(dtype));
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const std::byte* from = given.first;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * given.strides[d];
    std::memcpy(result.writable_data() + static_cast<size_t>(i) * size, from, size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < given.sizes[d]) break;
      index[d] = 0;
    }
  }
  return Tensor(std::move(result));
}

Device device_of(const DlDevice& given) {
  switch (given.type) {
    case kDlCpu:
    case kDlCudaHost:
    case kDlRocmHost: return {};
    case kDlCuda: {
      if (given.id >= 0 && given.id < Device::kMost) {
        return Device(Device::Kind::cuda, static_cast<uint8_t>(given.id));
      }
      break;
    }
    default: break;
  }
  refuse_buffer(
      fmt::format("DLPack's device ({}, {}) is none of Plait's: copy the array to the host",
                  given.type, given.id));
}

// Kernels of Plait may still read the memory when its last owner is gone.
Tensor borrowed_on(Device device, DType dtype, const Strided& given,
                   const std::function<void()>& release) {
  Layout layout{Sizes(std::span(given.sizes)), Sizes(given.sizes.size()), 0};
  for (size_t i = 0; i < given.strides.size(); ++i) {
    if (given.strides[i] % size_of(dtype) != 0) refuse_buffer("DLPack: elements are not aligned");
    layout.strides[i] = given.strides[i] / size_of(dtype);
  }
  if (reinterpret_cast<uintptr_t>(given.first) % static_cast<uintptr_t>(size_of(dtype)) != 0) {
    refuse_buffer("DLPack: the elements are not aligned");
  }
  const auto release_after = [device, release] {
    try {
      device_memory(device).synchronize();
    } catch (const Error&) {  // reported where the next result is waited for
    }
    release();
  };
  Buffer buffer = Buffer::borrow_on(device, const_cast<std::byte*>(given.first), release_after);
  return Tensor(Array(dtype, std::move(layout), std::move(buffer)));
}

template <class Managed>
Tensor take_over(PyObject* capsule, const char* name, const char* used, bool may_copy) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if constexpr (std::is_same_v<Managed, DlVersioned>) {
    if (managed->major != 1) {
      refuse_buffer(fmt::format("DLPack {}.{} is not supported; Plait reads 1.0", managed->major,
                                managed->minor));
    }
  }
  const DlTensor& tensor = managed->tensor;
  const Device device = device_of(tensor.device);
  const DType dtype = dtype_of(tensor.dtype);
  const Strided given = strided_of(tensor, size_of(dtype));
  if (given.is_empty()) {
    return Tensor(Array::empty_on(device, dtype, Sizes(std::span(given.sizes))));
  }
  const auto release = [managed] {
    if (managed->deleter == nullptr || Py_IsInitialized() == 0 || is_ended_elsewhere()) return;
    const LockedPython locked;
    managed->deleter(managed);
  };
  if (!device.is_cpu()) {
    Tensor borrowed = borrowed_on(device, dtype, given, release);
    PyCapsule_SetName(capsule, used);
    return borrowed;
  }
  const std::optional<Lent> lent =
      Lent::at(const_cast<std::byte*>(given.first), dtype, given.sizes, given.strides);
  if (lent) {
    PyCapsule_SetName(capsule, used);
    return lent->borrow(release);
  }
  if (!may_copy) refuse_buffer("the elements are not aligned: they can only be copied");
  return copied_elements(given, dtype);  // the capsule then releases the memory
}

// Accepts capsules of all versions.
Tensor from_capsule(nb::handle capsule, bool may_copy) {
  PyObject* raw = capsule.ptr();
  if (PyCapsule_IsValid(raw, kVersioned) != 0) {
    return take_over<DlVersioned>(raw, kVersioned, "used_dltensor_versioned", may_copy);
  }
  if (PyCapsule_IsValid(raw, kUnversioned) != 0) {
    return take_over<DlManaged>(raw, kUnversioned, "used_dltensor", may_copy);
  }
  throw TypeError("from_dlpack: {} is not an unused DLPack capsule", utf8_of(nb::repr(capsule)));
}

}  // namespace

void bind_dlpack(nb::class_<Tensor>& tensor, nb::module_& module) {
  using nb::arg;
  tensor
      .def("__dlpack__", capsule_of, nb::kw_only(), arg("stream") = nb::none(),
           arg("max_version") = nb::none(), arg("dl_device") = nb::none(), arg("copy") = nb::none(),
           "A capsule for from_dlpack of another library.")
      .def("__dlpack_device__", [](const Tensor& x) {
        const DlDevice device = dl_device_of(x.device());
        return nb::make_tuple(device.type, device.id);
      });
  module.def("_stream_of", [](int index) {
    return device_memory(Device(Device::Kind::cuda, static_cast<uint8_t>(index))).stream();
  });
  module.def("_from_capsule", from_capsule, arg("capsule"), arg("may_copy"));
}

}  // namespace plait::python
