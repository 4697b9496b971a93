// Functions of the driver for modules, kernels and graphs.
#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

constexpr int kRegisters = 32;  // a thread, where limits need a number

CUresult load(CUmodule* module, const void* image) {
  return entered_with_context([&](Context& context) {
    refuse_while_capturing();
    required(module);
    std::unique_ptr<Module> made = load_module(image, context.device);
    for (const auto& function : made->functions) state().functions[function.get()] = function.get();
    *module = reinterpret_cast<CUmodule>(state().modules.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

int attribute_of(const Function& function, int attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return function.most_threads();
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(function.static_shared());
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return 0;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return kRegisters;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return static_cast<int>(function.most_dynamic_shared);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return -1;
    default: throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

Stream& stream_for(const Function& function, CUstream handle) {
  Stream& stream = stream_of(handle);
  if (stream.context->device != function.module->device) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  return stream;
}

// 0 if a graph may take the place of another, else the reason: CU_GRAPH_EXEC_UPDATE_ERROR_….
int difference(const Graph& old, const Graph& next) {
  if (old.nodes.size() != next.nodes.size()) return 2;
  for (size_t k = 0; k < old.nodes.size(); ++k) {
    if (old.nodes[k]->work.kind != next.nodes[k]->work.kind) return 3;
    if (old.nodes[k]->after != next.nodes[k]->after) return 2;
  }
  return 0;
}

void copy_nodes(const Graph& from, Graph& to) {
  to.nodes.clear();
  for (const auto& node : from.nodes) to.nodes.push_back(std::make_unique<GraphNode>(*node));
}

// Work that is queued keeps its graph: launches share the nodes that an executable had when they
// were made.
void queue_graph(const Graph& graph, Stream& stream) {
  auto nodes = std::make_shared<Graph>();
  copy_nodes(graph, *nodes);
  Work work;
  work.kind = 4;  // a graph in a graph
  work.run = [nodes] { return run_graph(*nodes); };
  enqueue(stream, std::move(work));
}

}  // namespace
}  // namespace emulator

using namespace emulator;

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) {
  return load(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  return entered_with_context([&](Context&) {
    refuse_while_capturing();
    state().modules.at(module);
    for (const auto& context : state().contexts) drain(*context);
    const std::unique_ptr<Module> own = state().modules.take(module);
    for (const auto& function : own->functions) state().functions.erase(function.get());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return entered_with_context([&](Context&) {
    Module& own = state().modules.at(module);
    required(function);
    required(name);
    // A kernel that is not extern "C" has another name, as on a device.
    Function* const found = find_function(own, name);
    if (!found) return CUDA_ERROR_NOT_FOUND;
    *function = reinterpret_cast<CUfunction>(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                              const char* name) {
  return entered_with_context([&](Context&) {
    required(name);
    const auto [begin, size] = global_of(state().modules.at(module), name);
    if (address) *address = begin;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  return entered_with_context([&](Context&) {
    required(value) = attribute_of(function_of(function), attribute);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  return entered_with_context([&](Context&) {
    Function& own = function_of(function);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
        value <= 100)
      return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<size_t>(value) + own.static_shared() > kMostShared)
      return CUDA_ERROR_INVALID_VALUE;
    own.most_dynamic_shared = static_cast<size_t>(value);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared) {
  return entered_with_context([&](Context&) {
    const Function& own = function_of(function);
    if (threads < 1 || threads > kMostThreads) return CUDA_ERROR_INVALID_VALUE;
    const int warps = (threads + kWarpSize - 1) / kWarpSize;
    // A kilobyte of each block's shared memory is the system's.
    const size_t each = (shared + own.static_shared() + 127) / 128 * 128 + 1024;
    const size_t most = std::min<size_t>(
        {size_t{32}, static_cast<size_t>(64 / warps),
         static_cast<size_t>(65536 / (warps * kWarpSize * kRegisters)), 228 * 1024 / each});
    const bool fits = shared <= own.most_dynamic_shared && threads <= own.most_threads();
    required(blocks) = fits ? static_cast<int>(most) : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
  return entered_with_context([&](Context&) {
    Function& own = function_of(function);
    Stream& queue = stream_for(own, stream);
    const Launch launch = made_launch(own, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                                      shared, parameters, extra);
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
    work.identity = &own;
    work.run = [launch] { return run_launch(launch); };
    enqueue(queue, std::move(work));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return entered_with_context([&](Context&) {
    required(executable);
    auto made = std::make_unique<Graph>();
    copy_nodes(state().graphs.at(graph), *made);
    *executable = reinterpret_cast<CUgraphExec>(state().executables.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return entered_with_context([&](Context&) {
    queue_graph(state().executables.at(executable), stream_of(stream));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return entered([&] {
    state().graphs.take(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return entered([&] {
    state().executables.take(executable);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph,
                              CUgraphExecUpdateResultInfo* result) {
  return entered_with_context([&](Context&) {
    Graph& old = state().executables.at(executable);
    const Graph& next = state().graphs.at(graph);
    required(result) = {difference(old, next), nullptr, nullptr};
    if (result->result) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    copy_nodes(next, old);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return entered([&] {
    const Graph& own = state().graphs.at(graph);
    size_t& room = required(count);
    if (nodes) {
      for (size_t k = 0; k < room; ++k) {
        nodes[k] =
            k < own.nodes.size() ? reinterpret_cast<CUgraphNode>(own.nodes[k].get()) : nullptr;
      }
      room = std::min(room, own.nodes.size());
    } else {
      room = own.nodes.size();
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, int* type) {
  return entered([&] {
    required(type) = required(reinterpret_cast<const GraphNode*>(node)).work.kind;
    return CUDA_SUCCESS;
  });
}
