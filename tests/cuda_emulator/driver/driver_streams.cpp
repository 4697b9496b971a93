// Functions of the driver for streams and events.
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

CUresult create_stream(CUstream* stream, unsigned flags) {
  return entered_with_context([&](Context& context) {
    required(stream);
    if (flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<Stream>();
    made->context = &context;
    made->is_blocking = !(flags & CU_STREAM_NON_BLOCKING);
    *stream = reinterpret_cast<CUstream>(state().streams.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

// The legacy stream waits for the blocking ones, by an empty work at its end.
void wait_for(Stream& stream) {
  if (stream.is_legacy) return enqueue_and_wait(stream, {});
  drain(stream);
}

bool is_over(const Event& event) { return !event.marker || event.marker->is_done; }

// A poll is told once that the work goes on; then it is done, so that a loop that polls ends,
// unless others take part in the work.
CUresult poll(bool is_done, int& polls, const std::shared_ptr<Marker>& marker) {
  if (is_done) return CUDA_SUCCESS;
  if (polls++ == 0 || !run_until(marker, false)) return CUDA_ERROR_NOT_READY;
  polls = 0;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return create_stream(stream, flags); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return create_stream(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return entered([&] {
    Stream& own = state().streams.at(stream);
    if (own.capture) refuse_while_capturing(own);
    drain(own);
    state().streams.take(stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return entered_with_context([&](Context& context) {
    Stream& own = stream_of(stream);
    refuse_while_capturing(own);
    wait_for(own);
    return own.context->sticky ? own.context->sticky : context.sticky;
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return entered_with_context([&](Context&) {
    Stream& own = stream_of(stream);
    refuse_while_capturing(own);
    return poll(is_drained(own), own.polls, own.last);
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return entered_with_context([&](Context&) {
    Stream& own = stream_of(stream);
    const Event& awaited = state().events.at(event);
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    if (capture_wait(own, awaited)) return CUDA_SUCCESS;
    if (is_over(awaited)) return CUDA_SUCCESS;
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_EMPTY;
    work.waits_for.push_back(awaited.marker);
    enqueue(own, std::move(work));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  return entered_with_context([&](Context&) {
    begin_capture(stream_of(stream), mode);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return entered_with_context([&](Context&) {
    required(graph) = nullptr;
    *graph = reinterpret_cast<CUgraph>(state().graphs.add(end_capture(stream_of(stream))));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream stream, int* status) {
  return entered_with_context([&](Context&) {
    const Stream& own = stream_of(stream);
    if (own.is_legacy) refuse_implicit_wait(*own.context);
    required(status) = !own.capture              ? CU_STREAM_CAPTURE_STATUS_NONE
                       : own.capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return entered_with_context([&](Context& context) {
    required(event);
    auto made = std::make_unique<Event>();
    made->context = &context;
    made->has_timing = !(flags & CU_EVENT_DISABLE_TIMING);
    *event = reinterpret_cast<CUevent>(state().events.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return entered([&] {
    state().events.take(event);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return entered_with_context([&](Context&) {
    Event& own = state().events.at(event);
    Stream& recorded = stream_of(stream);
    if (own.context != recorded.context) return CUDA_ERROR_INVALID_HANDLE;
    if (recorded.capture) {
      capture_record(recorded, own);
      return CUDA_SUCCESS;
    }
    Work work;
    const auto marker = work.done;
    enqueue(recorded, std::move(work));
    own.capture.reset();
    own.frontier.clear();
    own.marker = marker;
    own.polls = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent event) {
  return entered_with_context([&](Context&) {
    Event& own = state().events.at(event);
    refuse_captured(own);
    const CUresult result = poll(is_over(own), own.polls, own.marker);
    return own.context->sticky ? own.context->sticky : result;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return entered_with_context([&](Context&) {
    Event& own = state().events.at(event);
    refuse_captured(own);
    run_until(own.marker);
    return own.context->sticky;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return entered_with_context([&](Context&) {
    const Event& first = state().events.at(start);
    const Event& second = state().events.at(end);
    refuse_captured(first);
    refuse_captured(second);
    if (!first.marker || !second.marker || !first.has_timing || !second.has_timing)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!first.marker->is_done || !second.marker->is_done) return CUDA_ERROR_NOT_READY;
    required(milliseconds) =
        static_cast<float>(second.marker->milliseconds - first.marker->milliseconds);
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return entered_with_context([&](Context&) {
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_HOST;
    work.is_host_function = true;
    work.run = [function, data] {
      function(data);
      return CUDA_SUCCESS;
    };
    enqueue(stream_of(stream), std::move(work));
    return CUDA_SUCCESS;
  });
}
