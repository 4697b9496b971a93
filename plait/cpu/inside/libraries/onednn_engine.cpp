#include "plait/cpu/inside/libraries/onednn_engine.h"

#include "plait/core/error.h"
#include "plait/cpu/cpu_level.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {
namespace {

// oneDNN's OpenMP. A oneDNN without OpenMP needs no settings.
struct OpenMp {
  void (*set_threads)(int) = nullptr;
  int (*threads)() = nullptr;

  static const OpenMp& get() {
    static const OpenMp found{
        reinterpret_cast<void (*)(int)>(onednn_function_if_any("omp_set_num_threads")),
        reinterpret_cast<int (*)()>(onednn_function_if_any("omp_get_max_threads"))};
    return found;
  }
};

dnnl::engine make_engine() {
  switch (setting::kCpu.get()) {
    case CpuLevel::best: break;
    case CpuLevel::sse4: dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41); break;
    case CpuLevel::avx2: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2); break;
    case CpuLevel::avx512: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16); break;
  }
  return {dnnl::engine::kind::cpu, 0};
}

}  // namespace

OneOpenMpThread::OneOpenMpThread() : outer_(0) {
  const OpenMp& openmp = OpenMp::get();
  if (openmp.set_threads == nullptr || openmp.threads == nullptr) return;
  outer_ = openmp.threads();
  if (outer_ != 1) openmp.set_threads(1);
}

OneOpenMpThread::~OneOpenMpThread() {
  if (outer_ > 1) OpenMp::get().set_threads(outer_);
}

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine = make_engine();
  return engine;
}

std::optional<dnnl::memory::data_type> onednn_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

bool make_by_onednn(FunctionRef<void()> make) {
  try {
    const OneOpenMpThread one;
    make();
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
      throw MemoryError("oneDNN has no memory left: {}", error.what());
    }
    return false;
  }
}

std::shared_ptr<OnednnPrimitive> make_onednn_primitive(
    FunctionRef<std::shared_ptr<OnednnPrimitive>()> make) {
  std::shared_ptr<OnednnPrimitive> made;
  make_by_onednn([&] { made = make(); });
  return made;
}

OnednnPrimitive::OnednnPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                                 std::vector<Argument> arguments)
    : primitive_(std::move(primitive)),
      arguments_(std::move(arguments)),
      scratchpad_bytes_(static_cast<int64_t>(scratchpad.get_size())) {
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
}

void OnednnPrimitive::run(std::span<void* const> data) {
  const OneOpenMpThread one;
  std::unique_ptr<Call> call = borrow();
  try {
    for (size_t i = 0; i < data.size(); ++i) {
      call->ordered[i].set_data_handle(data[i], call->stream);
    }
    Buffer scratchpad;
    if (scratchpad_bytes_ > 0) {
      scratchpad = Buffer::allocate_work(scratchpad_bytes_);
      call->ordered.back().set_data_handle(scratchpad.data(), call->stream);
    }
    primitive_.execute(call->stream, call->memories);
  } catch (const dnnl::error& error) {
    throw DeviceError("oneDNN failed: {}", error.what());
  }
  give_back(std::move(call));
}

std::unique_ptr<OnednnPrimitive::Call> OnednnPrimitive::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Call> call = std::move(idle_.back());
      idle_.pop_back();
      return call;
    }
  }
  auto call = std::make_unique<Call>();
  call->stream = dnnl::stream(onednn_engine());
  for (const Argument& argument : arguments_) {
    const dnnl::memory memory(argument.desc, onednn_engine(), DNNL_MEMORY_NONE);
    call->memories.emplace(argument.name, memory);
    call->ordered.push_back(memory);  // the same object, whose reference count both share
  }
  return call;
}

void OnednnPrimitive::give_back(std::unique_ptr<Call> call) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(call));
}

}  // namespace plait
