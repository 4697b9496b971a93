#include "plait/cuda/inside/nests/nest_kernel.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/kernels/special_text.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

using compile::Nest;
using compile::NestValue;

namespace {

constexpr int64_t kWarpColumns = 512;   // at most, of a row that a warp computes
constexpr int64_t kPartBlocks = 1024;   // blocks among which accumulations are split
constexpr int64_t kPartRows = 8;        // least rows of a thread
constexpr int64_t kFewElements = 4096;  // results of a join that warps compute

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

PlannedNest planned_nest(Nest nest, NestKernel::Options& options) {
  PlannedNest planned;
  planned.sizes = nest.sizes();
  planned.plan = compile::nest_plan_of(nest, is_costly_operation);
  planned.by_value = std::move(options.by_value);
  planned.by_value.resize(nest.parameters.size(), false);
  planned.results = std::move(options.results);
  if (planned.results.empty()) {
    for (const compile::NestResult& result : nest.results) {
      planned.results.push_back(nest.values[result.value].dtype);
    }
  }
  planned.nest = std::move(nest);
  return planned;
}

bool has_reduction(const PlannedNest& planned) {
  for (size_t v = 0; v < planned.nest.values.size(); ++v) {
    if (planned.plan.is_needed[v] && planned.nest.values[v].kind == NestValue::Kind::reduce) {
      return true;
    }
  }
  return false;
}

bool has_accumulation(const PlannedNest& planned) {
  return std::ranges::any_of(planned.nest.results, [](const compile::NestResult& result) {
    return result.reduction != ir::Reduction::none;
  });
}

}  // namespace

NestKernel::NestKernel(Nest nest, Options options)
    : planned_(planned_nest(std::move(nest), options)),
      name_(std::move(options.name)),
      vector_(vector_of(planned_)) {
  const bool reduces = has_reduction(planned_);
  schedule_ = has_accumulation(planned_) ? reduces ? Schedule::both : Schedule::columns
              : reduces                  ? Schedule::rows
                                         : Schedule::flat;
}

uint32_t NestKernel::Choice::key() const {
  uint32_t key = static_cast<uint32_t>(join + 1);
  const auto add = [&](bool bit) { key = key << 1 | (bit ? 1 : 0); };
  add(variant.has_wide_index);
  add(variant.is_aligned);
  add(variant.vector == 1);
  add(lanes == 32);
  add(keeps);
  add(by_warps);
  return key;
}

namespace {

// The functions of a nest that the prelude lacks; messages count lines behind them.
std::string needed_text(const Nest& nest, const std::string& name) {
  std::vector<std::string_view> primitives;
  bool has_double = false;
  for (const NestValue& value : nest.values) {
    if (value.kind != NestValue::Kind::compute || !has_special_text(value.primitive->name))
      continue;
    primitives.push_back(value.primitive->name);
    has_double = has_double || value.dtype == DType::f64;
  }
  if (primitives.empty()) return {};
  return fmt::format("{}#line 1 \"{}\"\n", special_text(primitives, has_double), name);
}

}  // namespace

KernelText NestKernel::text_of(const Choice& choice) const {
  const TextVariant& variant = choice.variant;
  if (choice.join >= 0) {
    const std::string name = name_ + "_join";
    return {name, join_text(planned_, variant.has_wide_index, name,
                            static_cast<size_t>(choice.join), choice.by_warps)};
  }
  const RowSchedule rows{choice.lanes, choice.keeps};
  const auto loops = [&] {
    switch (schedule_) {
      case Schedule::flat: return flat_text(planned_, variant, name_);
      case Schedule::rows: return rows_text(planned_, variant, name_, rows);
      case Schedule::columns: return columns_text(planned_, variant, name_, choice.lanes);
      case Schedule::both: return both_text(planned_, variant, name_, rows);
    }
    throw ValueError("no schedule");
  };
  return {name_, needed_text(planned_.nest, name_) + loops()};
}

const KernelFunction& NestKernel::function_of(CudaDevice& device, const Choice& choice) const {
  const uint64_t key = uint64_t{choice.key()} << 8 | static_cast<uint64_t>(device.index());
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(key); found != functions_.end()) return *found->second;
  }
  const KernelText text = text_of(choice);
  const KernelFunction& function = kernel(device, text.name, text.text);
  const std::lock_guard lock(mutex_);
  functions_.emplace(key, &function);
  return function;
}

// ---- One call.

