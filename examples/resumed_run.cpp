#include <cstdio>

#include <plait/plait.h>

using namespace plait;

struct Line {
  Tensor slope = zeros({});
  Tensor offset = zeros({});
  Tensor operator()(const Tensor& x) const { return slope * x + offset; }
};
using State = optim::TrainState<Line, optim::AdamW<Line>, std::tuple<>, data::LoaderTensors>;

struct Points {  // a dataset
  int64_t size() const { return 40; }
  std::pair<Tensor, Tensor> at(int64_t i) const {
    const double x = 0.01 * static_cast<double>(i);
    return {full({}, x), full({}, 2 * x + 1)};
  }
};

Tensor loss_of(const Line& line, const Tensor& x, const Tensor& y) {
  return mean(square(line(x) - y));
}
State train_step(const State& state, const Tensor& x, const Tensor& y) {
  return state.update(grad(loss_of)(state.model, x, y));
}

int main(int, char** arguments) {
  CheckpointFolder checkpoints(arguments[1], {.keep_last = 2});
  data::Loader loader(Points{}, {.batch_size = 4, .shuffle = true, .seed = 3, .workers = 2});
  const Line line;
  State state = optim::train_state(line, optim::AdamW<Line>(line, {.lr = 0.1}), random::key(0),
                                   std::tuple(), data::tensors_of(loader.state()));

  if (checkpoints.latest()) {
    state = checkpoints.restore(state, {.resize = {"loader.*"}});
    loader.seek(data::state_of(state.loader));
    std::printf("continues at step %d\n", state.step.item<int>());
  }
  const auto step = jit(train_step, {.donate = {0}, .repeatable = true});
  for (int epoch = static_cast<int>(loader.state().epoch); epoch < 20; ++epoch) {
    for (const auto& [x, y] : loader) {
      state = step(state, x, y);
      const auto number = state.step.item<int64_t>();
      if (number % 6 == 0) {
        state.loader = data::tensors_of(loader.state());
        checkpoints.save(number, state);
      }
    }
  }
  checkpoints.close();
  std::printf("%.9g x + %.9g\n", state.model.slope.item<double>(),
              state.model.offset.item<double>());
}
