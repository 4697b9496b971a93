// Captures of streams into graphs, and graphs.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/driver/streams.h"

namespace emulator {

struct GraphNode {
  Work work;
  std::vector<size_t> after;  // the nodes that it depends on
  size_t index = 0;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

struct Capture {
  Stream* origin = nullptr;
  int mode = 0;
  std::thread::id thread;
  bool is_invalid = false;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
};

void begin_capture(Stream& stream, int mode);
std::unique_ptr<Graph> end_capture(Stream& stream);
void capture_work(Stream& stream, Work work);
// A stream that waits for an event of a capture joins it; true if the event or the stream belongs
// to one.
bool capture_wait(Stream& stream, const Event& event);
void capture_record(Stream& stream, Event& event);

// Calls that may wait, or change what a captured graph relies on, are refused while streams are
// captured, and spoil the capture.
void refuse_while_capturing();
void refuse_while_capturing(
    Stream& stream);  // a call that waits for this stream, or asks for its state
void refuse_while_capturing(Context& context);
void refuse_captured(const Event& event);
void refuse_implicit_wait(
    Context& context);  // use of the legacy stream while blocking streams are captured

// Drops all captures, without graphs.
void forget_captures();

// Runs the nodes of a graph in an order that its edges allow.
CUresult run_graph(const Graph& graph);

}  // namespace emulator