class NestKernel::Run {
 public:
  Run(const NestKernel& own, CudaDevice& device, std::span<const int64_t> sizes,
      std::span<const NestParameter> parameters, std::span<const Address> results)
      : own_(own),
        planned_(own.planned_),
        device_(device),
        nest_(own.planned_, sizes),
        sizes_(sizes),
        parameters_(parameters),
        results_(results.begin(), results.end()) {
    choice_.variant.has_wide_index = nest_.needs_wide_index();
    choice_.variant.vector = own.vector_;
    choice_.variant.is_aligned = nest_.is_aligned(own.vector_, parameters, results);
  }

  void flat() {
    if (!choice_.variant.is_aligned) choice_.variant.vector = 1;
    const int64_t vectors = nest_.rows() * quotient_up(nest_.columns(), choice_.variant.vector);
    const int64_t each =
        kBlockThreads * (choice_.variant.vector == 1 ? kFlatElements : kFlatVectors);
    launch_with({quotient_up(vectors, each)}, 0);
  }

  void rows() {
    choose_lanes();
    const int64_t shared_bytes = choose_kept();
    launch_with({quotient_up(nest_.rows(), schedule().rows())}, shared_bytes);
    copy_back();
  }

  void columns() {
    choice_.lanes = nest_.group_rows() < kPartRows ? kBlockThreads : 32;
    const int64_t groups = nest_.groups(), lanes_rows = kBlockThreads / choice_.lanes;
    if (groups == 0) return;
    column_blocks_ = std::max<int64_t>(
        quotient_up(nest_.columns(), int64_t{choice_.lanes} * choice_.variant.vector), 1);
    if (!has_results_by_column()) {
      column_blocks_ = std::min(column_blocks_, std::max<int64_t>(kPartBlocks / groups, 1));
    }
    split(groups * column_blocks_, lanes_rows * kPartRows);
    accumulate(lanes_rows, 0);
  }

  void both() {
    choose_lanes();
    if (nest_.groups() == 0) return;
    split(nest_.groups(), schedule().rows());
    accumulate(schedule().rows(), choose_kept());
    copy_back();
  }

 private:
  RowSchedule schedule() const { return {choice_.lanes, choice_.keeps}; }
  void choose_lanes() { choice_.lanes = nest_.columns() <= kWarpColumns ? 32 : kBlockThreads; }
  // Returns the bytes of shared memory.
  int64_t choose_kept() {
    if (planned_.plan.buffer_count == 0) return 0;
    const int64_t bytes = schedule().shared_bytes(planned_, nest_.columns());
    constexpr int64_t kOthers = 1024;  // for joining
    choice_.keeps = bytes <= device_.most_shared_bytes() - kOthers;
    if (!choice_.keeps) separate_aliases();
    return choice_.keeps ? bytes : 0;
  }

  // Values that are computed again are loaded after the first store: results in place of parameters
  // are made elsewhere.
  void separate_aliases() {
    for (size_t r = 0; r < results_.size(); ++r) {
      const bool is_alias = std::ranges::any_of(parameters_, [&](const NestParameter& parameter) {
        return parameter.element == nullptr && parameter.address == results_[r];
      });
      if (!is_alias) continue;
      const int64_t bytes =
          nest_.extent(planned_.nest.results[r].place) * size_of(planned_.results[r]);
      const Copy copy{work_memory(bytes), results_[r], static_cast<size_t>(bytes)};
      results_[r] = address_of(copy.memory);
      move(results_[r], copy.target, copy.bytes);
      copies_.push_back(copy);
    }
  }
  void copy_back() const {
    for (const Copy& copy : copies_) move(copy.target, address_of(copy.memory), copy.bytes);
  }
  void move(Address to, Address from, size_t bytes) const {
    device_.enter();
    check(driver().copy_on_device(to, from, bytes, device_.stream()), "cuMemcpyDtoDAsync");
  }
  Array work_memory(int64_t bytes) const {
    const Device device(Device::Kind::cuda, static_cast<uint8_t>(device_.index()));
    return Array::empty_on(device, DType::u8, {bytes});
  }

  bool has_results_by_column() const {
    for (size_t r = 0; r < results_.size(); ++r) {
      if (is_by_column(planned_, r)) return true;
    }
    return false;
  }

  // A function of the sizes only.
  void split(int64_t blocks, int64_t least_rows) {
    const int64_t rows = std::max<int64_t>(nest_.group_rows(), 1);
    const int64_t wanted = std::clamp<int64_t>(kPartBlocks / std::max<int64_t>(blocks, 1), 1,
                                               quotient_up(rows, least_rows));
    rows_of_part_ = quotient_up(rows, wanted);
    part_count_ = quotient_up(rows, rows_of_part_);
  }

