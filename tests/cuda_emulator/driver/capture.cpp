#include "tests/cuda_emulator/driver/capture.h"

#include <algorithm>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

constexpr CUresult kIllegalState = static_cast<CUresult>(401);

std::vector<std::shared_ptr<Capture>>& captures() {
  static auto* all = new std::vector<std::shared_ptr<Capture>>;
  return *all;
}

[[noreturn]] void spoil(Capture& capture, CUresult result) {
  capture.is_invalid = true;
  throw Failure{result};
}

void require_valid(const Capture& capture) {
  if (capture.is_invalid) throw Failure{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
}

void leave(Capture& capture) {
  for (Stream* stream : state().streams.in_order()) {
    if (stream->capture.get() != &capture) continue;
    stream->frontier.clear();
    stream->capture.reset();
  }
  for (Event* event : state().events.in_order()) {
    if (event->capture.get() == &capture) event->frontier.clear();
  }
  std::erase_if(captures(), [&](const auto& other) { return other.get() == &capture; });
}

void add_frontier(std::vector<GraphNode*>& frontier, const std::vector<GraphNode*>& more) {
  for (GraphNode* node : more) {
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end())
      frontier.push_back(node);
  }
}

// True if all nodes come before the end of the stream in which the capture began.
bool is_joined(const Capture& capture, const std::vector<GraphNode*>& frontier) {
  std::vector<char> reached(capture.graph->nodes.size(), 0);
  std::vector<size_t> open;
  for (const GraphNode* node : frontier) open.push_back(node->index);
  while (!open.empty()) {
    const size_t index = open.back();
    open.pop_back();
    if (reached[index]) continue;
    reached[index] = 1;
    const auto& after = capture.graph->nodes[index]->after;
    open.insert(open.end(), after.begin(), after.end());
  }
  return std::find(reached.begin(), reached.end(), 0) == reached.end();
}

}  // namespace

void begin_capture(Stream& stream, int mode) {
  if (stream.is_legacy) throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  if (mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED) throw Failure{CUDA_ERROR_INVALID_VALUE};
  if (stream.capture) throw Failure{kIllegalState};
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  captures().push_back(capture);
  stream.capture = std::move(capture);
}

std::unique_ptr<Graph> end_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) throw Failure{kIllegalState};
  if (capture->origin != &stream) spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD};
  }
  const bool joined = is_joined(*capture, stream.frontier);
  leave(*capture);
  require_valid(*capture);
  if (!joined) spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  capture->is_invalid = true;  // for events that were recorded in it
  return std::move(capture->graph);
}

void capture_work(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  require_valid(capture);
  auto node = std::make_unique<GraphNode>();
  node->index = capture.graph->nodes.size();
  node->work = std::move(work);
  for (const GraphNode* before : stream.frontier) node->after.push_back(before->index);
  stream.frontier = {node.get()};
  capture.graph->nodes.push_back(std::move(node));
}

bool capture_wait(Stream& stream, const Event& event) {
  if (event.capture && !event.capture->is_invalid) {
    if (stream.is_legacy) spoil(*event.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream.capture && stream.capture != event.capture) {
      stream.capture->is_invalid = true;
      spoil(*event.capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    stream.capture = event.capture;
    add_frontier(stream.frontier, event.frontier);
    return true;
  }
  if (!stream.capture) return event.capture != nullptr;
  require_valid(*stream.capture);
  if (event.marker) spoil(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  return true;
}

void capture_record(Stream& stream, Event& event) {
  require_valid(*stream.capture);
  event.capture = stream.capture;
  event.frontier = stream.frontier;
}

void refuse_while_capturing() {
  for (const auto& capture : captures()) {
    const bool concerns = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                          (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
                           capture->thread == std::this_thread::get_id());
    if (concerns) spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
}

void refuse_while_capturing(Stream& stream) {
  if (stream.capture) spoil(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (stream.is_legacy) refuse_implicit_wait(*stream.context);
  refuse_while_capturing();
}

void refuse_while_capturing(Context& context) {
  for (const auto& capture : captures()) {
    if (capture->origin->context == &context)
      spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
}

void refuse_captured(const Event& event) {
  if (event.capture) {
    event.capture->is_invalid = true;
    throw Failure{CUDA_ERROR_CAPTURED_EVENT};
  }
  refuse_while_capturing();
}

void refuse_implicit_wait(Context& context) {
  for (Stream* stream : state().streams.in_order()) {
    if (stream->capture && stream->is_blocking && stream->context == &context) {
      spoil(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
  }
}

void forget_captures() {
  while (!captures().empty()) leave(*captures().back());
}

CUresult run_graph(const Graph& graph) {
  static uint64_t salt = 0;
  const size_t count = graph.nodes.size();
  std::vector<char> is_done(count, 0);
  const std::vector<int> order = chosen_order(static_cast<int>(count), ++salt);
  for (size_t done = 0; done < count;) {
    for (const int k : order) {
      const GraphNode& node = *graph.nodes[static_cast<size_t>(k)];
      const bool is_ready = std::all_of(node.after.begin(), node.after.end(),
                                        [&](size_t before) { return is_done[before]; });
      if (is_done[node.index] || !is_ready) continue;
      is_done[node.index] = 1;
      ++done;
      if (const CUresult result = run_work(node.work); result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace emulator
