#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "plait/core/hash.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/log.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/llvm_engine.h"
#include "plait/cpu/inside/codegen/llvm_library.h"
#include "plait/cpu/inside/codegen/llvm_nest.h"
#include "plait/cpu/inside/codegen/nest_compiler.h"
#include "plait/ir/primitive.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cpu {
namespace {

using compile::Nest;
using compile::NestPlan;

// Version of the code generator; cached code of other versions is not used.
constexpr int kGenerator = 3;
constexpr size_t kKernelsOfModule = 8;

// A nest to compile, with its cache key.
struct Order {
  const Nest* nest;
  Hash128 key;
};

std::string name_of(const Hash128& key) { return "plait_" + key.text(); }

CachedObject compiled(CpuLevel level, std::span<const Order> orders) {
  return compiled_object(level, [&] {
    for (const Order& order : orders) {
      const NestPlan plan = nest_plan_of(*order.nest, code::is_costly);
      const unsigned lanes = code::lanes_of(*order.nest, plan, level);
      code::NestCode(*order.nest, plan, lanes).emit(name_of(order.key));
    }
  });
}

CachedObject object_of(CpuLevel level, std::span<const Order> orders) {
  Hasher hasher;
  for (const Order& order : orders) hasher.update(order.key.text());
  const Hash128 key = hasher.finish();
  if (auto cached = read_cached_object(key)) {
    log(LogArea::compile, LogLevel::debug, "{} kernels loaded from {}", orders.size(),
        cache_folder());
    return *std::move(cached);
  }
  const auto start = std::chrono::steady_clock::now();
  CachedObject object = compiled(level, orders);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log(LogArea::compile, LogLevel::debug, "{} kernels compiled in {:.1f} ms", orders.size(),
      time.count());
  write_cached_object(key, object);
  return object;
}

// The machine code of all nests that were compiled.
class NestCompiler {
 public:
  std::vector<CompiledNest> compile(std::span<const Nest* const> nests) {
    const CpuLevel level = cpu_level();
    const std::string machine = machine_text(level);
    std::vector<Hash128> keys;
    for (const Nest* nest : nests) {
      keys.push_back(hash_of(fmt::format("{} {}\n{}", kGenerator, machine, nest->text())));
    }
    make_missing(level, nests, keys);
    std::vector<CompiledNest> result;
    const std::lock_guard lock(mutex_);
    for (const Hash128& key : keys) result.push_back(compiled_.at(key));
    return result;
  }

 private:
  void make_missing(CpuLevel level, std::span<const Nest* const> nests,
                    std::span<const Hash128> keys) {
    std::vector<Order> orders;
    const std::lock_guard making(making_);  // two threads that need the same nest compile it once
    std::unordered_set<Hash128> ordered;
    for (size_t i = 0; i < nests.size(); ++i) {
      if (!has(keys[i]) && ordered.insert(keys[i]).second) orders.push_back({nests[i], keys[i]});
    }
    const size_t modules = (orders.size() + kKernelsOfModule - 1) / kKernelsOfModule;
    std::vector<CachedObject> objects(modules);
    parallel_chunks(static_cast<int64_t>(modules), [&](int64_t chunk) {
      const size_t first = static_cast<size_t>(chunk) * kKernelsOfModule;
      const size_t count = std::min(kKernelsOfModule, orders.size() - first);
      objects[static_cast<size_t>(chunk)] =
          object_of(level, std::span<const Order>(orders).subspan(first, count));
    });
    for (const CachedObject& object : objects) load_object(object);
    for (const Order& order : orders) add(level, order);
  }

  bool has(const Hash128& key) {
    const std::lock_guard lock(mutex_);
    return compiled_.contains(key);
  }
  void add(CpuLevel level, const Order& order) {
    const NestPlan plan = nest_plan_of(*order.nest, code::is_costly);
    CompiledNest nest =
        code::scratch_of(*order.nest, plan, code::lanes_of(*order.nest, plan, level));
    nest.run = reinterpret_cast<decltype(nest.run)>(address_of_loaded(name_of(order.key)));
    const std::lock_guard lock(mutex_);
    compiled_.emplace(order.key, nest);
  }

  std::mutex mutex_, making_;
  std::unordered_map<Hash128, CompiledNest> compiled_;
};

}  // namespace

bool has_nest_compiler() { return has_llvm(); }

bool is_emitted(DType dtype) {
  return !is_complex(dtype) && !is_key(dtype) && dtype != DType::f8e4m3 && dtype != DType::f8e5m2;
}

bool is_emitted(const ir::Primitive& primitive, std::span<const DType> operands, DType result) {
  if (!is_emitted(result)) return false;
  if (!std::ranges::all_of(operands, [](DType dtype) { return is_emitted(dtype); })) return false;
  if (&primitive == &convert_primitive()) return true;
  return primitive.elementwise != ir::Elementwise::no && !operands.empty() &&
         code::has_operation(primitive.name, operands.back());
}

bool is_costly(const ir::Primitive& primitive, DType operand) {
  return &primitive != &convert_primitive() && code::is_costly(primitive.name, operand);
}

std::vector<CompiledNest> compiled_nests(std::span<const Nest* const> nests) {
  static Immortal<NestCompiler> compiler;
  return compiler->compile(nests);
}

}  // namespace plait::cpu