  int64_t parts_of(size_t r, int64_t slots) const {
    const bool by_block = own_.schedule_ == Schedule::columns && !is_by_column(planned_, r);
    return part_count_ * (by_block ? column_blocks_ : slots);
  }

  // `slots` threads of a block, or groups of them, have totals of their own.
  void accumulate(int64_t slots, int64_t shared_bytes) {
    const int64_t groups = nest_.groups();
    std::vector<Array> parts;
    std::vector<Address> addresses;
    for (size_t r = 0; r < results_.size(); ++r) {
      if (!planned_.is_accumulated(r)) continue;
      const int64_t width = is_by_column(planned_, r) ? nest_.columns() : 1;
      const int64_t count = groups * parts_of(r, slots) * width;
      if (count >= int64_t{1} << 30) choice_.variant.has_wide_index = true;
      parts.push_back(work_memory(count * value_size(planned_.value_dtype(r))));
      addresses.push_back(address_of(parts.back()));
    }
    std::vector<void*> more;
    for (Address& address : addresses) more.push_back(&address);
    more.insert(more.end(), {&part_count_, &rows_of_part_, &column_blocks_});
    launch_with({groups * part_count_ * column_blocks_}, shared_bytes, more);
    size_t next = 0;
    for (size_t r = 0; r < results_.size(); ++r) {
      if (planned_.is_accumulated(r)) join(r, addresses[next++], parts_of(r, slots));
    }
  }

  void join(size_t r, Address parts, int64_t count) {
    const int64_t elements = nest_.groups() * (is_by_column(planned_, r) ? nest_.columns() : 1);
    choice_.join = static_cast<int>(r);
    choice_.by_warps = elements < kFewElements && count >= 32;
    void* more[] = {&parts, &count};
    launch_with({quotient_up(elements * (choice_.by_warps ? 32 : 1), kBlockThreads)}, 0, more);
  }

  void launch_with(const Grid& grid, int64_t shared_bytes, std::span<void* const> more = {}) {
    if (grid.x == 0) return;
    std::vector<void*> arguments;
    arguments.reserve(parameters_.size() + results_.size() + sizes_.size() + more.size());
    for (const NestParameter& parameter : parameters_) {
      const void* place = parameter.element != nullptr ? parameter.element : &parameter.address;
      arguments.push_back(const_cast<void*>(place));
    }
    for (Address& result : results_) arguments.push_back(&result);
    for (const int64_t& size : sizes_) arguments.push_back(const_cast<int64_t*>(&size));
    arguments.insert(arguments.end(), more.begin(), more.end());
    launch_kernel(device_, own_.function_of(device_, choice_), grid, kBlockThreads, shared_bytes,
                  arguments);
  }

  // A result that is made in work memory, and copied to its place.
  struct Copy {
    Array memory;
    Address target;
    size_t bytes;
  };

  const NestKernel& own_;
  const PlannedNest& planned_;
  CudaDevice& device_;
  BoundNest nest_;
  std::span<const int64_t> sizes_;
  std::span<const NestParameter> parameters_;
  std::vector<Address> results_;
  std::vector<Copy> copies_;
  Choice choice_;
  int64_t part_count_ = 1, rows_of_part_ = 1, column_blocks_ = 1;
};

void NestKernel::run(CudaDevice& device, std::span<const int64_t> sizes,
                     std::span<const NestParameter> parameters,
                     std::span<const Address> results) const {
  Run run(*this, device, sizes, parameters, results);
  switch (schedule_) {
    case Schedule::flat: return run.flat();
    case Schedule::rows: return run.rows();
    case Schedule::columns: return run.columns();
    case Schedule::both: return run.both();
  }
}

std::vector<KernelText> NestKernel::texts() const {
  std::vector<KernelText> all;
  for (const bool is_wide : {false, true}) {
    for (const bool is_aligned : {false, true}) {
      if (is_aligned && vector_ == 1) continue;
      Choice choice{.variant = {is_wide, is_aligned, vector_}};
      if (schedule_ == Schedule::flat && !is_aligned) choice.variant.vector = 1;
      all.push_back(text_of(choice));
      if (schedule_ == Schedule::flat) continue;
      choice.lanes = 32;
      choice.keeps = false;
      all.push_back(text_of(choice));
    }
    for (size_t r = 0; r < planned_.nest.results.size(); ++r) {
      if (!planned_.is_accumulated(r)) continue;
      Choice choice{.variant = {is_wide, false, 1}, .join = static_cast<int>(r)};
      all.push_back(text_of(choice));
      choice.by_warps = true;
      all.push_back(text_of(choice));
    }
  }
  return all;
}

}  // namespace plait::cuda
